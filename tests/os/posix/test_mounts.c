#include "os/posix/mounts.h"

#include "tests/os/scratch.h"
#include "tests/test.h"

#include <sched.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

static bool is_of_type(const char *path, const char *type)
{
    struct arena arena = {0};
    struct posix_mount mount;
    bool same = posix_mount_of(&arena, path, &mount) && strcmp(mount.type, type) == 0;
    arena_done(&arena);
    return same;
}

enum { CHILD_OK, CHILD_NO_NAMESPACE, CHILD_WRONG_BEFORE, CHILD_WRONG_AFTER, CHILD_WRONG_AT_END };

/* Mounts and unmounts in a mount namespace of its own, asking each time. */
static int mount_and_ask(const char *directory)
{
    if ((unshare(CLONE_NEWNS) != 0 && unshare(CLONE_NEWUSER | CLONE_NEWNS) != 0) ||
        mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0) {
        return CHILD_NO_NAMESPACE;
    }
    if (is_of_type(directory, "ramfs")) {
        return CHILD_WRONG_BEFORE;
    }
    if (mount("ramfs", directory, "ramfs", 0, NULL) != 0) {
        return CHILD_NO_NAMESPACE;
    }
    if (!is_of_type(directory, "ramfs")) {
        return CHILD_WRONG_AFTER;
    }
    umount(directory);
    return is_of_type(directory, "ramfs") ? CHILD_WRONG_AT_END : CHILD_OK;
}

static void what_is_mounted_meanwhile_is_seen(void **state)
{
    struct scratch scratch = scratch_make();
    int status = 0;
    (void)state;
    pid_t child = fork();
    if (child == 0) {
        _exit(mount_and_ask(scratch.path));
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    scratch_done(&scratch);
    assert_true(WIFEXITED(status));
    if (WEXITSTATUS(status) == CHILD_NO_NAMESPACE) {
        skip(); /* no mount namespace may be made here */
    }
    assert_int_equal(WEXITSTATUS(status), CHILD_OK);
}

RUN_TESTS(cmocka_unit_test(what_is_mounted_meanwhile_is_seen))
