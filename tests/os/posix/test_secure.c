#include "tests/test.h"

#include <errno.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/text.h"
#include "os/file.h"
#include "os/path.h"
#include "os/secure.h"
#include "tests/os/scratch.h"

enum { STRANGER = 12345, NOBODY = 65534 };

static bool is_trusted(struct scratch *scratch, const char *path, const char *expected_reason)
{
    const char *reason = "";
    bool trusted = os_secure_is_trusted(&scratch->arena, path, &reason);
    if (!trusted && (expected_reason == NULL || strstr(reason, expected_reason) == NULL)) {
        fail_msg("unexpected reason: %s", reason);
    }
    return trusted;
}

static void set_mode(const char *path, mode_t mode)
{
    assert_int_equal(chmod(path, mode), 0);
}

static void need_root(void)
{
    if (geteuid() != 0) {
        print_message("only root can give files away\n");
        skip();
    }
}

static void own_closed_directories_and_files_are_trusted(void **state)
{
    (void)state;
    CLEANUP(scratch_done) struct scratch scratch = scratch_make();
    const char *file = scratch_write(&scratch, "lib/libcudnn.so.9", "x");
    assert_true(is_trusted(&scratch, file, NULL));
    assert_true(is_trusted(&scratch, scratch_path(&scratch, "lib"), NULL));
    assert_true(is_trusted(&scratch, "/usr/lib", NULL));
}

static void what_others_can_write_to_is_not_trusted(void **state)
{
    (void)state;
    CLEANUP(scratch_done) struct scratch scratch = scratch_make();
    const char *file = scratch_write(&scratch, "a/b/libcudnn.so.9", "x");
    set_mode(file, 0666);
    assert_false(is_trusted(&scratch, file, "everybody can write to"));
    set_mode(file, 0664);
    assert_false(is_trusted(&scratch, file, "group"));
    set_mode(file, 0644);
    set_mode(scratch_path(&scratch, "a"), 0775);
    assert_false(is_trusted(&scratch, file, scratch_path(&scratch, "a")));
    set_mode(scratch_path(&scratch, "a"), 0755);
    assert_true(is_trusted(&scratch, file, NULL));
}

static void a_sticky_directory_protects_what_is_ours_below_it(void **state)
{
    (void)state;
    CLEANUP(scratch_done) struct scratch scratch = scratch_make();
    const char *deep = scratch_write(&scratch, "tmp/own/libcudnn.so.9", "x");
    const char *flat = scratch_write(&scratch, "tmp/libcudnn.so.9", "x");
    set_mode(scratch_path(&scratch, "tmp"), 01777);
    assert_true(is_trusted(&scratch, deep, NULL));
    /* its siblings could be planted beside it */
    assert_false(is_trusted(&scratch, flat, "everybody can write to"));
    assert_false(is_trusted(&scratch, scratch_path(&scratch, "tmp"), "everybody"));
}

static void what_belongs_to_somebody_else_is_not_trusted(void **state)
{
    (void)state;
    need_root();
    CLEANUP(scratch_done) struct scratch scratch = scratch_make();
    const char *file = scratch_write(&scratch, "home/lib/libcudnn.so.9", "x");
    assert_int_equal(chown(scratch_path(&scratch, "home"), STRANGER, STRANGER), 0);
    assert_false(is_trusted(&scratch, file, "belongs to user 12345"));
}

static void a_link_is_not_a_canonical_path(void **state)
{
    (void)state;
    CLEANUP(scratch_done) struct scratch scratch = scratch_make();
    scratch_write(&scratch, "lib/libcudnn.so.9", "x");
    assert_int_equal(symlink("lib", scratch_path(&scratch, "link")), 0);
    const char *path = scratch_path(&scratch, "link/libcudnn.so.9");
    assert_false(is_trusted(&scratch, path, "neither a file nor a directory"));
    assert_false(is_trusted(&scratch, "relative", "not an absolute path"));
}

static void put16(unsigned char **at, unsigned value)
{
    *(*at)++ = (unsigned char)value;
    *(*at)++ = (unsigned char)(value >> 8);
}

static void put_entry(unsigned char **at, unsigned tag, unsigned permissions, uint32_t id)
{
    put16(at, tag);
    put16(at, permissions);
    put16(at, id & 0xFFFF);
    put16(at, id >> 16);
}

/* owner rwx, USER (or GROUP) with some permissions, group r-x, a mask, others r-x */
static void set_acl(const char *path, bool group, uint32_t id, unsigned permissions, unsigned mask)
{
    unsigned char acl[64];
    unsigned char *at = acl;
    put16(&at, 2);
    put16(&at, 0);
    put_entry(&at, 0x01, 7, UINT32_MAX);
    if (!group) {
        put_entry(&at, 0x02, permissions, id);
    }
    put_entry(&at, 0x04, 5, UINT32_MAX);
    if (group) {
        put_entry(&at, 0x08, permissions, id);
    }
    put_entry(&at, 0x10, mask, UINT32_MAX);
    put_entry(&at, 0x20, 5, UINT32_MAX);
    if (setxattr(path, "system.posix_acl_access", acl, (size_t)(at - acl), 0) != 0) {
        assert_int_equal(errno, EOPNOTSUPP);
        print_message("no access lists on this file system\n");
        skip();
    }
}

static void an_access_list_that_grants_write_is_not_trusted(void **state)
{
    (void)state;
    CLEANUP(scratch_done) struct scratch scratch = scratch_make();
    const char *path = scratch_directory(&scratch, "lib");
    set_acl(path, false, STRANGER, 7, 7);
    assert_false(is_trusted(&scratch, path, "user 12345, by its access list"));
    set_acl(path, true, STRANGER, 6, 7);
    assert_false(is_trusted(&scratch, path, "group 12345, by its access list"));
}

static void an_access_list_without_effect_does_not_matter(void **state)
{
    (void)state;
    CLEANUP(scratch_done) struct scratch scratch = scratch_make();
    const char *path = scratch_directory(&scratch, "lib");
    set_acl(path, false, STRANGER, 7, 5); /* masked */
    assert_true(is_trusted(&scratch, path, NULL));
    set_acl(path, false, STRANGER, 5, 7); /* read only */
    assert_true(is_trusted(&scratch, path, NULL));
    set_acl(path, false, 0, 7, 7); /* root may anyway */
    assert_true(is_trusted(&scratch, path, NULL));
}

static int check_as_nobody(struct scratch *scratch, const char *path)
{
    if (setresgid(NOBODY, NOBODY, NOBODY) != 0 || setresuid(NOBODY, NOBODY, NOBODY) != 0) {
        return 10;
    }
    const char *reason;
    if (os_secure_is_administrator()) {
        return 11;
    }
    if (!os_secure_is_trusted(&scratch->arena, path, &reason)) {
        return 12; /* its own */
    }
    if (!os_secure_is_trusted(&scratch->arena, "/usr/lib", &reason)) {
        return 13; /* root's */
    }
    const char *closed = os_path_join(&scratch->arena, os_path_parent(&scratch->arena, path),
                                      "closed/libcudnn.so.9");
    return os_secure_is_trusted(&scratch->arena, closed, &reason) ? 14 : 0;
}

static void an_ordinary_user_trusts_itself_and_root(void **state)
{
    (void)state;
    need_root();
    assert_true(os_secure_is_administrator());
    CLEANUP(scratch_done) struct scratch scratch = scratch_make();
    const char *path = scratch_directory(&scratch, "own");
    scratch_write(&scratch, "closed/libcudnn.so.9", "x");
    set_mode(scratch_path(&scratch, "closed"), 0700);
    assert_int_equal(chown(path, NOBODY, NOBODY), 0);
    pid_t child = fork();
    if (child == 0) {
        _exit(check_as_nobody(&scratch, path));
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(WEXITSTATUS(status), 0);
}

static mode_t mode_of(const char *path)
{
    struct stat status;
    assert_int_equal(stat(path, &status), 0);
    return status.st_mode & 07777;
}

static void a_new_directory_of_our_own_is_ours_alone(void **state)
{
    (void)state;
    CLEANUP(scratch_done) struct scratch scratch = scratch_make();
    const char *path = scratch_path(&scratch, "own");
    mode_t kept = umask(0);
    int code = os_secure_directory(path, NULL);
    umask(kept);
    assert_int_equal(code, 0);
    assert_int_equal(mode_of(path), 0700);
}

static void an_open_directory_of_our_own_is_closed(void **state)
{
    (void)state;
    CLEANUP(scratch_done) struct scratch scratch = scratch_make();
    const char *path = scratch_directory(&scratch, "own");
    set_mode(path, 0777);
    assert_int_equal(os_secure_directory(path, NULL), 0);
    assert_int_equal(mode_of(path), 0755);
}

static void check_refused(const char *path, const char *expected)
{
    struct err err = {0};
    assert_int_equal(os_secure_directory(path, &err), ERR_PERMISSION);
    assert_non_null(strstr(err.message, expected));
}

static void a_link_is_no_directory_of_our_own(void **state)
{
    (void)state;
    CLEANUP(scratch_done) struct scratch scratch = scratch_make();
    scratch_directory(&scratch, "target");
    assert_int_equal(symlink("target", scratch_path(&scratch, "link")), 0);
    assert_int_equal(symlink("missing", scratch_path(&scratch, "dangling")), 0);
    check_refused(scratch_path(&scratch, "link"), "is a link or a file");
    check_refused(scratch_path(&scratch, "link/"), "is a link or a file");
    check_refused(scratch_path(&scratch, "dangling"), "is a link or a file");
    check_refused(scratch_write(&scratch, "file", ""), "is a link or a file");
}

static void a_strangers_directory_is_not_used(void **state)
{
    (void)state;
    need_root();
    CLEANUP(scratch_done) struct scratch scratch = scratch_make();
    const char *path = scratch_directory(&scratch, "own");
    assert_int_equal(chown(path, STRANGER, STRANGER), 0);
    check_refused(path, "belongs to user 12345");
}

RUN_TESTS(cmocka_unit_test(own_closed_directories_and_files_are_trusted),
          cmocka_unit_test(what_others_can_write_to_is_not_trusted),
          cmocka_unit_test(a_sticky_directory_protects_what_is_ours_below_it),
          cmocka_unit_test(what_belongs_to_somebody_else_is_not_trusted),
          cmocka_unit_test(a_link_is_not_a_canonical_path),
          cmocka_unit_test(an_access_list_that_grants_write_is_not_trusted),
          cmocka_unit_test(an_access_list_without_effect_does_not_matter),
          cmocka_unit_test(an_ordinary_user_trusts_itself_and_root),
          cmocka_unit_test(a_new_directory_of_our_own_is_ours_alone),
          cmocka_unit_test(an_open_directory_of_our_own_is_closed),
          cmocka_unit_test(a_link_is_no_directory_of_our_own),
          cmocka_unit_test(a_strangers_directory_is_not_used))
