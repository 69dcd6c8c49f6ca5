#include "os/path.h"

#include <errno.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/text.h"
#include "os/posix/mounts.h"
#include "os/posix/syscall.h"

enum { LINK_LIMIT = 40, LIST_LIMIT = 4096, LINK_BYTES = 4096 };

const char os_path_separator = '/';
const char os_path_list_separator = ':';

bool os_path_is_absolute(const char *path)
{
    return path[0] == '/';
}

static size_t length_without_slashes(const char *path)
{
    size_t length = strlen(path);
    while (length > 0 && path[length - 1] == '/') {
        length--;
    }
    return length;
}

char *os_path_join(struct arena *arena, const char *directory, const char *name)
{
    if (directory[0] == '\0' || os_path_is_absolute(name)) {
        return arena_strdup(arena, name);
    }
    return arena_printf(arena, "%.*s/%s", (int)length_without_slashes(directory), directory, name);
}

char *os_path_parent(struct arena *arena, const char *path)
{
    size_t length = length_without_slashes(path);
    size_t name_end = length;
    while (length > 0 && path[length - 1] != '/') {
        length--;
    }
    if (length == 0) {
        return arena_strdup(arena, name_end == 0 && path[0] == '/' ? "/" : ".");
    }
    while (length > 1 && path[length - 1] == '/') {
        length--;
    }
    return arena_strndup(arena, path, length);
}

const char *os_path_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash == NULL ? path : slash + 1;
}

/* Takes the next component off *rest; false at the end. Empty ones do not count. */
static bool next_component(const char **rest, const char **out_name, size_t *out_length)
{
    *rest += strspn(*rest, "/");
    *out_name = *rest;
    *out_length = strcspn(*rest, "/");
    *rest += *out_length;
    return *out_length > 0;
}

static bool is_name(const char *name, size_t length, const char *wanted)
{
    return length == strlen(wanted) && memcmp(name, wanted, length) == 0;
}

/* Walks over `ancestor` and as much of `path`: the rest of the path, or NULL when they differ. */
static const char *behind_ancestor(const char *path, const char *ancestor)
{
    if (os_path_is_absolute(path) != os_path_is_absolute(ancestor)) {
        return NULL;
    }
    const char *name;
    const char *expected;
    size_t length;
    size_t expected_length;
    while (next_component(&ancestor, &expected, &expected_length)) {
        if (!next_component(&path, &name, &length) || length != expected_length ||
            memcmp(name, expected, length) != 0) {
            return NULL;
        }
    }
    return path;
}

bool os_path_equal(const char *a, const char *b)
{
    const char *rest = behind_ancestor(a, b);
    return rest != NULL && rest[strspn(rest, "/")] == '\0';
}

bool os_path_is_below(const char *path, const char *ancestor)
{
    const char *rest = behind_ancestor(path, ancestor);
    const char *name;
    size_t length;
    while (rest != NULL && next_component(&rest, &name, &length)) {
        if (is_name(name, length, "..")) {
            return false;
        }
    }
    return rest != NULL;
}

/* A canonical path under construction: "" is the root, else "/a/b". Never ends with a slash. */
struct walk {
    struct arena *arena;
    const char *root; /* where it lies for the system */
    char *done;       /* no links, no dots in here */
    const char *rest; /* still to be walked: "" or begins with a slash, but at the very start */
    unsigned links;
};

static void drop_last(char *path)
{
    char *slash = strrchr(path, '/');
    if (slash != NULL) {
        *slash = '\0';
    }
}

/* The text of the link at `path`, NULL with errno when it is none or cannot be read. */
static char *link_text(struct arena *arena, const char *path)
{
    char text[LINK_BYTES];
    ssize_t length = readlink(path, text, sizeof text);
    if (length == (ssize_t)sizeof text) {
        errno = ENAMETOOLONG;
        return NULL;
    }
    return length < 0 ? NULL : arena_strndup(arena, text, (size_t)length);
}

static int follow_link(struct walk *walk, const char *host_path, struct err *err)
{
    if (++walk->links > LINK_LIMIT) {
        return posix_fail(err, ELOOP, "cannot resolve '%s'", host_path);
    }
    char *target = link_text(walk->arena, host_path);
    if (target == NULL) {
        return posix_fail(err, errno, "cannot read link '%s'", host_path);
    }
    if (os_path_is_absolute(target)) {
        walk->done[0] = '\0'; /* absolute inside the root */
    }
    walk->rest = arena_printf(walk->arena, "%s%s", target, walk->rest);
    return 0;
}

static int step(struct walk *walk, const char *name, size_t length, struct err *err)
{
    char *next = arena_printf(walk->arena, "%s/%.*s", walk->done, (int)length, name);
    char *host_path = arena_printf(walk->arena, "%s%s", walk->root, next);
    struct stat status;
    if (lstat(host_path, &status) != 0) {
        return posix_fail(err, errno, "cannot resolve '%s'", host_path);
    }
    if (S_ISLNK(status.st_mode)) {
        return follow_link(walk, host_path, err);
    }
    if (!S_ISDIR(status.st_mode) && walk->rest[0] != '\0') {
        return posix_fail(err, ENOTDIR, "cannot resolve '%s'", host_path);
    }
    walk->done = next;
    return 0;
}

static int resolve_inside(struct arena *arena, const char *root, const char *path, char **out_path,
                          struct err *err)
{
    struct walk walk = {
        .arena = arena,
        .root = arena_strndup(arena, root, length_without_slashes(root)),
        .done = arena_strdup(arena, ""),
        .rest = path,
    };
    const char *name;
    size_t length;
    while (next_component(&walk.rest, &name, &length)) {
        if (is_name(name, length, ".")) {
            continue;
        }
        if (is_name(name, length, "..")) {
            drop_last(walk.done);
            continue;
        }
        int code = step(&walk, name, length, err);
        if (code != 0) {
            return code;
        }
    }
    *out_path = walk.done[0] == '\0' ? arena_strdup(arena, "/") : walk.done;
    return 0;
}

int os_path_resolve(struct arena *arena, const char *root, const char *path, char **out_path,
                    struct err *err)
{
    if (path[0] == '\0') {
        return posix_fail(err, ENOENT, "cannot resolve an empty path");
    }
    if (root != NULL) {
        return resolve_inside(arena, root, path, out_path, err);
    }
    CLEANUP(cleanup_free) char *resolved = realpath(path, NULL);
    if (resolved == NULL) {
        return posix_fail(err, errno, "cannot resolve '%s'", path);
    }
    *out_path = arena_strdup(arena, resolved);
    return 0;
}

/* The path without ".", "..", doubled slashes, by its text alone; ".." stops at the root. */
static char *clean(struct arena *arena, const char *path)
{
    char *done = arena_alloc(arena, strlen(path) + 2);
    size_t used = 0;
    const char *name;
    size_t length;
    while (next_component(&path, &name, &length)) {
        if (is_name(name, length, "..")) {
            drop_last(done);
            used = strlen(done);
        } else if (!is_name(name, length, ".")) {
            done[used] = '/';
            memcpy(done + used + 1, name, length);
            used += length + 1;
            done[used] = '\0';
        }
    }
    if (used == 0) {
        memcpy(done, "/", 2);
    }
    return done;
}

char *os_path_in_root(struct arena *arena, const char *root, const char *path)
{
    if (root == NULL) {
        return arena_strdup(arena, path);
    }
    return arena_printf(arena, "%.*s%s", (int)length_without_slashes(root), root,
                        clean(arena, path));
}

bool os_path_is_network(const char *path)
{
    CLEANUP(arena_done) struct arena arena = {0};
    const char *full = path;
    if (!os_path_is_absolute(path)) {
        /* getcwd(2) asks the kernel's own tree, not the file system */
        CLEANUP(cleanup_free) char *current = getcwd(NULL, 0);
        full = os_path_join(&arena, current != NULL ? current : "/", path);
    }
    struct posix_mount mount;
    return posix_mount_of(&arena, clean(&arena, full), &mount) && posix_mount_is_remote(&mount);
}

static char *list_item(struct arena *arena, const char *text, size_t length)
{
    char *item = text_strip(arena_strndup(arena, text, length));
    size_t stripped = strlen(item);
    if (stripped >= 2 && item[0] == '"' && item[stripped - 1] == '"') {
        item[stripped - 1] = '\0';
        item++;
    }
    return item;
}

void os_path_list_split(struct arena *arena, const char *list, char ***out_items, size_t *out_count)
{
    char **items = NULL;
    size_t count = 0;
    size_t capacity = 0;
    while (*list != '\0' && count < LIST_LIMIT) {
        size_t length = strcspn(list, ":");
        char *item = list_item(arena, list, length);
        if (item[0] != '\0') {
            *(char **)arena_push(arena, &items, &count, &capacity, sizeof *items) = item;
        }
        list += length + (list[length] == ':');
    }
    *out_items = items;
    *out_count = count;
}
