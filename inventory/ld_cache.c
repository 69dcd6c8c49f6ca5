/* Formats: glibc sysdeps/generic/dl-cache.h.
   Old, up to 2.31 by default:  "ld.so-1.7.0\0" u32 count, count * {i32 flags, u32 key, u32 value},
                                texts, which key and value are offsets into; behind them, at the
                                next multiple of 8, there may be a whole cache of the new format
                                (then it is the one that counts).
   New:  "glibc-ld.so.cache1.1" u32 count, u32 texts' length, u8 flags (low two bits: byte order),
         3 unused, u32 extension offset, 12 unused, count * {i32 flags, u32 key, u32 value,
         u32 os version, u64 hwcap}; key and value are offsets from this cache's own beginning. */
#include "inventory/ld_cache.h"

#include <string.h>

#include "base/cleanup.h"
#include "base/hash.h"
#include "inventory/files.h"

enum {
    OLD_HEADER = 16,
    OLD_ENTRY = 12,
    NEW_HEADER = 48,
    NEW_ENTRY = 24,
    TEXT_LIMIT = 4096,
    SLOTS = 4 * LD_CACHE_DIRECTORIES_LIMIT, /* a power of two */
};

static const char old_magic[] = "ld.so-1.7.0"; /* with its NUL */
static const char new_magic[] = "glibc-ld.so.cache1.1";

/* Where the entries are and what their offsets count from. */
struct table {
    struct bytes texts;
    struct bytes entries;
    uint64_t entry_size, count;
};

static bool begins(struct bytes bytes, const void *magic, size_t size)
{
    return bytes_has(bytes, 0, size) && memcmp(bytes.data, magic, size) == 0;
}

static bool cut_entries(struct bytes bytes, uint64_t header, struct table *table)
{
    return bytes_part(bytes, header, table->count * table->entry_size, &table->entries);
}

static int open_new(struct bytes bytes, struct table *out_table, struct err *err)
{
    enum { ORDER_MASK = 3, ORDER_BIG = 3 };
    uint32_t count;
    uint8_t flags;
    struct table table = {.texts = bytes, .entry_size = NEW_ENTRY};
    if (!bytes_u32(bytes, 20, &count) || !bytes_u8(bytes, 28, &flags)) {
        return err_set(err, ERR_FORMAT, "the loader's cache ends in its header");
    }
    if ((flags & ORDER_MASK) == ORDER_BIG) {
        return err_set(err, ERR_FORMAT, "the loader's cache is big-endian");
    }
    table.count = count;
    if (!cut_entries(bytes, NEW_HEADER, &table)) {
        return err_set(err, ERR_FORMAT, "the loader's cache ends before its %u entries do", count);
    }
    *out_table = table;
    return 0;
}

static int open_old(struct bytes bytes, struct table *out_table, struct err *err)
{
    uint32_t count;
    struct table table = {.entry_size = OLD_ENTRY};
    if (!bytes_u32(bytes, 12, &count)) {
        return err_set(err, ERR_FORMAT, "the loader's cache ends in its header");
    }
    table.count = count;
    uint64_t end = OLD_HEADER + table.count * OLD_ENTRY;
    if (!cut_entries(bytes, OLD_HEADER, &table) ||
        !bytes_part(bytes, end, bytes.size - end, &table.texts)) {
        return err_set(err, ERR_FORMAT, "the loader's cache ends before its %u entries do", count);
    }
    struct bytes newer;
    uint64_t aligned = (end + 7) & ~UINT64_C(7);
    if (aligned <= bytes.size && bytes_part(bytes, aligned, bytes.size - aligned, &newer) &&
        begins(newer, new_magic, strlen(new_magic))) {
        return open_new(newer, out_table, err);
    }
    *out_table = table;
    return 0;
}

struct parse {
    struct arena *arena;
    struct ld_cache *cache;
    size_t directory_capacity, cudnn_capacity;
    uint32_t *slots; /* directories by the hash of their text; index + 1, 0 = free */
};

static bool is_directory_text(const char *known, const char *path, size_t length)
{
    return strncmp(known, path, length) == 0 && known[length] == '\0';
}

/* False when there are too many. */
static bool add_directory(struct parse *parse, const char *path, size_t length)
{
    struct ld_cache *cache = parse->cache;
    uint64_t slot = hash_bytes(HASH_START, path, length) % SLOTS;
    for (; parse->slots[slot] != 0; slot = (slot + 1) % SLOTS) {
        if (is_directory_text(cache->directories[parse->slots[slot] - 1], path, length)) {
            return true;
        }
    }
    if (cache->directory_count >= LD_CACHE_DIRECTORIES_LIMIT) {
        return false;
    }
    const char **item = arena_push(parse->arena, &cache->directories, &cache->directory_count,
                                   &parse->directory_capacity, sizeof *item);
    *item = arena_strndup(parse->arena, path, length);
    parse->slots[slot] = (uint32_t)cache->directory_count;
    return true;
}

static void add_cudnn(struct parse *parse, const char *name, const char *path)
{
    struct files_name parsed;
    struct ld_cache *cache = parse->cache;
    if (cache->cudnn_count >= LD_CACHE_CUDNN_LIMIT || !files_parse_name(name, &parsed) ||
        parsed.windows) {
        return;
    }
    struct ld_cache_entry *entry = arena_push(parse->arena, &cache->cudnn, &cache->cudnn_count,
                                              &parse->cudnn_capacity, sizeof *entry);
    *entry = (struct ld_cache_entry){.name = arena_strdup(parse->arena, name),
                                     .path = arena_strdup(parse->arena, path)};
}

static int add_entry(struct parse *parse, const struct table *table, uint64_t index,
                     struct err *err)
{
    uint64_t at = index * table->entry_size;
    uint32_t key, value;
    const char *name, *path;
    if (!bytes_u32(table->entries, at + 4, &key) || !bytes_u32(table->entries, at + 8, &value) ||
        !bytes_text(table->texts, key, TEXT_LIMIT, &name) ||
        !bytes_text(table->texts, value, TEXT_LIMIT, &path)) {
        return err_set(err, ERR_FORMAT, "entry %llu of the loader's cache points outside",
                       (unsigned long long)index);
    }
    const char *slash = strrchr(path, '/');
    if (path[0] != '/' || slash == NULL) {
        return 0; /* names no file that could be opened from anywhere */
    }
    size_t length = slash == path ? 1 : (size_t)(slash - path);
    if (!add_directory(parse, path, length)) {
        return err_set(err, ERR_LIMIT, "the loader's cache names more than %d directories",
                       LD_CACHE_DIRECTORIES_LIMIT);
    }
    add_cudnn(parse, name, path);
    return 0;
}

int ld_cache_parse(struct arena *arena, struct bytes bytes, struct ld_cache *out_cache,
                   struct err *err)
{
    CLEANUP(arena_done) struct arena scratch = {0};
    struct table table = {0};
    struct ld_cache cache = {0};
    int code = begins(bytes, new_magic, strlen(new_magic)) ? open_new(bytes, &table, err)
               : begins(bytes, old_magic, sizeof old_magic)
                   ? open_old(bytes, &table, err)
                   : err_set(err, ERR_FORMAT, "is not a cache of the loader");
    if (code != 0) {
        return code;
    }
    struct parse parse = {.arena = arena,
                          .cache = &cache,
                          .slots = arena_alloc(&scratch, SLOTS * sizeof *parse.slots)};
    for (uint64_t i = 0; i < table.count; i++) {
        code = add_entry(&parse, &table, i, err);
        if (code != 0) {
            return code;
        }
    }
    *out_cache = cache;
    return 0;
}
