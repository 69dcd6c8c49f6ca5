#include "inventory/search_path.h"

#include "base/cleanup.h"
#include "base/text.h"
#include "inventory/ld_cache.h"
#include "inventory/libraries.h"
#include "inventory/places.h"
#include "os/env.h"
#include "os/path.h"

enum { CACHE_FILE_LIMIT = 4 * 1024 * 1024 }; /* a large server has 300 KB */

static const struct {
    enum os_env_scope from;
    enum search_scope scope;
} scopes[] = {
    {OS_ENV_MACHINE, SEARCH_MACHINE},
    {OS_ENV_USER, SEARCH_USER},
    {OS_ENV_PROCESS, SEARCH_PROCESS},
};

static struct search_entry *add(struct look *look, struct search_path *path,
                                enum search_scope scope, const char *directory)
{
    if (path->count >= SEARCH_PATH_LIMIT) {
        look_limit(look, directory, SEARCH_PATH_LIMIT, "search-path entries");
        return NULL;
    }
    struct search_entry *entry =
        arena_push(look->arena, &path->entries, &path->count, &path->capacity, sizeof *entry);
    *entry =
        (struct search_entry){.scope = scope, .directory = arena_strdup(look->arena, directory)};
    return entry;
}

/* What is not known to be absent counts as there: a drive that sleeps is no fault of the path. */
static void examine(struct look *look, struct search_entry *entry)
{
    enum look_state state = look_at(look, entry->directory, LOOK_WANTED, &entry->canonical);
    entry->exists = state != LOOK_ABSENT;
    entry->is_directory = state == LOOK_DIRECTORY || state == LOOK_UNKNOWN;
    if (state == LOOK_DIRECTORY) {
        libraries_names(look, entry->canonical, LOOK_WANTED, &entry->cudnn, &entry->cudnn_count);
    }
}

static bool is_listed(const struct search_path *path, size_t count, const char *directory)
{
    for (size_t i = 0; i < count; i++) {
        if (os_path_equal(path->entries[i].directory, directory)) {
            return true;
        }
    }
    return false;
}

/* A process has inherited the machine's and the user's entries: only what it adds is its own.
   False when there is no point in going on. */
static bool add_item(struct look *look, struct search_path *path, enum search_scope scope,
                     size_t inherited, const char *item)
{
    if (scope == SEARCH_PROCESS && is_listed(path, inherited, item)) {
        return true;
    }
    struct search_entry *entry = add(look, path, scope, item);
    if (entry != NULL) {
        examine(look, entry);
    }
    return entry != NULL && !look_is_cancelled(look);
}

/* One variable. os_path_list_split() drops empty entries; where they mean the current directory
   they are kept, as they are written. */
static void add_list(struct look *look, struct search_path *path, enum search_scope scope,
                     const char *list)
{
    size_t inherited = path->count;
    const char separators[] = {os_path_list_separator, '\0'};
    if (!places_empty_is_here) {
        char **items;
        size_t count;
        os_path_list_split(look->arena, list, &items, &count);
        for (size_t i = 0; i < count && add_item(look, path, scope, inherited, items[i]); i++) {
        }
        return;
    }
    for (bool more = *list != '\0'; more;) {
        size_t length = strcspn(list, separators);
        const char *item = arena_strndup(look->arena, list, length);
        more = add_item(look, path, scope, inherited, item) && list[length] != '\0';
        list += length + (list[length] != '\0');
    }
}

static void read_lists(struct look *look, const struct place *place, struct search_path *path)
{
    for (size_t i = 0; i < sizeof scopes / sizeof *scopes; i++) {
        if (scopes[i].from == OS_ENV_PROCESS && !look->request->process_environment) {
            continue;
        }
        const char *list =
            os_env_get(look->arena, look->request->root, scopes[i].from, place->name);
        if (list != NULL) {
            add_list(look, path, scopes[i].scope, list);
        }
    }
}

/* Does the part of the path that is of the loader's own, from `first` on, have it already? */
static bool has_canonical(const struct search_path *path, size_t first, const char *canonical)
{
    for (size_t i = first; i < path->count; i++) {
        if (path->entries[i].canonical != NULL &&
            os_path_equal(path->entries[i].canonical, canonical)) {
            return true;
        }
    }
    return false;
}

static void add_loader_directory(struct look *look, struct search_path *path, size_t first,
                                 const char *directory, bool from_cache)
{
    const char **names;
    size_t count;
    const char *canonical = look_directory(look, directory, LOOK_WANTED);
    if (canonical == NULL || has_canonical(path, first, canonical) ||
        !libraries_names(look, canonical, LOOK_WANTED, &names, &count)) {
        return;
    }
    struct search_entry *entry = add(look, path, SEARCH_MACHINE, directory);
    if (entry != NULL) {
        entry->canonical = canonical;
        entry->exists = entry->is_directory = true;
        entry->cudnn = names;
        entry->cudnn_count = count;
        entry->from_loader_cache = from_cache;
    }
}

/* Only directories from which the cache maps a cuDNN: the loader does not see what was put into
   the others since ldconfig ran. */
static void read_cache(struct look *look, const char *file, struct search_path *path)
{
    CLEANUP(arena_done) struct arena scratch = {0};
    struct err err = {0};
    struct ld_cache cache;
    size_t size;
    const char *text = look_read(look, &scratch, file, CACHE_FILE_LIMIT, LOOK_WANTED, &size);
    if (text == NULL) {
        return;
    }
    struct bytes bytes = {.data = (const uint8_t *)text, .size = size};
    if (ld_cache_parse(look->arena, bytes, &cache, &err) != 0) {
        look_problem(look, PROBLEM_UNREADABLE, file, err.message);
        return;
    }
    path->served = cache.directories;
    path->served_count = cache.directory_count;
    size_t first = path->count;
    for (size_t i = 0; i < cache.cudnn_count; i++) {
        add_loader_directory(look, path, first, os_path_parent(&scratch, cache.cudnn[i].path),
                             true);
    }
}

static void read_defaults(struct look *look, const struct place *place, size_t first,
                          struct search_path *path)
{
    struct place_hits hits = {0};
    places_find(look, place, &hits);
    for (size_t h = 0; h < hits.count; h++) {
        add_loader_directory(look, path, first, hits.items[h].path, false);
    }
}

void search_path_read(struct look *look, struct search_path *out_path)
{
    struct search_path path = {0};
    size_t first = 0; /* of what the loader knows by itself */
    for (size_t i = 0; i < places_count && !look_is_cancelled(look); i++) {
        if (places[i].role == PLACE_SEARCH_LIST) {
            read_lists(look, &places[i], &path);
            first = path.count;
        } else if (places[i].role == PLACE_LOADER_CACHE) {
            read_cache(look, places[i].name, &path);
        } else if (places[i].role == PLACE_LOADER_DEFAULT) {
            read_defaults(look, &places[i], first, &path);
        }
    }
    *out_path = path;
}

bool search_path_has(const struct search_path *path, const char *canonical)
{
    return has_canonical(path, 0, canonical);
}
