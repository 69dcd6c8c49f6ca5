#include "os/dirs.h"

#include <pwd.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/text.h"
#include "os/file.h"
#include "os/path.h"
#include "os/posix/rooted.h"

enum { HOME_LIMIT = 4096, PASSWD_BYTES = 16 * 1024, FIRST_USER = 1000, NOBODY = 65534 };

/* $HOME, else what the user database says, else "/" (a container with a bare user id). */
static const char *own_home(struct arena *arena)
{
    const char *home = getenv("HOME");
    if (home != NULL && os_path_is_absolute(home)) {
        return arena_strdup(arena, home);
    }
    CLEANUP(cleanup_free) char *buffer = malloc(PASSWD_BYTES);
    struct passwd entry;
    struct passwd *found = NULL;
    if (buffer == NULL || getpwuid_r(geteuid(), &entry, buffer, PASSWD_BYTES, &found) != 0 ||
        found == NULL || !os_path_is_absolute(entry.pw_dir)) {
        return "/";
    }
    return arena_strdup(arena, entry.pw_dir);
}

/* XDG Base Directory Specification: a relative value is as good as none. */
static char *user_directory(struct arena *arena, const char *variable, const char *fallback)
{
    const char *directory = getenv(variable);
    if (directory == NULL || !os_path_is_absolute(directory)) {
        directory = os_path_join(arena, own_home(arena), fallback);
    }
    return os_path_join(arena, directory, "cudnnd");
}

char *os_dirs_config_file(struct arena *arena, bool service)
{
    char *directory = service ? arena_strdup(arena, "/etc/cudnnd")
                              : user_directory(arena, "XDG_CONFIG_HOME", ".config");
    return os_path_join(arena, directory, "cudnnd.yml");
}

char *os_dirs_data(struct arena *arena, bool service)
{
    return service ? arena_strdup(arena, "/var/lib/cudnnd")
                   : user_directory(arena, "XDG_DATA_HOME", ".local/share");
}

struct homes {
    struct arena *arena;
    const char *root;
    char **items;
    size_t count, capacity;
};

static void add_known(struct homes *homes, char *path)
{
    for (size_t i = 0; i < homes->count; i++) {
        if (strcmp(homes->items[i], path) == 0) {
            return;
        }
    }
    if (homes->count < HOME_LIMIT) {
        *(char **)arena_push(homes->arena, &homes->items, &homes->count, &homes->capacity,
                             sizeof *homes->items) = path;
    }
}

/* Other people's homes on a server that may be gone are left alone. */
static bool may_hang(const struct homes *homes, const char *path)
{
    return os_path_is_network(os_path_in_root(homes->arena, homes->root, path));
}

static void add_directory(struct homes *homes, const char *path)
{
    char *resolved;
    struct os_file_info info;
    if (may_hang(homes, path) ||
        os_path_resolve(homes->arena, homes->root, path, &resolved, NULL) != 0 ||
        strcmp(resolved, "/") == 0 ||
        os_file_stat(os_path_in_root(homes->arena, homes->root, resolved), &info, NULL) != 0 ||
        info.type != OS_FILE_DIRECTORY) {
        return;
    }
    add_known(homes, resolved);
}

static void add_below(struct homes *homes, const char *parent)
{
    if (may_hang(homes, parent)) {
        return;
    }
    const char *directory = posix_rooted_path(homes->arena, homes->root, parent);
    struct os_dir_list list;
    if (directory == NULL || os_dir_read(homes->arena, directory, HOME_LIMIT, &list, NULL) != 0) {
        return;
    }
    for (size_t i = 0; i < list.count; i++) {
        if (list.entries[i].type == OS_FILE_DIRECTORY || list.entries[i].type == OS_FILE_LINK) {
            add_directory(homes, os_path_join(homes->arena, parent, list.entries[i].name));
        }
    }
}

/* name:password:uid:gid:comment:HOME:shell, people's accounts only. Read as a file: a directory
   service may hang, and belongs to this machine, not to a root. */
static void add_from_passwd(struct homes *homes)
{
    char *text = posix_rooted_read(homes->arena, homes->root, "/etc/passwd");
    for (char *line; (line = strsep(&text, "\n")) != NULL;) {
        char *field[6] = {NULL};
        for (size_t i = 0; i < 6; i++) {
            field[i] = strsep(&line, ":");
        }
        uint64_t user;
        if (field[5] != NULL && os_path_is_absolute(field[5]) &&
            text_to_u64(field[2], UINT32_MAX, &user) && user >= FIRST_USER && user != NOBODY) {
            add_directory(homes, field[5]);
        }
    }
}

void os_dirs_homes(struct arena *arena, const char *root, char ***out_items, size_t *out_count)
{
    struct homes homes = {.arena = arena, .root = root};
    char *resolved;
    if (root == NULL && os_path_resolve(arena, NULL, own_home(arena), &resolved, NULL) == 0 &&
        strcmp(resolved, "/") != 0) {
        add_known(&homes, resolved); /* wherever it lies: this process lives in it */
    }
    add_directory(&homes, "/root");
    add_below(&homes, "/home");
    add_from_passwd(&homes);
    *out_items = homes.items;
    *out_count = homes.count;
}

char *os_dirs_program_files(struct arena *arena)
{
    (void)arena;
    return NULL;
}

char *os_dirs_system(struct arena *arena)
{
    (void)arena;
    return NULL;
}
