#include "inventory/cache.h"

#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/log.h"

enum { BUCKETS = 1024, KEPT_SCANS = 2 };

struct entry {
    struct entry *next; /* in its bucket */
    struct arena arena; /* of this entry's texts */
    const char *path;
    struct os_file_info info;
    struct identity identity;
    unsigned last_scan;
};

struct inventory_cache {
    struct entry *buckets[BUCKETS];
    unsigned scan;
};

struct inventory_cache *inventory_cache_new(void)
{
    struct inventory_cache *cache = calloc(1, sizeof *cache);
    if (cache == NULL) {
        log_fatal("out of memory");
    }
    return cache;
}

static void free_entry(struct entry *entry)
{
    arena_done(&entry->arena);
    free(entry);
}

static void drop_unused(struct inventory_cache *cache, unsigned kept_scans)
{
    for (size_t i = 0; i < BUCKETS; i++) {
        struct entry **link = &cache->buckets[i];
        while (*link != NULL) {
            struct entry *entry = *link;
            if (cache->scan - entry->last_scan >= kept_scans) {
                *link = entry->next;
                free_entry(entry);
            } else {
                link = &entry->next;
            }
        }
    }
}

void inventory_cache_free(struct inventory_cache *cache)
{
    if (cache != NULL) {
        drop_unused(cache, 0);
        free(cache);
    }
}

void cache_begin_scan(struct inventory_cache *cache)
{
    if (cache != NULL) {
        cache->scan++;
        drop_unused(cache, KEPT_SCANS + 1);
    }
}

static struct entry **bucket_of(struct inventory_cache *cache, const char *path)
{
    return &cache->buckets[hash_text(HASH_START, path) % BUCKETS];
}

static struct entry *find(struct inventory_cache *cache, const char *path)
{
    struct entry *entry = *bucket_of(cache, path);
    while (entry != NULL && strcmp(entry->path, path) != 0) {
        entry = entry->next;
    }
    return entry;
}

static bool same_file(const struct os_file_info *a, const struct os_file_info *b)
{
    return a->type == b->type && a->size_bytes == b->size_bytes &&
           a->modified_at_ms == b->modified_at_ms && a->device == b->device && a->inode == b->inode;
}

static void copy_identity(struct arena *arena, const struct identity *from, struct identity *to)
{
    *to = *from;
    to->problem = arena_strdup(arena, from->problem);
    to->internal_name = arena_strdup(arena, from->internal_name);
    to->run_path = arena_strdup(arena, from->run_path);
    to->imports = arena_alloc(arena, (from->import_count + 1) * sizeof *to->imports);
    for (size_t i = 0; i < from->import_count; i++) {
        to->imports[i] = arena_strdup(arena, from->imports[i]);
    }
}

bool cache_get(struct inventory_cache *cache, struct arena *arena, const char *path,
               const struct os_file_info *info, struct identity *out_identity)
{
    struct entry *entry = cache == NULL ? NULL : find(cache, path);
    if (entry == NULL || !same_file(&entry->info, info)) {
        return false;
    }
    entry->last_scan = cache->scan;
    copy_identity(arena, &entry->identity, out_identity);
    out_identity->from_cache = true;
    return true;
}

void cache_put(struct inventory_cache *cache, const char *path, const struct os_file_info *info,
               const struct identity *identity)
{
    if (cache == NULL) {
        return;
    }
    struct entry *entry = find(cache, path);
    if (entry == NULL) {
        entry = calloc(1, sizeof *entry);
        if (entry == NULL) {
            log_fatal("out of memory");
        }
        struct entry **bucket = bucket_of(cache, path);
        entry->next = *bucket;
        *bucket = entry;
    } else {
        arena_done(&entry->arena);
    }
    entry->path = arena_strdup(&entry->arena, path);
    entry->info = *info;
    entry->last_scan = cache->scan;
    copy_identity(&entry->arena, identity, &entry->identity);
}
