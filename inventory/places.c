#include "inventory/places.h"

#include "base/cleanup.h"
#include "base/text.h"
#include "os/dirs.h"
#include "os/env.h"
#include "os/path.h"
#include "os/registry.h"

enum { HITS_LIMIT = 4096 };

/* ---- patterns ---- */

static char folded(char c)
{
    return places_ignore_case && c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

/* The last '*' takes what the earlier ones left: no recursion, at most a product of two lengths. */
bool places_match(const char *pattern, const char *name)
{
    const char *star = NULL, *retry = NULL;
    while (*name != '\0') {
        if (*pattern == '*') {
            star = pattern++;
            retry = name;
        } else if (folded(*pattern) == folded(*name)) {
            pattern++;
            name++;
        } else if (star != NULL) {
            pattern = star + 1;
            name = ++retry;
        } else {
            return false;
        }
    }
    while (*pattern == '*') {
        pattern++;
    }
    return *pattern == '\0';
}

static void add_hit(struct look *look, struct place_hits *hits, const char *path, const char *root)
{
    if (hits->count >= HITS_LIMIT) {
        look_limit(look, root, HITS_LIMIT, "places of one kind");
        return;
    }
    struct place_hit *hit =
        arena_push(look->arena, &hits->items, &hits->count, &hits->capacity, sizeof *hit);
    *hit = (struct place_hit){.path = path, .root = root};
}

struct walk {
    struct look *look;
    enum look_care care;
    unsigned root_depth;
    struct place_hits *hits;
};

static void walk_pattern(const struct walk *walk, const char *path, const char *root,
                         const char *pattern, unsigned depth);

static void walk_matches(const struct walk *walk, const char *path, const char *root,
                         const char *component, const char *rest, unsigned depth)
{
    CLEANUP(arena_done) struct arena scratch = {0};
    struct os_dir_list list;
    const char *canonical = look_directory(walk->look, path, walk->care);
    if (canonical == NULL || !look_list(walk->look, &scratch, canonical, walk->care, &list)) {
        return;
    }
    for (size_t i = 0; i < list.count; i++) {
        if (places_match(component, list.entries[i].name)) {
            const char *next = os_path_join(walk->look->arena, path, list.entries[i].name);
            walk_pattern(walk, next, root, rest, depth);
        }
    }
}

/* Follows one component of the pattern; a '*' lists the directory, at the end there is a hit. */
static void walk_pattern(const struct walk *walk, const char *path, const char *root,
                         const char *pattern, unsigned depth)
{
    struct arena *arena = walk->look->arena;
    root = depth == walk->root_depth ? path : root;
    if (*pattern == '\0') {
        add_hit(walk->look, walk->hits, path, root);
        return;
    }
    size_t length = strcspn(pattern, "/");
    const char *component = arena_strndup(arena, pattern, length);
    const char *rest = pattern + length + (pattern[length] == '/');
    if (strchr(component, '*') != NULL) {
        walk_matches(walk, path, root, component, rest, depth + 1);
    } else {
        walk_pattern(walk, os_path_join(arena, path, component), root, rest, depth + 1);
    }
}

static void expand(struct look *look, const struct place *place, const char *base,
                   enum look_care care, struct place_hits *hits)
{
    struct walk walk = {look, care, place->root_depth, hits};
    walk_pattern(&walk, base, base, place->pattern, 0);
}

void places_below(struct look *look, const struct place *place, const char *base,
                  struct place_hits *hits)
{
    expand(look, place, base, LOOK_WANTED, hits);
}

char *places_id(struct arena *arena, const char *canonical)
{
    return arena_printf(arena, "%016llx", (unsigned long long)places_key(canonical));
}

/* ---- where patterns begin ---- */

typedef void base_finder(struct look *look, const struct place *place, struct place_hits *hits);

static void from_fixed(struct look *look, const struct place *place, struct place_hits *hits)
{
    expand(look, place, place->name, LOOK_WANTED, hits);
}

static void from_program_files(struct look *look, const struct place *place,
                               struct place_hits *hits)
{
    const char *directory = os_dirs_program_files(look->arena);
    if (directory != NULL) {
        expand(look, place, directory, LOOK_WANTED, hits);
    }
}

static void from_system(struct look *look, const struct place *place, struct place_hits *hits)
{
    const char *directory = os_dirs_system(look->arena);
    if (directory != NULL) {
        expand(look, place, directory, LOOK_WANTED, hits);
    }
}

/* Other people's homes are closed to most accounts: that is said once, and no fault. */
static void read_homes(struct look *look)
{
    CLEANUP(arena_done) struct arena scratch = {0};
    char **homes;
    size_t count, capacity = 0;
    os_dirs_homes(&scratch, look->request->root, &homes, &count);
    for (size_t i = 0; i < count; i++) {
        struct os_dir_list list;
        const char *home = look_directory(look, homes[i], LOOK_GUESS);
        if (home != NULL && look_list(look, &scratch, home, LOOK_GUESS, &list)) {
            const char **item =
                arena_push(look->arena, &look->homes, &look->home_count, &capacity, sizeof *item);
            *item = home;
        }
    }
    look->homes_known = true;
}

static void from_homes(struct look *look, const struct place *place, struct place_hits *hits)
{
    if (!look->homes_known) {
        read_homes(look);
    }
    for (size_t i = 0; i < look->home_count; i++) {
        expand(look, place, look->homes[i], LOOK_GUESS, hits);
    }
}

/* The scopes as a program started now would see them: the nearest first. */
static size_t scopes(const struct look *look, enum os_env_scope out_scopes[3])
{
    size_t count = 0;
    if (look->request->process_environment) {
        out_scopes[count++] = OS_ENV_PROCESS;
    }
    out_scopes[count++] = OS_ENV_USER;
    out_scopes[count++] = OS_ENV_MACHINE;
    return count;
}

static void from_value(struct look *look, const struct place *place, const char *value,
                       bool only_first, struct place_hits *hits)
{
    char **items;
    size_t count;
    if (value == NULL) {
        return;
    }
    os_path_list_split(look->arena, value, &items, &count);
    for (size_t i = 0; i < (only_first && count > 1 ? 1 : count); i++) {
        /* Interpreters are looked for wherever programs lie; nobody promised any there. */
        bool guess = place->role == PLACE_PYTHON_PROGRAM;
        if (guess && look_directory(look, items[i], LOOK_GUESS) == NULL) {
            continue;
        }
        if (os_path_is_absolute(items[i])) {
            expand(look, place, items[i], guess ? LOOK_GUESS : LOOK_WANTED, hits);
        }
    }
}

static void from_variable_or_list(struct look *look, const struct place *place, bool only_first,
                                  struct place_hits *hits)
{
    enum os_env_scope scope[3];
    size_t count = scopes(look, scope);
    for (size_t i = 0; i < count; i++) {
        const char *value = os_env_get(look->arena, look->request->root, scope[i], place->name);
        from_value(look, place, value, only_first, hits);
    }
}

static void from_variable(struct look *look, const struct place *place, struct place_hits *hits)
{
    from_variable_or_list(look, place, true, hits);
}

static void from_list(struct look *look, const struct place *place, struct place_hits *hits)
{
    from_variable_or_list(look, place, false, hits);
}

static void from_variables(struct look *look, const struct place *place, struct place_hits *hits)
{
    enum os_env_scope scope[3];
    size_t scope_count = scopes(look, scope);
    for (size_t i = 0; i < scope_count; i++) {
        struct os_env_variable *items;
        size_t count;
        os_env_list(look->arena, look->request->root, scope[i], place->name, &items, &count);
        for (size_t v = 0; v < count; v++) {
            from_value(look, place, items[v].value, true, hits);
        }
    }
}

/* `done`: the key as far as it is known; `rest`: what follows, up to ':' and the value's name. */
static void walk_registry(struct look *look, const struct place *place, const char *done,
                          const char *rest, struct place_hits *hits)
{
    const char *star = strstr(rest, "\\*");
    if (star == NULL) {
        const char *colon = strchr(rest, ':');
        const char *key = arena_printf(look->arena, "%s%.*s", done, (int)(colon - rest), rest);
        from_value(look, place, os_registry_text(look->arena, key, colon + 1), true, hits);
        return;
    }
    const char *parent = arena_printf(look->arena, "%s%.*s", done, (int)(star - rest), rest);
    char **names;
    size_t count;
    os_registry_subkeys(look->arena, parent, &names, &count);
    for (size_t i = 0; i < count; i++) {
        walk_registry(look, place, arena_printf(look->arena, "%s\\%s", parent, names[i]), star + 2,
                      hits);
    }
}

static void from_registry(struct look *look, const struct place *place, struct place_hits *hits)
{
    walk_registry(look, place, "", place->name, hits);
}

static void from_extra(struct look *look, const struct place *place, struct place_hits *hits)
{
    for (size_t i = 0; i < look->request->extra_root_count; i++) {
        expand(look, place, look->request->extra_roots[i], LOOK_WANTED, hits);
    }
}

static base_finder *const finders[] = {
    [PLACE_FIXED] = from_fixed,       [PLACE_PROGRAM_FILES] = from_program_files,
    [PLACE_SYSTEM] = from_system,     [PLACE_HOME] = from_homes,
    [PLACE_VARIABLE] = from_variable, [PLACE_VARIABLES] = from_variables,
    [PLACE_LIST] = from_list,         [PLACE_REGISTRY] = from_registry,
    [PLACE_EXTRA] = from_extra,       [PLACE_IN_TOOLKIT] = NULL,
    [PLACE_IN_ENVIRONMENT] = NULL,    [PLACE_IN_SITE] = NULL,
};

void places_find(struct look *look, const struct place *place, struct place_hits *hits)
{
    if (finders[place->from] != NULL) {
        finders[place->from](look, place, hits);
    }
}
