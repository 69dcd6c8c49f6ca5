#ifndef BASE_CLEANUP_H
#define BASE_CLEANUP_H

/* CLEANUP(fn): the variable is released by fn(&variable) when its scope ends, however it ends.
   The declaration says how the variable is released, so `return` is always safe.
   fn must accept a zeroed value. Works with gcc, mingw-w64 and clang. */
#define CLEANUP(fn) __attribute__((cleanup(fn)))

/* cleanup_free: for `CLEANUP(cleanup_free) char *text = malloc(...)`. */
void cleanup_free(void *pointer_to_pointer);

#endif
