#ifndef BASE_ARENA_H
#define BASE_ARENA_H

/* An arena: memory that is released all at once. One a scan, request or command.
   Memory is zeroed. Running out of it ends the process with a logged line (the service manager
   restarts the service): sizes that come from a file, the network or the configuration must be
   held against a named limit before they get here. Not thread-safe: one owner at a time. */

#include <stdarg.h>
#include <stddef.h>

#include "base/printf.h"

struct arena_chunk;

struct arena {
    struct arena_chunk *first; /* newest first; NULL in a zeroed, empty arena */
    size_t bytes;              /* handed out, for limits and metrics */
};

void arena_done(struct arena *arena); /* releases everything; the arena can be used again */

void *arena_alloc(struct arena *arena, size_t size); /* aligned for any type, zeroed, never NULL */
char *arena_strdup(struct arena *arena, const char *text); /* NULL stays NULL */
char *arena_strndup(struct arena *arena, const char *text, size_t length);
char *arena_printf(struct arena *arena, const char *format, ...) PRINTF_LIKE(2, 3);
char *arena_vprintf(struct arena *arena, const char *format, va_list arguments) PRINTF_LIKE(2, 0);

/* Room for one more element of a growing array in the arena: returns the new element, zeroed,
   and counts it. *items, *count and *capacity start as NULL, 0, 0. Elements may move. */
void *arena_push(struct arena *arena, void *items_pointer, size_t *count, size_t *capacity,
                 size_t element_size);

#endif
