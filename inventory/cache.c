#include "inventory/cache.h"

#include "base/hash.h"
#include "base/log.h"
#include "base/text.h"

enum { BUCKETS = 1024, MAX_ENTRIES = 100000, SCANS_KEPT = 2 };

/* One file, in one block of memory together with everything it points to. */
struct entry {
    struct entry *next; /* in its bucket */
    const char *path, *file_name;
    struct os_file_info info;
    struct identity identity;
    uint64_t used_by; /* number of the last scan that asked for it */
};

struct inventory_cache {
    struct entry *buckets[BUCKETS];
    size_t count;
    uint64_t scan;
};

struct inventory_cache *inventory_cache_new(void)
{
    struct inventory_cache *cache = calloc(1, sizeof *cache);
    if (cache == NULL) {
        log_fatal("out of memory: the inventory's cache");
    }
    return cache;
}

void inventory_cache_free(struct inventory_cache *cache)
{
    for (size_t i = 0; cache != NULL && i < BUCKETS; i++) {
        while (cache->buckets[i] != NULL) {
            struct entry *next = cache->buckets[i]->next;
            free(cache->buckets[i]);
            cache->buckets[i] = next;
        }
    }
    free(cache);
}

size_t cache_count(const struct inventory_cache *cache)
{
    return cache->count;
}

void cache_begin_scan(struct inventory_cache *cache)
{
    for (size_t i = 0; i < BUCKETS; i++) {
        for (struct entry **link = &cache->buckets[i]; *link != NULL;) {
            struct entry *entry = *link;
            if (entry->used_by + SCANS_KEPT <= cache->scan) {
                *link = entry->next;
                free(entry);
                cache->count--;
            } else {
                link = &entry->next;
            }
        }
    }
    cache->scan++;
}

/* The link that points to the entry, or to the NULL at its bucket's end. */
static struct entry **find(struct inventory_cache *cache, const char *path, const char *file_name)
{
    uint64_t hash = hash_text(hash_text(HASH_START, path), file_name);
    struct entry **link = &cache->buckets[hash % BUCKETS];
    while (*link != NULL &&
           !(text_equal((*link)->path, path) && text_equal((*link)->file_name, file_name))) {
        link = &(*link)->next;
    }
    return link;
}

static bool same_file(const struct os_file_info *a, const struct os_file_info *b)
{
    return a->type == b->type && a->size_bytes == b->size_bytes &&
           a->modified_at_ms == b->modified_at_ms && a->device == b->device && a->inode == b->inode;
}

/* ---- copies ---- */

static void copy_list(struct arena *arena, const char ***names, size_t count)
{
    const char **copy = count == 0 ? NULL : arena_alloc(arena, count * sizeof *copy);
    for (size_t i = 0; i < count; i++) {
        copy[i] = arena_strdup(arena, (*names)[i]);
    }
    *names = copy;
}

static void copy_into_arena(struct arena *arena, struct identity *identity)
{
    identity->problem = arena_strdup(arena, identity->problem);
    identity->internal_name = arena_strdup(arena, identity->internal_name);
    identity->run_path = arena_strdup(arena, identity->run_path);
    copy_list(arena, &identity->imports, identity->import_count);
    copy_list(arena, &identity->delay_imports, identity->delay_import_count);
}

static size_t text_size(const char *text)
{
    return text == NULL ? 0 : strlen(text) + 1;
}

static size_t list_size(const char *const *names, size_t count)
{
    size_t size = 0;
    for (size_t i = 0; i < count; i++) {
        size += text_size(names[i]);
    }
    return size;
}

/* Moves the text behind *end, which grows; NULL stays NULL. */
static const char *pack_text(char **end, const char *text)
{
    if (text == NULL) {
        return NULL;
    }
    size_t size = text_size(text);
    char *copy = memcpy(*end, text, size);
    *end += size;
    return copy;
}

static void pack_list(const char ***slots, char **end, const char ***names, size_t count)
{
    const char **copy = *slots;
    for (size_t i = 0; i < count; i++) {
        copy[i] = pack_text(end, (*names)[i]);
    }
    *names = count == 0 ? NULL : copy;
    *slots += count;
}

/* The entry, then the lists, then the texts. */
static struct entry *entry_new(const char *path, const char *file_name,
                               const struct identity *identity)
{
    size_t slots = identity->import_count + identity->delay_import_count;
    size_t size = sizeof(struct entry) + slots * sizeof(char *) + text_size(path) +
                  text_size(file_name) + text_size(identity->problem) +
                  text_size(identity->internal_name) + text_size(identity->run_path) +
                  list_size(identity->imports, identity->import_count) +
                  list_size(identity->delay_imports, identity->delay_import_count);
    struct entry *entry = calloc(1, size);
    if (entry == NULL) {
        log_fatal("out of memory: the inventory's cache");
    }
    const char **list = (const char **)(void *)(entry + 1);
    char *end = (char *)(list + slots);
    struct identity *copy = &entry->identity;
    *copy = *identity;
    entry->path = pack_text(&end, path);
    entry->file_name = pack_text(&end, file_name);
    copy->problem = pack_text(&end, copy->problem);
    copy->internal_name = pack_text(&end, copy->internal_name);
    copy->run_path = pack_text(&end, copy->run_path);
    pack_list(&list, &end, &copy->imports, copy->import_count);
    pack_list(&list, &end, &copy->delay_imports, copy->delay_import_count);
    return entry;
}

/* ---- asking and remembering ---- */

bool cache_get(struct inventory_cache *cache, struct arena *arena, const char *path,
               const char *file_name, const struct os_file_info *info,
               struct identity *out_identity)
{
    struct entry *entry = *find(cache, path, file_name);
    if (entry == NULL || !same_file(&entry->info, info)) {
        return false;
    }
    entry->used_by = cache->scan;
    *out_identity = entry->identity;
    copy_into_arena(arena, out_identity);
    out_identity->from_cache = true;
    return true;
}

void cache_put(struct inventory_cache *cache, const char *path, const char *file_name,
               const struct os_file_info *info, const struct identity *identity)
{
    struct entry **link = find(cache, path, file_name);
    if (*link != NULL) {
        struct entry *old = *link;
        *link = old->next;
        free(old);
        cache->count--;
        link = find(cache, path, file_name);
    }
    if (cache->count >= MAX_ENTRIES) {
        return;
    }
    struct entry *entry = entry_new(path, file_name, identity);
    entry->info = *info;
    entry->used_by = cache->scan;
    entry->identity.from_cache = false;
    *link = entry;
    cache->count++;
}
