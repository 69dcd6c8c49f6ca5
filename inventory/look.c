#include "inventory/look.h"

#include "base/cleanup.h"
#include "base/hash.h"
#include "base/text.h"
#include "os/path.h"

void look_problem(struct look *look, enum problem_kind kind, const char *path, const char *error)
{
    for (size_t i = 0; i < look->problem_count; i++) {
        if (text_equal(look->problems[i].path, path) &&
            text_equal(look->problems[i].error, error)) {
            return;
        }
    }
    if (look->problem_count >= LOOK_PROBLEMS_LIMIT) {
        return; /* whoever reads thousands of them knows enough */
    }
    struct problem *problem = arena_push(look->arena, &look->problems, &look->problem_count,
                                         &look->problem_capacity, sizeof *problem);
    *problem = (struct problem){.kind = kind,
                                .path = arena_strdup(look->arena, path),
                                .error = arena_strdup(look->arena, error)};
}

/* The reason without the path, which a problem has a field for: os/ says "cannot list '/x': why"
   or "C:\x: why". The path in there is the system's own, which ends with ours. */
static const char *reason(const struct err *err, const char *path)
{
    const char *after = NULL;
    for (const char *at = strstr(err->message, path); at != NULL; at = strstr(at + 1, path)) {
        after = at + strlen(path);
    }
    if (*path == '\0' || after == NULL) {
        return err->message;
    }
    after += *after == '\'';
    return text_has_prefix(after, ": ") ? after + 2 : err->message;
}

void look_unreadable(struct look *look, enum look_care care, const char *path,
                     const struct err *err)
{
    /* A loop of links leads nowhere: said, but nothing is behind it that could have been missed. */
    bool fault = care == LOOK_WANTED && err->code != ERR_LIMIT;
    look_problem(look, fault ? PROBLEM_UNREADABLE : PROBLEM_SKIPPED, path, reason(err, path));
}

void look_limit(struct look *look, const char *path, size_t limit, const char *what)
{
    look_problem(look, PROBLEM_SKIPPED, path,
                 arena_printf(look->arena, "only the first %zu %s were looked at", limit, what));
}

bool look_is_cancelled(const struct look *look)
{
    return look->request->cancel != NULL && atomic_load(look->request->cancel);
}

const char *look_system_path(struct look *look, const char *canonical)
{
    return os_path_in_root(look->arena, look->request->root, canonical);
}

/* Decided by the path's text and the mount table, before anything touches it. */
static bool is_off_limits(struct look *look, struct arena *scratch, const char *path)
{
    if (!os_path_is_network(os_path_in_root(scratch, look->request->root, path))) {
        return false;
    }
    look_problem(look, PROBLEM_SKIPPED, path, "is on a network drive, not looked at");
    return true;
}

static enum look_state look_once(struct look *look, const char *path, enum look_care care,
                                 const char **out_canonical)
{
    CLEANUP(arena_done) struct arena scratch = {0};
    struct err err = {0};
    char *canonical;
    struct os_file_info info;
    if (is_off_limits(look, &scratch, path)) {
        return LOOK_UNKNOWN;
    }
    int code = os_path_resolve(&scratch, look->request->root, path, &canonical, &err);
    if (code == 0 && strcmp(canonical, path) != 0 && is_off_limits(look, &scratch, canonical)) {
        return LOOK_UNKNOWN; /* a link led there */
    }
    if (code == 0) {
        const char *system_path = os_path_in_root(&scratch, look->request->root, canonical);
        code = os_file_stat(system_path, &info, &err);
    }
    if (code == ERR_NOT_FOUND) {
        return LOOK_ABSENT;
    }
    if (code != 0) {
        look_unreadable(look, care, path, &err);
        return LOOK_UNKNOWN;
    }
    *out_canonical = arena_strdup(look->arena, canonical);
    return info.type == OS_FILE_DIRECTORY ? LOOK_DIRECTORY : LOOK_FILE;
}

/* ---- the memory of one scan ---- */

/* Rows share directories, and asking whether a path is on the network costs a walk through the
   mount table: what was seen is remembered, in a table with open addressing. */
struct look_seen {
    const char *path; /* NULL = free */
    const char *canonical;
    enum look_state state;
};

void look_done(struct look *look)
{
    arena_done(&look->memory);
    look->seen = NULL;
    look->seen_count = look->seen_capacity = 0;
}

static struct look_seen *find_seen(struct look_seen *seen, size_t capacity, const char *path)
{
    size_t slot = (size_t)(hash_text(HASH_START, path) % capacity);
    while (seen[slot].path != NULL && strcmp(seen[slot].path, path) != 0) {
        slot = (slot + 1) % capacity;
    }
    return &seen[slot];
}

/* Room for one more, at most half full. */
static void reserve_seen(struct look *look)
{
    enum { FIRST_CAPACITY = 1024 };
    if (look->seen_capacity > 2 * look->seen_count) {
        return;
    }
    size_t capacity = look->seen_capacity == 0 ? FIRST_CAPACITY : 2 * look->seen_capacity;
    struct look_seen *grown = arena_alloc(&look->memory, capacity * sizeof *grown);
    for (size_t i = 0; i < look->seen_capacity; i++) {
        if (look->seen[i].path != NULL) {
            *find_seen(grown, capacity, look->seen[i].path) = look->seen[i];
        }
    }
    look->seen = grown;
    look->seen_capacity = capacity;
}

enum look_state look_at(struct look *look, const char *path, enum look_care care,
                        const char **out_canonical)
{
    *out_canonical = NULL;
    if (!os_path_is_absolute(path)) {
        return LOOK_ABSENT; /* would be below wherever a program happens to run */
    }
    reserve_seen(look);
    struct look_seen *seen = find_seen(look->seen, look->seen_capacity, path);
    if (seen->path == NULL) {
        seen->state = look_once(look, path, care, &seen->canonical);
        seen->path = arena_strdup(&look->memory, path);
        look->seen_count++;
    }
    *out_canonical = seen->canonical;
    return seen->state;
}

const char *look_directory(struct look *look, const char *path, enum look_care care)
{
    const char *canonical;
    return look_at(look, path, care, &canonical) == LOOK_DIRECTORY ? canonical : NULL;
}

bool look_list(struct look *look, struct arena *arena, const char *canonical, enum look_care care,
               struct os_dir_list *out_list)
{
    struct err err = {0};
    const char *system_path = os_path_in_root(arena, look->request->root, canonical);
    int code = os_dir_read(arena, system_path, LOOK_ENTRIES_LIMIT, out_list, &err);
    if (code == ERR_NOT_FOUND) {
        return false; /* vanished meanwhile */
    }
    if (code != 0) {
        look_unreadable(look, care, canonical, &err);
        return false;
    }
    if (out_list->cut) {
        look_limit(look, canonical, LOOK_ENTRIES_LIMIT, "entries");
    }
    return true;
}

char *look_read(struct look *look, struct arena *arena, const char *path, size_t limit,
                enum look_care care, size_t *out_size)
{
    struct err err = {0};
    const char *canonical;
    char *text;
    size_t size;
    if (look_at(look, path, care, &canonical) != LOOK_FILE) {
        return NULL;
    }
    const char *system_path = os_path_in_root(arena, look->request->root, canonical);
    int code = os_file_read(arena, system_path, limit, &text, &size, &err);
    if (code != 0) {
        if (code != ERR_NOT_FOUND) {
            look_unreadable(look, care, path, &err);
        }
        return NULL;
    }
    if (out_size != NULL) {
        *out_size = size;
    }
    return text;
}

/* ---- what is worth watching ---- */

/* In the order of first mention; `slots` finds a path again: index + 1, 0 = free. */
struct watch_list {
    struct watched_directory *items;
    size_t count;
    size_t *slots;
    size_t slot_count;
};

static void watch_add(struct look *look, struct watch_list *list, const char *path, bool files)
{
    size_t slot = (size_t)(hash_text(HASH_START, path) % list->slot_count);
    while (list->slots[slot] != 0 && strcmp(list->items[list->slots[slot] - 1].path, path) != 0) {
        slot = (slot + 1) % list->slot_count;
    }
    if (list->slots[slot] == 0) {
        list->items[list->count++].path = arena_strdup(look->arena, path);
        list->slots[slot] = list->count;
    }
    struct watched_directory *item = &list->items[list->slots[slot] - 1];
    item->files = item->files || files;
    item->directories = true;
}

/* Up from a path that is not there; canonical, as links may lie on the way. */
static void watch_above(struct look *look, struct watch_list *list, const char *path)
{
    CLEANUP(arena_done) struct arena scratch = {0};
    const char *at = path;
    for (const char *up = os_path_parent(&scratch, at); strcmp(up, at) != 0;
         up = os_path_parent(&scratch, at)) {
        const char *canonical;
        at = up;
        switch (look_at(look, at, LOOK_GUESS, &canonical)) {
        case LOOK_ABSENT:
            continue;
        case LOOK_DIRECTORY:
            watch_add(look, list, canonical, false);
            return;
        default:
            return;
        }
    }
}

void look_watched(struct look *look, struct watched_directory **out_items, size_t *out_count)
{
    /* The paths first: looking at their parents adds to the table that is walked here. */
    struct look_seen *seen = arena_alloc(&look->memory, (look->seen_count + 1) * sizeof *seen);
    size_t count = 0;
    for (size_t i = 0; i < look->seen_capacity; i++) {
        if (look->seen[i].path != NULL) {
            seen[count++] = look->seen[i];
        }
    }
    struct watch_list list = {.slot_count = 2 * count + 1}; /* a path adds one at most */
    list.items = arena_alloc(look->arena, (count + 1) * sizeof *list.items);
    list.slots = arena_alloc(&look->memory, list.slot_count * sizeof *list.slots);
    for (size_t i = 0; i < count; i++) {
        if (seen[i].state == LOOK_DIRECTORY) {
            watch_add(look, &list, seen[i].canonical, true);
        } else if (seen[i].state == LOOK_ABSENT) {
            watch_above(look, &list, seen[i].path);
        }
    }
    *out_items = list.items;
    *out_count = list.count;
}
