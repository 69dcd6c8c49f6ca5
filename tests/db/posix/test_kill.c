/* kill -9 at any moment: what was acknowledged is there afterwards, and the store opens. A child
   stores scans as fast as it can and writes each stored id to a pipe. */
#include "tests/test.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "db/connection.h"
#include "os/clock.h"
#include "os/secure.h"
#include "tests/db/fixture.h"

enum { ROUNDS = 100, LONGEST_MS = 60 };

static struct snapshot *changing_snapshot(struct arena *arena, int64_t id)
{
    struct snapshot *snapshot = fixture_snapshot(arena, id);
    snapshot->inventory.install_count = (size_t)(id % 3 + 1);
    snapshot->finding_count = (size_t)(id % 2 + 2);
    return snapshot;
}

/* Runs in the child, until it is killed. No cmocka here. */
_Noreturn static void store_for_ever(const char *path, int pipe_end)
{
    struct arena arena = {0};
    struct db *db = NULL;
    struct db_opened opened;
    if (db_open(&arena, path, &db, &opened, NULL) != 0) {
        _exit(1);
    }
    for (int64_t id = opened.last_scan_id + 1;; id++) {
        struct arena one = {0};
        if (db_store_snapshot(db, changing_snapshot(&one, id), NULL) != 0 ||
            (id % 16 == 0 && db_prune(db, fixture_finished_ms(id - 50), NULL, NULL) != 0)) {
            _exit(2);
        }
        arena_done(&one);
        if (write(pipe_end, &id, sizeof id) != sizeof id) {
            _exit(3);
        }
    }
}

/* Lets a child work for a random while, kills it, returns the last id it acknowledged (0: none). */
static int64_t one_life(const char *path)
{
    int ends[2];
    uint32_t random;
    os_secure_random(&random, sizeof random);
    assert_int_equal(pipe(ends), 0);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        close(ends[0]);
        store_for_ever(path, ends[1]);
    }
    close(ends[1]);
    os_clock_sleep_ms(random % LONGEST_MS);
    kill(child, SIGKILL);
    int status = 0;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFSIGNALED(status));
    int64_t id = 0, last = 0;
    while (read(ends[0], &id, sizeof id) == sizeof id) {
        last = id;
    }
    close(ends[0]);
    return last;
}

static void killed_at_any_moment_keeps_what_was_acknowledged(void **state)
{
    struct fixture *fixture = *state;
    int64_t last = 0;
    for (int round = 0; round < ROUNDS; round++) {
        int64_t acknowledged = one_life(fixture->path);
        last = acknowledged > 0 ? acknowledged : last;
        struct arena arena = {0};
        struct fixture one = {.path = fixture->path};
        struct db_opened opened;
        struct db *db = fixture_open(&one, &opened);
        assert_null(opened.set_aside);
        assert_true(opened.last_scan_id >= last && opened.last_scan_id <= last + 2);
        int64_t rows = 0;
        assert_int_equal(connection_read_int(&db->connection,
                                             "SELECT count(*) = max(id) - min(id) + 1 FROM scan",
                                             &rows, NULL),
                         0);
        assert_int_equal(rows, last > 0 || opened.last_scan_id > 0);
        struct db_reader *reader = fixture_reader(fixture);
        if (last > 0) {
            struct json *at = NULL;
            assert_int_equal(db_snapshot_at_to_json(reader, fixture_finished_ms(last), &at, NULL),
                             0);
            struct snapshot *snapshot = changing_snapshot(&arena, last);
            assert_int_equal(json_count(json_get(at, "installs")),
                             snapshot->inventory.install_count);
            assert_int_equal(json_count(json_get(at, "findings")), snapshot->finding_count);
            json_free(at);
        }
        db_reader_close(reader);
        db_close(db);
        arena_done(&one.arena);
        arena_done(&arena);
    }
    print_message("%d scans survived %d kills\n", (int)last, ROUNDS);
    assert_true(last > 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(killed_at_any_moment_keeps_what_was_acknowledged,
                                        fixture_setup, fixture_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
