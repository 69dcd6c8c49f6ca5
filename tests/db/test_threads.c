/* One writer, several readers, and threads that ask whether the store is writable, at once.
   Each reader sees whole scans only. Meant to run under ThreadSanitizer too. */
#include "tests/test.h"

#include <pthread.h>
#include <stdatomic.h>

#include "tests/db/fixture.h"

enum { SCANS = 300, READERS = 3, CHECKERS = 2 };

struct shared {
    struct fixture *fixture;
    struct db *db;
    atomic_bool done;
    atomic_int reads, checks, wrong;
};

/* Installs and findings of a scan are as many: a mixture of two scans would show. */
static struct snapshot *paired(struct arena *arena, int64_t id)
{
    struct snapshot *snapshot = fixture_snapshot(arena, id);
    snapshot->inventory.install_count = snapshot->finding_count = (size_t)(id % 3 + 1);
    return snapshot;
}

static bool read_once(struct db_reader *reader)
{
    struct json *at = NULL, *findings = NULL, *scans = NULL;
    struct db_finding_filter filter = {.limit = 100, .state = "active"};
    bool good = db_snapshot_at_to_json(reader, INT64_MAX, &at, NULL) == 0 &&
                db_findings_to_json(reader, &filter, &findings, NULL) == 0 &&
                db_scans_to_json(reader, 10, 0, &scans, NULL) == 0;
    good = good && json_count(json_get(at, "installs")) == json_count(json_get(at, "findings"));
    json_free(at);
    json_free(findings);
    json_free(scans);
    return good;
}

static void *read_on(void *context)
{
    struct shared *shared = context;
    struct db_reader *reader = NULL;
    if (db_reader_open(shared->fixture->path, &reader, NULL) != 0) {
        atomic_fetch_add(&shared->wrong, 1);
        return NULL;
    }
    while (!atomic_load(&shared->done)) {
        atomic_fetch_add(&shared->wrong, read_once(reader) ? 0 : 1);
        atomic_fetch_add(&shared->reads, 1);
    }
    db_reader_close(reader);
    return NULL;
}

static void *check_on(void *context)
{
    struct shared *shared = context;
    while (!atomic_load(&shared->done)) {
        struct db_stats stats;
        struct err err;
        atomic_fetch_add(&shared->wrong, db_check_writable(shared->db, &err) == 0 ? 0 : 1);
        db_stats(shared->db, &stats);
        atomic_fetch_add(&shared->checks, 1);
    }
    return NULL;
}

static void readers_and_checks_do_not_disturb_the_writer(void **state)
{
    struct fixture *fixture = *state;
    struct shared shared = {.fixture = fixture, .db = fixture_open(fixture, NULL)};
    pthread_t threads[READERS + CHECKERS];
    struct arena arena = {0};
    struct err err = {0};
    assert_int_equal(db_store_snapshot(shared.db, paired(&arena, 1), &err), 0);
    for (int i = 0; i < READERS + CHECKERS; i++) {
        assert_int_equal(
            pthread_create(&threads[i], NULL, i < READERS ? read_on : check_on, &shared), 0);
    }
    for (int64_t id = 2; id <= SCANS; id++) {
        if (db_store_snapshot(shared.db, paired(&arena, id), &err) != 0) {
            fail_msg("scan %d: %s", (int)id, err.message);
        }
        if (id % 50 == 0) {
            assert_int_equal(db_prune(shared.db, fixture_finished_ms(id - 40), NULL, &err), 0);
        }
        arena_done(&arena);
    }
    atomic_store(&shared.done, true);
    for (int i = 0; i < READERS + CHECKERS; i++) {
        pthread_join(threads[i], NULL);
    }
    struct db_stats stats;
    db_stats(shared.db, &stats);
    print_message("%d reads, %d checks, log %llu bytes\n", atomic_load(&shared.reads),
                  atomic_load(&shared.checks), (unsigned long long)stats.wal_bytes);
    assert_int_equal(atomic_load(&shared.wrong), 0);
    assert_true(atomic_load(&shared.reads) > 0);
    assert_true(atomic_load(&shared.checks) > 0);
    db_close(shared.db);
}

/* Two processes that start at once are like two threads that open at once. */
static void *open_one(void *context)
{
    struct fixture *fixture = context;
    struct arena arena = {0};
    struct db *db = NULL;
    struct db_opened opened;
    struct err err = {0};
    int code = db_open(&arena, fixture->path, &db, &opened, &err);
    if (code != 0) {
        print_error("%s\n", err.message);
    } else if (opened.set_aside != NULL) {
        print_error("set aside: %s\n", opened.damage);
        code = ERR_CORRUPT;
    }
    db_close(db);
    arena_done(&arena);
    return (void *)(intptr_t)code;
}

static void several_open_a_new_store_at_once(void **state)
{
    enum { ROUNDS = 30, THREADS = 4 };
    struct fixture *fixture = *state;
    for (int round = 0; round < ROUNDS; round++) {
        pthread_t threads[THREADS];
        fixture_empty_directory(fixture->directory);
        for (int i = 0; i < THREADS; i++) {
            assert_int_equal(pthread_create(&threads[i], NULL, open_one, fixture), 0);
        }
        for (int i = 0; i < THREADS; i++) {
            void *result = NULL;
            pthread_join(threads[i], &result);
            assert_int_equal((intptr_t)result, 0);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, fixture_setup, fixture_teardown)
        TEST(readers_and_checks_do_not_disturb_the_writer),
        TEST(several_open_a_new_store_at_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
