#ifndef BASE_PRINTF_H
#define BASE_PRINTF_H

/* PRINTF_LIKE(f, a): argument f is a printf format, its values begin at argument a (0: a va_list).
   The C99 kind on every system: plain `printf` would mean Microsoft's dialect with mingw-w64. */
#ifdef __clang__ /* knows one kind only */
#define PRINTF_LIKE(format_index, first_index)                                                     \
    __attribute__((format(printf, format_index, first_index)))
#else
#define PRINTF_LIKE(format_index, first_index)                                                     \
    __attribute__((format(gnu_printf, format_index, first_index)))
#endif

#endif
