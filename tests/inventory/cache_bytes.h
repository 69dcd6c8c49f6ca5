#ifndef TESTS_INVENTORY_CACHE_BYTES_H
#define TESTS_INVENTORY_CACHE_BYTES_H

/* Makes the bytes of an ld.so.cache, in glibc's old and new format. */

#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct cache_bytes {
    uint8_t data[16384];
    size_t size;
};

struct cache_mapping {
    const char *name, *path;
};

static inline void cache_put(struct cache_bytes *cache, const void *data, size_t size)
{
    memcpy(cache->data + cache->size, data, size);
    cache->size += size;
}

static inline void cache_put_u32(struct cache_bytes *cache, uint32_t value)
{
    for (int i = 0; i < 4; i++) {
        cache->data[cache->size++] = (uint8_t)(value >> (8 * i));
    }
}

static inline void cache_put_entries(struct cache_bytes *cache,
                                     const struct cache_mapping *mappings, size_t count,
                                     size_t text_at, size_t entry_size)
{
    for (size_t i = 0; i < count; i++) {
        size_t start = cache->size;
        cache_put_u32(cache, 0x0303);
        cache_put_u32(cache, (uint32_t)text_at);
        text_at += strlen(mappings[i].name) + 1;
        cache_put_u32(cache, (uint32_t)text_at);
        text_at += strlen(mappings[i].path) + 1;
        cache->size = start + entry_size; /* os version and hwcap: 0 */
    }
}

static inline void cache_put_texts(struct cache_bytes *cache, const struct cache_mapping *mappings,
                                   size_t count)
{
    for (size_t i = 0; i < count; i++) {
        cache_put(cache, mappings[i].name, strlen(mappings[i].name) + 1);
        cache_put(cache, mappings[i].path, strlen(mappings[i].path) + 1);
    }
}

/* Appends a cache of the new format; its offsets count from where it begins. */
static inline void cache_add_new(struct cache_bytes *cache, const struct cache_mapping *mappings,
                                 size_t count)
{
    size_t start = cache->size;
    cache_put(cache, "glibc-ld.so.cache1.1", 20);
    cache_put_u32(cache, (uint32_t)count);
    cache->size = start + 28;
    cache->data[cache->size] = 2; /* little-endian */
    cache->size = start + 48;
    cache_put_entries(cache, mappings, count, 48 + 24 * count, 24);
    cache_put_texts(cache, mappings, count);
}

/* Appends header and entries of the old format; cache_put_texts() behind them, or a new cache. */
static inline void cache_add_old(struct cache_bytes *cache, const struct cache_mapping *mappings,
                                 size_t count)
{
    cache_put(cache, "ld.so-1.7.0", 12);
    cache_put_u32(cache, (uint32_t)count);
    cache_put_entries(cache, mappings, count, 0, 12);
}

static inline void cache_align(struct cache_bytes *cache)
{
    cache->size = (cache->size + 7) & ~(size_t)7;
}

#endif
