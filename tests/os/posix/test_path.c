#include "tests/test.h"

#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "os/path.h"
#include "os/posix/mounts.h"
#include "tests/os/scratch.h"

static void make_link(struct scratch *scratch, const char *target, const char *name)
{
    assert_int_equal(symlink(target, scratch_path(scratch, name)), 0);
}

/* The path inside the scratch directory as the root; NULL and the code when it has none. */
static const char *resolve(struct scratch *scratch, const char *path, int *out_code)
{
    char *resolved = NULL;
    struct err err = {0};
    *out_code = os_path_resolve(&scratch->arena, scratch->path, path, &resolved, &err);
    assert_int_equal(err.code, *out_code);
    return resolved;
}

static void check_resolved(struct scratch *scratch, const char *path, const char *expected)
{
    int code;
    const char *resolved = resolve(scratch, path, &code);
    assert_int_equal(code, 0);
    assert_string_equal(resolved, expected);
}

static void check_refused(struct scratch *scratch, const char *path, int expected)
{
    int code;
    assert_null(resolve(scratch, path, &code));
    assert_int_equal(code, expected);
}

static void absolute_links_stay_inside_the_root(void **state)
{
    (void)state;
    CLEANUP(scratch_done) struct scratch scratch = scratch_make();
    scratch_write(&scratch, "usr/lib/libcudnn.so.9.1.0", "x");
    make_link(&scratch, "/usr/lib", "lib");
    make_link(&scratch, "/usr/lib/libcudnn.so.9.1.0", "usr/lib/libcudnn.so.9");
    make_link(&scratch, "libcudnn.so.9", "usr/lib/libcudnn.so");
    check_resolved(&scratch, "/lib/libcudnn.so", "/usr/lib/libcudnn.so.9.1.0");
    check_resolved(&scratch, "lib//./", "/usr/lib");
}

static void nothing_leads_out_of_the_root(void **state)
{
    (void)state;
    CLEANUP(scratch_done) struct scratch scratch = scratch_make();
    scratch_write(&scratch, "etc/inside", "x");
    make_link(&scratch, "../../../../../../../../etc", "up");
    make_link(&scratch, "/etc", "absolute");
    check_resolved(&scratch, "/../../etc/inside", "/etc/inside");
    check_resolved(&scratch, "/up/inside", "/etc/inside");
    check_resolved(&scratch, "/absolute/../../..", "/");
    check_refused(&scratch, "/up/passwd", ERR_NOT_FOUND);
    check_refused(&scratch, "/absolute/passwd", ERR_NOT_FOUND);
}

static void a_link_loop_is_a_limit(void **state)
{
    (void)state;
    CLEANUP(scratch_done) struct scratch scratch = scratch_make();
    make_link(&scratch, "b", "a");
    make_link(&scratch, "a", "b");
    make_link(&scratch, "self/x", "self");
    check_refused(&scratch, "/a", ERR_LIMIT);
    check_refused(&scratch, "/self", ERR_LIMIT);
    char *resolved;
    const char *path = scratch_path(&scratch, "a");
    assert_int_equal(os_path_resolve(&scratch.arena, NULL, path, &resolved, NULL), ERR_LIMIT);
}

static void forty_links_are_followed_and_no_more(void **state)
{
    (void)state;
    CLEANUP(scratch_done) struct scratch scratch = scratch_make();
    scratch_write(&scratch, "0", "x");
    for (int i = 1; i <= 41; i++) {
        char *target = arena_printf(&scratch.arena, "%d", i - 1);
        make_link(&scratch, target, arena_printf(&scratch.arena, "%d", i));
    }
    check_resolved(&scratch, "/40", "/0");
    check_refused(&scratch, "/41", ERR_LIMIT);
}

static void a_file_is_not_walked_through(void **state)
{
    (void)state;
    CLEANUP(scratch_done) struct scratch scratch = scratch_make();
    scratch_write(&scratch, "file", "x");
    check_resolved(&scratch, "/file", "/file");
    check_refused(&scratch, "/file/", ERR_NOT_FOUND);
    check_refused(&scratch, "/file/..", ERR_NOT_FOUND);
    check_refused(&scratch, "/missing/..", ERR_NOT_FOUND);
}

static void a_name_that_is_not_utf8_is_kept(void **state)
{
    (void)state;
    CLEANUP(scratch_done) struct scratch scratch = scratch_make();
    scratch_write(&scratch, "caf\xE9\xFF/file", "x");
    check_resolved(&scratch, "/caf\xE9\xFF/file", "/caf\xE9\xFF/file");
    char *resolved;
    const char *path = scratch_path(&scratch, "caf\xE9\xFF/file");
    assert_int_equal(os_path_resolve(&scratch.arena, NULL, path, &resolved, NULL), 0);
    assert_string_equal(resolved, path);
}

static void a_path_is_put_into_its_root(void **state)
{
    (void)state;
    CLEANUP(arena_done) struct arena arena = {0};
    assert_string_equal(os_path_in_root(&arena, NULL, "/a/../b"), "/a/../b");
    assert_string_equal(os_path_in_root(&arena, "/srv/root/", "/a/b"), "/srv/root/a/b");
    assert_string_equal(os_path_in_root(&arena, "/srv/root", "../../a/./b//"), "/srv/root/a/b");
    assert_string_equal(os_path_in_root(&arena, "/", "/a"), "/a");
}

static void a_path_that_climbs_is_not_below(void **state)
{
    (void)state;
    assert_false(os_path_is_below("/usr/lib/../../etc", "/usr/lib"));
    assert_true(os_path_is_below("/usr//lib/x/", "/usr/lib/"));
    assert_true(os_path_is_below("/anything", "/"));
    assert_false(os_path_is_below("anything", "/"));
    assert_true(os_path_equal("/usr/lib/", "/usr//lib"));
    assert_false(os_path_equal("/usr/Lib", "/usr/lib"));
}

static void a_line_of_the_mount_table_is_read(void **state)
{
    (void)state;
    CLEANUP(arena_done) struct arena arena = {0};
    struct posix_mount mount;
    const char *line = "36 35 98:0 /a\\040b /mnt/two\\040words\\134 rw,noatime master:1 "
                       "propagate_from:2 - fuse.sshfs host:/dir rw,user_id=1000,group_id=4\n";
    assert_true(posix_mount_parse(&arena, line, &mount));
    assert_string_equal(mount.point, "/mnt/two words\\");
    assert_string_equal(mount.type, "fuse.sshfs");
    assert_string_equal(mount.options, "rw,user_id=1000,group_id=4");
    static const char *const bad[] = {"", "\n", "36 35", "36 35 98:0 / /mnt rw", "1 2 3 4 5 - x"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        assert_false(posix_mount_parse(&arena, bad[i], &mount));
    }
}

static void mounts_that_may_hang_are_known_by_type(void **state)
{
    (void)state;
    static const char *const remote[] = {"nfs",        "nfs4", "cifs", "smb3",   "autofs",
                                         "fuse.sshfs", "fuse", "ceph", "lustre", "9p"};
    static const char *const local[] = {"ext4",    "xfs", "btrfs", "tmpfs", "overlay",
                                        "fuseblk", "zfs", "proc",  "nfsd"};
    for (size_t i = 0; i < sizeof remote / sizeof *remote; i++) {
        struct posix_mount mount = {"/mnt", remote[i], ""};
        assert_true(posix_mount_is_remote(&mount));
        mount.point = "/";
        assert_false(posix_mount_is_remote(&mount));
    }
    for (size_t i = 0; i < sizeof local / sizeof *local; i++) {
        struct posix_mount mount = {"/mnt", local[i], ""};
        assert_false(posix_mount_is_remote(&mount));
    }
}

static void the_mount_of_a_path_is_the_longest_one(void **state)
{
    (void)state;
    CLEANUP(arena_done) struct arena arena = {0};
    struct posix_mount mount;
    assert_true(posix_mount_of(&arena, "/proc/self", &mount));
    assert_string_equal(mount.type, "proc");
    assert_string_equal(mount.point, "/proc");
    if (posix_mount_of(&arena, "/procfile", &mount)) { /* in a chroot "/" may be no mount point */
        assert_string_not_equal(mount.point, "/proc");
    }
    assert_false(os_path_is_network("relative/path"));
}

RUN_TESTS(cmocka_unit_test(absolute_links_stay_inside_the_root),
          cmocka_unit_test(nothing_leads_out_of_the_root), cmocka_unit_test(a_link_loop_is_a_limit),
          cmocka_unit_test(forty_links_are_followed_and_no_more),
          cmocka_unit_test(a_file_is_not_walked_through),
          cmocka_unit_test(a_name_that_is_not_utf8_is_kept),
          cmocka_unit_test(a_path_is_put_into_its_root),
          cmocka_unit_test(a_path_that_climbs_is_not_below),
          cmocka_unit_test(a_line_of_the_mount_table_is_read),
          cmocka_unit_test(mounts_that_may_hang_are_known_by_type),
          cmocka_unit_test(the_mount_of_a_path_is_the_longest_one))
