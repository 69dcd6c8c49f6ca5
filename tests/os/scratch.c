#include "tests/os/scratch.h"

#include "tests/test.h"

#include <inttypes.h>
#include <unistd.h>

#include "os/env.h"
#include "os/file.h"
#include "os/path.h"
#include "os/secure.h"

enum { READ_LIMIT = 16 * 1024 * 1024, DIRECTORY_LIMIT = 100000 };

static const char *temporary_directory(struct arena *arena)
{
    static const char *const names[] = {"TMPDIR", "TEMP", "TMP"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const char *value = os_env_get(arena, NULL, OS_ENV_PROCESS, names[i]);
        if (value != NULL && os_path_is_absolute(value)) {
            return value;
        }
    }
    return os_path_separator == '/' ? "/tmp" : "C:\\";
}

struct scratch scratch_make(void)
{
    struct scratch scratch = {0};
    uint64_t random;
    os_secure_random(&random, sizeof random);
    char *name = arena_printf(&scratch.arena, "cudnnd-test-%016" PRIx64, random);
    char *path = os_path_join(&scratch.arena, temporary_directory(&scratch.arena), name);
    assert_int_equal(os_dir_make(path, NULL), 0);
    assert_int_equal(os_path_resolve(&scratch.arena, NULL, path, &scratch.path, NULL), 0);
    return scratch;
}

/* Best effort: on Windows rmdir() takes the code page's names, others stay behind. */
static void remove_tree(struct arena *arena, const char *path)
{
    struct os_dir_list list;
    if (os_dir_read(arena, path, DIRECTORY_LIMIT, &list, NULL) != 0) {
        return;
    }
    for (size_t i = 0; i < list.count; i++) {
        char *entry = os_path_join(arena, path, list.entries[i].name);
        if (list.entries[i].type == OS_FILE_DIRECTORY) {
            remove_tree(arena, entry);
        } else {
            os_file_remove(entry, NULL);
        }
    }
    rmdir(path);
}

void scratch_done(struct scratch *scratch)
{
    remove_tree(&scratch->arena, scratch->path);
    arena_done(&scratch->arena);
}

char *scratch_path(struct scratch *scratch, const char *name)
{
    char *path = os_path_join(&scratch->arena, scratch->path, name);
    for (char *at = path + strlen(scratch->path); *at != '\0'; at++) {
        *at = *at == '/' ? os_path_separator : *at;
    }
    return path;
}

char *scratch_write(struct scratch *scratch, const char *name, const char *text)
{
    char *path = scratch_path(scratch, name);
    assert_int_equal(os_dir_make(os_path_parent(&scratch->arena, path), NULL), 0);
    assert_int_equal(os_file_write(path, text, strlen(text), false, NULL), 0);
    return path;
}

char *scratch_directory(struct scratch *scratch, const char *name)
{
    char *path = scratch_path(scratch, name);
    assert_int_equal(os_dir_make(path, NULL), 0);
    return path;
}

char *scratch_read(struct scratch *scratch, const char *name)
{
    char *text;
    size_t size;
    const char *path = scratch_path(scratch, name);
    assert_int_equal(os_file_read(&scratch->arena, path, READ_LIMIT, &text, &size, NULL), 0);
    return text;
}

size_t scratch_count(struct scratch *scratch, const char *name)
{
    struct os_dir_list list;
    const char *path = scratch_path(scratch, name);
    assert_int_equal(os_dir_read(&scratch->arena, path, DIRECTORY_LIMIT, &list, NULL), 0);
    return list.count;
}
