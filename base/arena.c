#include "base/arena.h"

#include <stdint.h>

#include "base/log.h"

enum { CHUNK_BYTES = 64 * 1024, ALIGNMENT = 16 };

struct arena_chunk {
    struct arena_chunk *next;
    size_t used, size;
    _Alignas(ALIGNMENT) unsigned char data[];
};

void arena_done(struct arena *arena)
{
    while (arena->first != NULL) {
        struct arena_chunk *next = arena->first->next;
        free(arena->first);
        arena->first = next;
    }
    arena->bytes = 0;
}

static void add_chunk(struct arena *arena, size_t size)
{
    size_t data_size = size > CHUNK_BYTES ? size : CHUNK_BYTES;
    struct arena_chunk *chunk =
        data_size > SIZE_MAX - sizeof *chunk ? NULL : calloc(1, sizeof *chunk + data_size);
    if (chunk == NULL) {
        log_fatal("out of memory: %zu more bytes wanted, %zu in use", size, arena->bytes);
    }
    chunk->size = data_size;
    chunk->next = arena->first;
    arena->first = chunk;
}

void *arena_alloc(struct arena *arena, size_t size)
{
    size_t rounded =
        size > SIZE_MAX - ALIGNMENT ? size : (size + ALIGNMENT - 1) & ~(size_t)(ALIGNMENT - 1);
    if (arena->first == NULL || arena->first->size - arena->first->used < rounded) {
        add_chunk(arena, rounded);
    }
    void *memory = arena->first->data + arena->first->used;
    arena->first->used += rounded;
    arena->bytes += rounded;
    return memory;
}

char *arena_strndup(struct arena *arena, const char *text, size_t length)
{
    char *copy = arena_alloc(arena, length + 1);
    memcpy(copy, text, length);
    return copy;
}

char *arena_strdup(struct arena *arena, const char *text)
{
    return text == NULL ? NULL : arena_strndup(arena, text, strlen(text));
}

char *arena_vprintf(struct arena *arena, const char *format, va_list arguments)
{
    va_list again;
    va_copy(again, arguments);
    int length = vsnprintf(NULL, 0, format, arguments);
    if (length < 0) {
        log_fatal("cannot format '%s'", format);
    }
    char *text = arena_alloc(arena, (size_t)length + 1);
    vsnprintf(text, (size_t)length + 1, format, again);
    va_end(again);
    return text;
}

char *arena_printf(struct arena *arena, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    char *text = arena_vprintf(arena, format, arguments);
    va_end(arguments);
    return text;
}

void *arena_push(struct arena *arena, void *items_pointer, size_t *count, size_t *capacity,
                 size_t element_size)
{
    unsigned char **items = items_pointer;
    if (*count == *capacity) {
        size_t wanted = *capacity == 0 ? 8 : *capacity * 2;
        unsigned char *moved = arena_alloc(arena, wanted * element_size);
        if (*count > 0) {
            memcpy(moved, *items, *count * element_size);
        }
        *items = moved;
        *capacity = wanted;
    }
    return *items + (*count)++ * element_size;
}
