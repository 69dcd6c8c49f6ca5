/* What the system refuses: files and directories that cannot be written, files that may not grow.
   In children, since rights and limits cannot be taken back. */
#include "tests/test.h"

#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "os/file.h"
#include "tests/db/fixture.h"

typedef int child_work(struct fixture *fixture, struct err *err);

struct answer {
    int code;
    struct err err;
};

/* What the work answers in a child that is nobody. */
static struct answer as_nobody(struct fixture *fixture, child_work *work)
{
    enum { NOBODY = 65534 };
    int ends[2];
    struct answer answer = {0};
    assert_int_equal(pipe(ends), 0);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        if (getuid() == 0 && (setgid(NOBODY) != 0 || setuid(NOBODY) != 0)) {
            _exit(9);
        }
        answer.code = work(fixture, &answer.err);
        _exit(write(ends[1], &answer, sizeof answer) == sizeof answer ? 0 : 8);
    }
    close(ends[1]);
    assert_int_equal(read(ends[0], &answer, sizeof answer), sizeof answer);
    close(ends[0]);
    int status = 0;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    return answer;
}

static int only_open(struct fixture *fixture, struct err *err)
{
    struct db *db = NULL;
    struct db_opened opened;
    int code = db_open(&fixture->arena, fixture->path, &db, &opened, err);
    db_close(db);
    return code;
}

static void assert_permission(struct fixture *fixture)
{
    struct answer answer = as_nobody(fixture, only_open);
    if (answer.code != ERR_PERMISSION || strstr(answer.err.message, "let the account") == NULL ||
        strstr(answer.err.message, fixture->path) == NULL) {
        fail_msg("%d %s", answer.code, answer.err.message);
    }
}

static void a_directory_that_cannot_be_written_is_named(void **state)
{
    struct fixture *fixture = *state;
    assert_int_equal(chmod(fixture->directory, 0555), 0);
    assert_permission(fixture);
    assert_false(fixture_exists(fixture->path));
    /* With a store in it that was closed well. */
    assert_int_equal(chmod(fixture->directory, 0755), 0);
    db_close(fixture_open(fixture, NULL));
    assert_int_equal(chmod(fixture->path, 0666), 0);
    assert_int_equal(chmod(fixture->directory, 0555), 0);
    assert_permission(fixture);
    assert_int_equal(chmod(fixture->directory, 0755), 0);
}

static void a_file_that_cannot_be_written_is_named(void **state)
{
    struct fixture *fixture = *state;
    struct db *db = fixture_open(fixture, NULL);
    fixture_store(fixture, db, 1);
    db_close(db);
    assert_int_equal(chmod(fixture->directory, 0777), 0);
    assert_int_equal(chmod(fixture->path, 0444), 0);
    assert_permission(fixture);
    struct os_dir_list list;
    assert_int_equal(os_dir_read(&fixture->arena, fixture->directory, 10, &list, NULL), 0);
    assert_int_equal(list.count, 1); /* nothing set aside, nothing left behind */
}

static void a_file_that_cannot_be_read_is_named(void **state)
{
    struct fixture *fixture = *state;
    db_close(fixture_open(fixture, NULL));
    assert_int_equal(chmod(fixture->directory, 0777), 0);
    assert_int_equal(chmod(fixture->path, 0), 0);
    assert_permission(fixture);
}

static void a_damaged_file_that_cannot_be_moved_is_named(void **state)
{
    struct fixture *fixture = *state;
    fixture_write(fixture->path, "rubbish", 7);
    assert_int_equal(chmod(fixture->path, 0666), 0);
    assert_int_equal(chmod(fixture->directory, 0555), 0);
    struct answer answer = as_nobody(fixture, only_open);
    assert_int_equal(answer.code, ERR_PERMISSION);
    assert_non_null(strstr(answer.err.message, "cannot be set aside"));
    assert_int_equal(chmod(fixture->directory, 0755), 0);
    size_t size;
    assert_memory_equal(fixture_bytes(&fixture->arena, fixture->path, &size), "rubbish", 7);
}

static void a_pipe_in_its_place_does_not_block(void **state)
{
    struct fixture *fixture = *state;
    assert_int_equal(mkfifo(fixture->path, 0666), 0);
    struct answer answer = as_nobody(fixture, only_open);
    assert_int_equal(answer.code, ERR_EXISTS);
    assert_non_null(strstr(answer.err.message, "not a regular file"));
    struct db_reader *reader = NULL;
    assert_int_equal(db_reader_open(fixture->path, &reader, NULL), ERR_EXISTS);
}

/* Files may not grow beyond `bytes`: opens, stores until that fails, closes. */
static rlim_t size_limit;

static int store_within_limit(struct fixture *fixture, struct err *err)
{
    struct rlimit limit = {size_limit, size_limit};
    struct db *db = NULL;
    struct db_opened opened;
    signal(SIGXFSZ, SIG_IGN);
    if (setrlimit(RLIMIT_FSIZE, &limit) != 0) {
        return ERR_INTERNAL;
    }
    int code = db_open(&fixture->arena, fixture->path, &db, &opened, err);
    if (code == 0 && opened.set_aside != NULL) {
        code = ERR_CORRUPT;
    }
    for (int64_t id = code == 0 ? opened.last_scan_id + 1 : 0; code == 0 && id < 10000; id++) {
        struct snapshot *snapshot = fixture_snapshot(&fixture->arena, id);
        snapshot->host.boot_id = arena_printf(&fixture->arena, "boot-%d", (int)id);
        code = db_store_snapshot(db, snapshot, err);
    }
    db_close(db);
    return code;
}

static void files_that_may_not_grow_lose_nothing(void **state)
{
    struct fixture *fixture = *state;
    assert_int_equal(chmod(fixture->directory, 0777), 0);
    int64_t last = 0;
    for (size_limit = 1000; size_limit < 700000; size_limit += size_limit / 3 + 777) {
        struct answer answer = as_nobody(fixture, store_within_limit);
        if (answer.code != ERR_IO && answer.code != ERR_LIMIT && answer.code != ERR_PERMISSION) {
            fail_msg("%s at %d: %s", err_name(answer.code), (int)size_limit, answer.err.message);
        }
        struct db_opened opened;
        db_close(fixture_open(fixture, &opened));
        assert_null(opened.set_aside);
        assert_true(opened.last_scan_id >= last);
        last = opened.last_scan_id;
        assert_int_equal(chmod(fixture->path, 0666), 0);
    }
    assert_true(last > 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, fixture_setup, fixture_teardown)
        TEST(a_directory_that_cannot_be_written_is_named),
        TEST(a_file_that_cannot_be_written_is_named),
        TEST(a_file_that_cannot_be_read_is_named),
        TEST(a_damaged_file_that_cannot_be_moved_is_named),
        TEST(a_pipe_in_its_place_does_not_block),
        TEST(files_that_may_not_grow_lose_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
