/* What goes in comes out: snapshots, scans, findings, intervals, retention. */
#include "tests/test.h"

#include "base/text.h"
#include "db/connection.h"
#include "db/documents.h"
#include "tests/db/fixture.h"

static int64_t count(struct db *db, const char *sql)
{
    int64_t value = 0;
    assert_int_equal(connection_read_int(&db->connection, sql, &value, NULL), 0);
    return value;
}

static void store(struct db *db, struct snapshot *snapshot)
{
    struct err err = {0};
    if (db_store_snapshot(db, snapshot, &err) != 0) {
        fail_msg("db_store_snapshot: %s", err.message);
    }
}

/* The stored document at the scan's time is the snapshot's own, but for load_ms. */
static void assert_stored_as(struct db_reader *reader, struct snapshot *snapshot)
{
    struct json *stored = NULL;
    struct err err = {0};
    if (db_snapshot_at_to_json(reader, snapshot->finished_at_ms, &stored, &err) != 0) {
        fail_msg("db_snapshot_at_to_json: %s", err.message);
    }
    for (size_t i = 0; i < snapshot->inventory.install_count; i++) {
        snapshot->probes[i].load_ms = -1;
    }
    struct json *own = snapshot_to_json(snapshot);
    char *a = json_print(stored), *b = json_print(own);
    assert_string_equal(a, b);
    free(a);
    free(b);
    json_free(own);
    json_free(stored);
}

static struct json *finding(struct db_reader *reader, const char *id)
{
    struct json *object = NULL;
    struct err err = {0};
    if (db_finding_to_json(reader, id, &object, &err) != 0) {
        fail_msg("db_finding_to_json: %s", err.message);
    }
    return object;
}

static void assert_time(const struct json *object, const char *key, int64_t unix_ms)
{
    struct json *wanted = json_object();
    json_set_time(wanted, key, unix_ms);
    const char *text = json_as_text(json_get(object, key));
    const char *expected = json_as_text(json_get(wanted, key));
    if (!text_equal(text, expected)) {
        fail_msg("%s is %s, not %s", key, text == NULL ? "null" : text,
                 expected == NULL ? "null" : expected);
    }
    json_free(wanted);
}

static void a_snapshot_is_read_back_as_it_was(void **state)
{
    struct fixture *fixture = *state;
    struct db_opened opened;
    struct db *db = fixture_open(fixture, &opened);
    assert_true(opened.created);
    assert_null(opened.set_aside);
    assert_int_equal(opened.last_scan_id, 0);
    struct snapshot *snapshot = fixture_snapshot(&fixture->arena, 1);
    store(db, snapshot);
    assert_int_equal(snapshot->findings[0].first_seen_at_ms, snapshot->finished_at_ms);
    assert_int_equal(snapshot->findings[0].last_seen_at_ms, snapshot->finished_at_ms);
    struct db_reader *reader = fixture_reader(fixture);
    assert_stored_as(reader, snapshot);
    db_reader_close(reader);
    db_close(db);
    db = fixture_open(fixture, &opened);
    assert_false(opened.created);
    assert_int_equal(opened.last_scan_id, 1);
    reader = fixture_reader(fixture);
    assert_stored_as(reader, snapshot);
    db_reader_close(reader);
    db_close(db);
}

static void an_empty_machine_is_stored(void **state)
{
    struct fixture *fixture = *state;
    struct db *db = fixture_open(fixture, NULL);
    struct snapshot snapshot = {.scan_id = 1, .finished_at_ms = 5, .driver.status = DRIVER_MISSING};
    store(db, &snapshot);
    struct db_reader *reader = fixture_reader(fixture);
    assert_stored_as(reader, &snapshot);
    db_reader_close(reader);
    db_close(db);
}

static void an_unchanged_scan_adds_one_row(void **state)
{
    enum { SCANS = 2000 };
    struct fixture *fixture = *state;
    struct db *db = fixture_open(fixture, NULL);
    struct db_stats before, after;
    fixture_store(fixture, db, 1);
    sqlite3_wal_checkpoint_v2(db->connection.handle, "main", SQLITE_CHECKPOINT_TRUNCATE, NULL,
                              NULL);
    db_stats(db, &before);
    int64_t entities = count(db, "SELECT count(*) FROM entity");
    int64_t changes = sqlite3_total_changes(db->connection.handle);
    for (int64_t id = 2; id <= SCANS + 1; id++) {
        fixture_store(fixture, db, id);
    }
    assert_int_equal(sqlite3_total_changes(db->connection.handle) - changes, SCANS);
    sqlite3_wal_checkpoint_v2(db->connection.handle, "main", SQLITE_CHECKPOINT_TRUNCATE, NULL,
                              NULL);
    db_stats(db, &after);
    assert_int_equal(count(db, "SELECT count(*) FROM entity"), entities);
    assert_int_equal(count(db, "SELECT count(*) FROM scan"), SCANS + 1);
    double growth = (double)(after.file_bytes - before.file_bytes) / SCANS;
    print_message("first scan: %llu bytes; each unchanged one: %.1f bytes\n",
                  (unsigned long long)before.file_bytes, growth);
    assert_true(growth < 100);
    db_close(db);
}

static void changes_become_intervals_and_every_past_is_read_back(void **state)
{
    struct fixture *fixture = *state;
    struct db *db = fixture_open(fixture, NULL);
    struct snapshot *snapshots[8];
    for (int i = 0; i < 8; i++) {
        snapshots[i] = fixture_snapshot(&fixture->arena, i + 1);
    }
    snapshots[1]->inventory.installs[1].complete = false; /* changes */
    snapshots[2]->inventory.install_count = 2;            /* vanishes */
    snapshots[3]->inventory.search_count = 5;             /* several vanish */
    snapshots[4]->driver.status = DRIVER_ERROR;           /* singleton */
    snapshots[4]->driver.error = "lost";
    snapshots[4]->driver.gpu_count = 0;
    snapshots[5]->inventory.problem_count = 0;
    snapshots[6]->finding_count = 1;
    for (int i = 0; i < 8; i++) {
        store(db, snapshots[i]);
    }
    struct db_reader *reader = fixture_reader(fixture);
    for (int i = 0; i < 8; i++) {
        assert_stored_as(reader, snapshots[i]);
    }
    /* The install that was away in scan 3 only. */
    assert_int_equal(count(db, "SELECT last_scan FROM entity WHERE kind = 'install' AND key LIKE "
                               "'%v12.2%' AND last_scan IS NOT NULL"),
                     2);
    assert_int_equal(count(db, "SELECT first_scan FROM entity WHERE kind = 'install' AND key LIKE "
                               "'%v12.2%' AND last_scan IS NULL"),
                     4);
    struct json *at = NULL;
    assert_int_equal(db_snapshot_at_to_json(reader, fixture_finished_ms(1) - 1, &at, NULL),
                     ERR_NOT_FOUND);
    assert_int_equal(db_snapshot_at_to_json(reader, fixture_finished_ms(3) - 1, &at, NULL), 0);
    int64_t id = 0;
    assert_int_equal(json_read_int(json_get(at, "scan"), "id", &id, NULL), 0);
    assert_int_equal(id, 2);
    json_free(at);
    db_reader_close(reader);
    db_close(db);
}

static void things_with_the_same_key_are_all_kept(void **state)
{
    struct fixture *fixture = *state;
    struct db *db = fixture_open(fixture, NULL);
    static const char *const names[] = {"a", "a", "a#2", "a", "a#2", "a#2#2", NULL, NULL};
    struct snapshot *snapshot = fixture_snapshot(&fixture->arena, 1);
    struct search_entry *entries = snapshot->inventory.search_path;
    snapshot->inventory.search_count = sizeof names / sizeof *names;
    for (size_t i = 0; i < snapshot->inventory.search_count; i++) {
        entries[i].directory = names[i];
    }
    snapshot->driver.gpus[1].uuid = snapshot->driver.gpus[0].uuid;
    store(db, snapshot);
    struct db_reader *reader = fixture_reader(fixture);
    assert_stored_as(reader, snapshot);
    int64_t changes = sqlite3_total_changes(db->connection.handle);
    snapshot->scan_id = 2;
    store(db, snapshot);
    assert_int_equal(sqlite3_total_changes(db->connection.handle) - changes, 1);
    db_reader_close(reader);
    db_close(db);
}

static void two_findings_with_one_id_do_not_stop_the_store(void **state)
{
    struct fixture *fixture = *state;
    struct db *db = fixture_open(fixture, NULL);
    for (int64_t id = 1; id <= 2; id++) {
        struct snapshot *snapshot = fixture_snapshot(&fixture->arena, id);
        snapshot->findings[1].id = snapshot->findings[0].id;
        store(db, snapshot);
    }
    assert_int_equal(count(db, "SELECT count(*) FROM finding"), 2);
    db_close(db);
}

static void text_that_is_not_utf8_is_stored(void **state)
{
    struct fixture *fixture = *state;
    struct db *db = fixture_open(fixture, NULL);
    struct snapshot *snapshot = fixture_snapshot(&fixture->arena, 1);
    snapshot->inventory.installs[2].path = "C:\\z\xed\xa0\x80\xff";
    store(db, snapshot);
    struct db_reader *reader = fixture_reader(fixture);
    assert_stored_as(reader, snapshot);
    db_reader_close(reader);
    db_close(db);
}

static void findings_open_carry_on_resolve_and_come_back(void **state)
{
    struct fixture *fixture = *state;
    struct db *db = fixture_open(fixture, NULL);
    struct snapshot *snapshot = NULL;
    const char *id = "0000000000000f02"; /* the third */
    for (int64_t scan = 1; scan <= 6; scan++) {
        snapshot = fixture_snapshot(&fixture->arena, scan);
        if (scan == 4 || scan == 5) {
            snapshot->finding_count = 2;
        }
        store(db, snapshot);
        struct db_reader *reader = fixture_reader(fixture);
        struct json *object = finding(reader, id);
        bool away = scan == 4 || scan == 5;
        assert_string_equal(json_as_text(json_get(object, "state")), away ? "resolved" : "active");
        assert_time(object, "first_seen_at", fixture_finished_ms(scan == 6 ? 6 : 1));
        assert_time(object, "last_seen_at", fixture_finished_ms(away ? 3 : scan));
        assert_time(object, "resolved_at", away ? fixture_finished_ms(4) : 0);
        json_free(object);
        db_reader_close(reader);
    }
    assert_int_equal(snapshot->findings[2].first_seen_at_ms, fixture_finished_ms(6));
    assert_int_equal(snapshot->findings[0].first_seen_at_ms, fixture_finished_ms(1));
    assert_int_equal(count(db, "SELECT count(*) FROM finding"), 4);
    /* The past shows the occurrence of its own time. */
    struct db_reader *reader = fixture_reader(fixture);
    struct json *at = NULL;
    assert_int_equal(db_snapshot_at_to_json(reader, fixture_finished_ms(3), &at, NULL), 0);
    const struct json *old = json_at(json_get(at, "findings"), 2);
    assert_string_equal(json_as_text(json_get(old, "id")), id);
    assert_time(old, "first_seen_at", fixture_finished_ms(1));
    assert_time(old, "last_seen_at", fixture_finished_ms(3));
    json_free(at);
    db_reader_close(reader);
    db_close(db);
}

static void a_finding_told_differently_stays_the_same_occurrence(void **state)
{
    struct fixture *fixture = *state;
    struct db *db = fixture_open(fixture, NULL);
    fixture_store(fixture, db, 1);
    struct snapshot *snapshot = fixture_snapshot(&fixture->arena, 2);
    snapshot->findings[1].severity = SEVERITY_CRITICAL;
    snapshot->findings[1].detail = "now worse";
    store(db, snapshot);
    struct db_reader *reader = fixture_reader(fixture);
    struct json *object = finding(reader, snapshot->findings[1].id);
    assert_string_equal(json_as_text(json_get(object, "detail")), "now worse");
    assert_string_equal(json_as_text(json_get(object, "severity")), "critical");
    assert_time(object, "first_seen_at", fixture_finished_ms(1));
    json_free(object);
    struct json *at = NULL;
    assert_int_equal(db_snapshot_at_to_json(reader, fixture_finished_ms(1), &at, NULL), 0);
    object = json_copy(json_at(json_get(at, "findings"), 1));
    assert_string_equal(json_as_text(json_get(object, "severity")), "warning");
    json_free(object);
    json_free(at);
    db_reader_close(reader);
    db_close(db);
}

static void findings_are_listed_active_first_worst_first_newest_first(void **state)
{
    static const char *const order[] = {"0000000000000f00", "000000000000aaaa", "0000000000000f01",
                                        "0000000000000f02"};
    struct fixture *fixture = *state;
    struct db *db = fixture_open(fixture, NULL);
    fixture_store(fixture, db, 1);
    struct snapshot *snapshot = fixture_snapshot(&fixture->arena, 2);
    snapshot->findings[2].id = "000000000000aaaa"; /* f02 resolves, aaaa is newer than f01 */
    snapshot->findings[2].severity = SEVERITY_WARNING;
    store(db, snapshot);
    struct db_reader *reader = fixture_reader(fixture);
    struct json *array = NULL;
    struct db_finding_filter filter = {.limit = 100};
    assert_int_equal(db_findings_to_json(reader, &filter, &array, NULL), 0);
    assert_int_equal(json_count(array), 4);
    for (size_t i = 0; i < 4; i++) {
        assert_string_equal(json_as_text(json_get(json_at(array, i), "id")), order[i]);
    }
    json_free(array);
    static const struct {
        struct db_finding_filter filter;
        int code;
        size_t found;
    } cases[] = {
        {{.state = "active", .limit = 10}, 0, 3},
        {{.state = "resolved", .limit = 10}, 0, 1},
        {{.severity = "warning", .limit = 10}, 0, 2},
        {{.code = "cudnn_shadowed", .limit = 10}, 0, 1},
        {{.state = "resolved", .severity = "critical", .limit = 10}, 0, 0},
        {{.limit = 2}, 0, 2},
        {{.limit = 0}, ERR_USAGE, 0},
        {{.limit = 10001}, ERR_USAGE, 0},
        {{.state = "asleep", .limit = 1}, ERR_USAGE, 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        array = NULL;
        assert_int_equal(db_findings_to_json(reader, &cases[i].filter, &array, NULL),
                         cases[i].code);
        assert_int_equal(json_count(array), cases[i].found);
        json_free(array);
    }
    struct json *object = NULL;
    assert_int_equal(db_finding_to_json(reader, "nothing", &object, NULL), ERR_NOT_FOUND);
    db_reader_close(reader);
    db_close(db);
}

static void scans_are_listed_newest_first_with_failed_ones(void **state)
{
    struct fixture *fixture = *state;
    struct db *db = fixture_open(fixture, NULL);
    fixture_store(fixture, db, 1);
    assert_int_equal(db_store_failed_scan(db, 2, SCAN_CHANGE, 50, 10, "the disk hid", NULL), 0);
    fixture_store(fixture, db, 3);
    struct db_reader *reader = fixture_reader(fixture);
    struct json *array = NULL, *object = NULL;
    assert_int_equal(db_scans_to_json(reader, 2, 0, &array, NULL), 0);
    assert_int_equal(json_count(array), 2);
    char *text = json_print(array);
    assert_string_equal(text,
                        "[{\"id\":3,\"trigger\":\"schedule\",\"result\":\"ok\","
                        "\"started_at\":\"2026-01-31T12:44:58.766Z\",\"finished_at\":"
                        "\"2026-01-31T12:45:00Z\",\"duration_ms\":1234,\"error\":null,\"findings\":"
                        "{\"critical\":1,\"warning\":1,\"info\":1}},"
                        "{\"id\":2,\"trigger\":\"change\",\"result\":\"failed\","
                        "\"started_at\":\"1970-01-01T00:00:00.050Z\",\"finished_at\":"
                        "\"1970-01-01T00:00:00.010Z\",\"duration_ms\":0,\"error\":\"the disk hid\","
                        "\"findings\":null}]");
    free(text);
    json_free(array);
    assert_int_equal(db_scans_to_json(reader, 10, 2, &array, NULL), 0);
    assert_int_equal(json_count(array), 1);
    json_free(array);
    assert_int_equal(db_scan_to_json(reader, 2, &object, NULL), 0);
    json_free(object);
    assert_int_equal(db_scan_to_json(reader, 9, &object, NULL), ERR_NOT_FOUND);
    /* A failed scan does not interrupt what was there before and after it. */
    assert_int_equal(count(db, "SELECT count(*) FROM entity WHERE last_scan IS NOT NULL"), 0);
    db_reader_close(reader);
    db_close(db);
}

static void an_old_scan_id_is_refused_and_nothing_is_written(void **state)
{
    struct fixture *fixture = *state;
    struct db *db = fixture_open(fixture, NULL);
    fixture_store(fixture, db, 5);
    struct err err = {0};
    struct snapshot *snapshot = fixture_snapshot(&fixture->arena, 5);
    snapshot->finding_count = 0;
    assert_int_equal(db_store_snapshot(db, snapshot, &err), ERR_USAGE);
    assert_int_equal(db_store_failed_scan(db, 4, SCAN_CLI, 1, 2, "x", &err), ERR_USAGE);
    assert_int_equal(count(db, "SELECT count(*) FROM finding WHERE resolved_at_ms IS NULL"), 3);
    assert_int_equal(db_check_writable(db, &err), 0);
    assert_int_equal(count(db, "SELECT count(*) FROM scan"), 1);
    db_close(db);
}

static void pruning_forgets_what_ended_and_keeps_the_present(void **state)
{
    struct fixture *fixture = *state;
    struct db *db = fixture_open(fixture, NULL);
    struct snapshot *snapshots[11];
    for (int i = 1; i <= 10; i++) {
        snapshots[i] = fixture_snapshot(&fixture->arena, i);
        snapshots[i]->inventory.installs[0].complete = i % 2 == 0; /* an interval a scan */
        snapshots[i]->finding_count = i == 2 || i == 8 ? 3 : 2;    /* two occurrences */
        store(db, snapshots[i]);
    }
    uint64_t rows = 0;
    assert_int_equal(db_prune(db, fixture_finished_ms(5), &rows, NULL), 0);
    /* Scans 1 to 4, the install's intervals 1 to 4, the finding's in scan 2 and its occurrence. */
    assert_int_equal(rows, 10);
    struct db_reader *reader = fixture_reader(fixture);
    struct json *at = NULL;
    assert_int_equal(db_snapshot_at_to_json(reader, fixture_finished_ms(4), &at, NULL),
                     ERR_NOT_FOUND);
    for (int i = 5; i <= 10; i++) {
        assert_stored_as(reader, snapshots[i]);
    }
    assert_int_equal(db_prune(db, fixture_finished_ms(1000), &rows, NULL), 0);
    assert_stored_as(reader, snapshots[10]);
    assert_int_equal(count(db, "SELECT count(*) FROM scan"), 1);
    assert_int_equal(count(db, "SELECT count(*) FROM entity WHERE last_scan IS NOT NULL"), 0);
    assert_int_equal(count(db, "SELECT count(*) FROM finding WHERE resolved_at_ms IS NOT NULL"), 0);
    assert_int_equal(db_prune(db, fixture_finished_ms(1000), &rows, NULL), 0);
    assert_int_equal(rows, 0);
    db_reader_close(reader);
    db_close(db);
}

static void pruning_keeps_the_last_good_scan_behind_failed_ones(void **state)
{
    struct fixture *fixture = *state;
    struct db *db = fixture_open(fixture, NULL);
    uint64_t rows = 0;
    fixture_store(fixture, db, 1);
    assert_int_equal(db_store_failed_scan(db, 2, SCAN_CLI, 1, 2, "x", NULL), 0);
    assert_int_equal(db_store_failed_scan(db, 3, SCAN_CLI, 1, 2, "x", NULL), 0);
    assert_int_equal(db_prune(db, INT64_MAX, &rows, NULL), 0);
    assert_int_equal(rows, 1);
    assert_int_equal(count(db, "SELECT min(id) FROM scan"), 1);
    assert_int_equal(count(db, "SELECT max(id) FROM scan"), 3);
    db_close(db);
}

static void a_clock_set_back_loses_nothing(void **state)
{
    struct fixture *fixture = *state;
    struct db *db = fixture_open(fixture, NULL);
    struct snapshot *snapshots[4];
    static const int64_t finished[] = {0, 1000, 500, 2000};
    for (int i = 1; i <= 3; i++) {
        snapshots[i] = fixture_snapshot(&fixture->arena, i);
        snapshots[i]->finished_at_ms = finished[i];
        snapshots[i]->inventory.installs[0].complete = i % 2 == 0;
        store(db, snapshots[i]);
    }
    uint64_t rows;
    assert_int_equal(db_prune(db, 800, &rows, NULL), 0); /* scan 2 goes, 1 and 3 stay */
    struct db_reader *reader = fixture_reader(fixture);
    assert_stored_as(reader, snapshots[1]);
    assert_stored_as(reader, snapshots[3]);
    db_reader_close(reader);
    db_close(db);
}

static void queries_use_their_indexes(void **state)
{
    static const char *const queries[] = {
        "SELECT id, kind, key, hash FROM entity WHERE last_scan IS NULL ORDER BY kind, key",
        "SELECT kind, key, document FROM entity WHERE last_scan >= 5 AND first_scan <= 5",
        "SELECT number FROM finding WHERE resolved_at_ms IS NULL ORDER BY id",
        ("SELECT first_seen_at_ms FROM finding WHERE id = 'x' AND first_scan <= 2"
         " ORDER BY number DESC LIMIT 1"),
    };
    static const char *const indexes[] = {"entity_current", "entity_closed", "finding_active",
                                          "finding_occurrences"};
    struct fixture *fixture = *state;
    struct db *db = fixture_open(fixture, NULL);
    fixture_store(fixture, db, 1);
    for (size_t i = 0; i < sizeof queries / sizeof *queries; i++) {
        sqlite3_stmt *handle = NULL;
        const char *sql = arena_printf(&fixture->arena, "EXPLAIN QUERY PLAN %s", queries[i]);
        assert_int_equal(sqlite3_prepare_v2(db->connection.handle, sql, -1, &handle, NULL), 0);
        assert_int_equal(sqlite3_step(handle), SQLITE_ROW);
        const char *plan = (const char *)sqlite3_column_text(handle, 3);
        if (strstr(plan, indexes[i]) == NULL) {
            fail_msg("%s: %s", queries[i], plan);
        }
        assert_int_equal(sqlite3_step(handle), SQLITE_DONE); /* no sorting, no second table */
        sqlite3_finalize(handle);
    }
    db_close(db);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, fixture_setup, fixture_teardown)
        TEST(a_snapshot_is_read_back_as_it_was),
        TEST(an_empty_machine_is_stored),
        TEST(an_unchanged_scan_adds_one_row),
        TEST(changes_become_intervals_and_every_past_is_read_back),
        TEST(things_with_the_same_key_are_all_kept),
        TEST(two_findings_with_one_id_do_not_stop_the_store),
        TEST(text_that_is_not_utf8_is_stored),
        TEST(findings_open_carry_on_resolve_and_come_back),
        TEST(a_finding_told_differently_stays_the_same_occurrence),
        TEST(findings_are_listed_active_first_worst_first_newest_first),
        TEST(scans_are_listed_newest_first_with_failed_ones),
        TEST(an_old_scan_id_is_refused_and_nothing_is_written),
        TEST(pruning_forgets_what_ended_and_keeps_the_present),
        TEST(pruning_keeps_the_last_good_scan_behind_failed_ones),
        TEST(a_clock_set_back_loses_nothing),
        TEST(queries_use_their_indexes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
