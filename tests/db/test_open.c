/* Opening: new, existing, older, newer, somebody else's, in the wrong place. */
#include "tests/test.h"

#include "base/text.h"
#include "db/connection.h"
#include "os/file.h"
#include "os/path.h"
#include "tests/db/fixture.h"

/* Opening fails, with that code and these words. */
static void assert_refused(struct fixture *fixture, int code, const char *words)
{
    struct db *db = NULL;
    struct db_opened opened;
    struct err err = {0};
    assert_int_equal(db_open(&fixture->arena, fixture->path, &db, &opened, &err), code);
    assert_null(db);
    if (strstr(err.message, words) == NULL || strstr(err.message, fixture->directory) == NULL) {
        fail_msg("message: %s", err.message);
    }
}

static void run(const char *path, const char *sql)
{
    sqlite3 *handle = NULL;
    assert_int_equal(sqlite3_open(path, &handle), SQLITE_OK);
    assert_int_equal(sqlite3_exec(handle, sql, NULL, NULL, NULL), SQLITE_OK);
    assert_int_equal(sqlite3_close(handle), SQLITE_OK);
}

static int64_t count(struct db *db, const char *sql)
{
    int64_t value = 0;
    assert_int_equal(connection_read_int(&db->connection, sql, &value, NULL), 0);
    return value;
}

static void the_connection_is_set_up_as_promised(void **state)
{
    static const struct {
        const char *pragma, *value;
    } wanted[] = {
        {"PRAGMA journal_mode", "wal"},
        {"PRAGMA synchronous", "1"},
        {"PRAGMA foreign_keys", "1"},
        {"PRAGMA trusted_schema", "0"},
        {"PRAGMA journal_size_limit", "4194304"},
        {"PRAGMA busy_timeout", "5000"},
        {"PRAGMA cell_size_check", "1"},
        {"PRAGMA application_id", "1668629614"},
        {"PRAGMA user_version", "1"},
    };
    struct fixture *fixture = *state;
    struct db *db = fixture_open(fixture, NULL);
    for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++) {
        char *value = NULL;
        assert_int_equal(
            connection_read_text(&db->connection, &fixture->arena, wanted[i].pragma, &value, NULL),
            0);
        assert_string_equal(value, wanted[i].value);
    }
    int on = 0;
    sqlite3_db_config(db->connection.handle, SQLITE_DBCONFIG_DEFENSIVE, -1, &on);
    assert_int_equal(on, 1);
    assert_int_equal(count(db, "SELECT count(*) FROM pragma_table_list WHERE schema = 'main'"
                               " AND name NOT LIKE 'sqlite%' AND strict = 0"),
                     0);
    db_close(db);
}

static void closing_leaves_one_file(void **state)
{
    struct fixture *fixture = *state;
    struct db *db = fixture_open(fixture, NULL);
    fixture_store(fixture, db, 1);
    db_close(db);
    db_close(NULL);
    db_reader_close(NULL);
    struct os_dir_list list;
    assert_int_equal(os_dir_read(&fixture->arena, fixture->directory, 10, &list, NULL), 0);
    assert_int_equal(list.count, 1);
    assert_string_equal(list.entries[0].name, "cudnnd.db");
}

static void an_empty_file_becomes_a_store(void **state)
{
    struct fixture *fixture = *state;
    struct db_opened opened;
    fixture_write(fixture->path, "", 0);
    struct db *db = fixture_open(fixture, &opened);
    assert_true(opened.created);
    assert_null(opened.set_aside);
    db_close(db);
}

static void a_directory_in_its_place_is_named(void **state)
{
    struct fixture *fixture = *state;
    assert_int_equal(os_dir_make(fixture->path, NULL), 0);
    assert_refused(fixture, ERR_EXISTS, "is a directory");
    struct db_reader *reader = NULL;
    assert_int_equal(db_reader_open(fixture->path, &reader, NULL), ERR_EXISTS);
}

static void a_missing_data_directory_is_named(void **state)
{
    struct fixture *fixture = *state;
    fixture->path = arena_printf(&fixture->arena, "%s/not/there.db", fixture->directory);
    assert_refused(fixture, ERR_NOT_FOUND, "data directory");
}

static void a_file_as_data_directory_is_named(void **state)
{
    struct fixture *fixture = *state;
    fixture_write(fixture->path, "x", 1);
    fixture->path = arena_printf(&fixture->arena, "%s/cudnnd.db", fixture->path);
    struct db *db = NULL;
    struct db_opened opened;
    assert_true(db_open(&fixture->arena, fixture->path, &db, &opened, NULL) != 0);
    assert_null(db);
}

static void a_newer_store_is_refused_untouched(void **state)
{
    struct fixture *fixture = *state;
    struct db *db = fixture_open(fixture, NULL);
    fixture_store(fixture, db, 1);
    db_close(db);
    run(fixture->path, "PRAGMA user_version = 2");
    size_t before_size, after_size;
    char *before = fixture_bytes(&fixture->arena, fixture->path, &before_size);
    assert_refused(fixture, ERR_UNSUPPORTED, "newer cudnnd");
    char *after = fixture_bytes(&fixture->arena, fixture->path, &after_size);
    assert_int_equal(before_size, after_size);
    assert_memory_equal(before, after, before_size);
    struct db_reader *reader = NULL;
    assert_int_equal(db_reader_open(fixture->path, &reader, NULL), ERR_UNSUPPORTED);
}

static void a_database_of_another_program_is_left_alone(void **state)
{
    struct fixture *fixture = *state;
    run(fixture->path, "CREATE TABLE bookmarks (x); PRAGMA user_version = 1");
    assert_refused(fixture, ERR_UNSUPPORTED, "another program");
    run(fixture->path, "PRAGMA application_id = 77; PRAGMA user_version = 0");
    assert_refused(fixture, ERR_UNSUPPORTED, "another program");
    run(fixture->path, "INSERT INTO bookmarks VALUES (1)");
}

static void a_network_drive_is_refused(void **state)
{
    struct fixture *fixture = *state;
    struct db *db = NULL;
    struct db_opened opened;
    struct db_reader *reader = NULL;
    if (os_path_separator != '\\') {
        skip(); /* Windows tells by the path's text; elsewhere it takes a mount */
    }
    fixture->path = arena_strdup(&fixture->arena, "\\\\server\\share\\cudnnd.db");
    assert_int_equal(db_open(&fixture->arena, fixture->path, &db, &opened, NULL), ERR_UNSUPPORTED);
    assert_int_equal(db_reader_open(fixture->path, &reader, NULL), ERR_UNSUPPORTED);
}

static void readers_say_that_nothing_is_stored_yet(void **state)
{
    struct fixture *fixture = *state;
    struct db_reader *reader = NULL;
    struct err err = {0};
    assert_int_equal(db_reader_open(fixture->path, &reader, &err), ERR_NOT_FOUND);
    fixture_write(fixture->path, "", 0);
    assert_int_equal(db_reader_open(fixture->path, &reader, &err), ERR_NOT_FOUND);
    assert_false(fixture_exists(arena_printf(&fixture->arena, "%s-wal", fixture->path)));
    struct db *db = fixture_open(fixture, NULL);
    reader = fixture_reader(fixture);
    struct json *json = NULL;
    assert_int_equal(db_snapshot_at_to_json(reader, INT64_MAX, &json, &err), ERR_NOT_FOUND);
    assert_int_equal(db_scans_to_json(reader, 10, 0, &json, &err), 0);
    assert_int_equal(json_count(json), 0);
    json_free(json);
    db_reader_close(reader);
    db_close(db);
}

/* ---- upgrades ---- */

static const char FIRST[] = "CREATE TABLE scan (id INTEGER PRIMARY KEY) STRICT;"
                            "CREATE TABLE entity (id INTEGER PRIMARY KEY) STRICT;"
                            "CREATE TABLE finding (id INTEGER PRIMARY KEY) STRICT;";
static const char SECOND[] = "ALTER TABLE scan ADD COLUMN note TEXT;"
                             "UPDATE scan SET note = 'from ' || id;";
static const char THIRD[] = "CREATE INDEX scan_note ON scan (note);";
static const char BROKEN[] = "CREATE TABLE extra (x) STRICT;"; /* STRICT wants a type */

static const char *const THREE_STEPS[] = {FIRST, SECOND, THIRD};
static const char *const BROKEN_STEPS[] = {FIRST, SECOND, BROKEN};

static int open_with(struct fixture *fixture, const char *const *steps, int steps_count,
                     struct db **out_db, struct db_opened *out_opened, struct err *err)
{
    struct migrations migrations = {steps, steps_count};
    return connection_open_store(&fixture->arena, fixture->path, &migrations, out_db, out_opened,
                                 err);
}

static void every_older_version_is_upgraded_and_a_copy_kept(void **state)
{
    struct fixture *fixture = *state;
    const char *copy = arena_printf(&fixture->arena, "%s.before-v3", fixture->path);
    for (int version = 0; version <= 3; version++) {
        struct db *db = NULL;
        struct db_opened opened;
        fixture_empty_directory(fixture->directory);
        if (version > 0) {
            assert_int_equal(open_with(fixture, THREE_STEPS, version, &db, &opened, NULL), 0);
            assert_int_equal(
                connection_run(&db->connection, "INSERT INTO scan (id) VALUES (7)", NULL), 0);
            db_close(db);
        }
        assert_int_equal(open_with(fixture, THREE_STEPS, 3, &db, &opened, NULL), 0);
        assert_int_equal(opened.created, version == 0);
        assert_int_equal(opened.last_scan_id, version == 0 ? 0 : 7);
        assert_int_equal(count(db, "PRAGMA user_version"), 3);
        assert_int_equal(count(db, "SELECT count(*) FROM scan WHERE note = 'from 7'"),
                         version == 1);
        db_close(db);
        bool copied = version == 1 || version == 2;
        assert_int_equal(fixture_exists(copy), copied);
        if (copied) { /* the copy is the old store, whole */
            struct fixture old = {.path = arena_strdup(&fixture->arena, copy)};
            assert_int_equal(open_with(&old, THREE_STEPS, version, &db, &opened, NULL), 0);
            assert_int_equal(opened.last_scan_id, 7);
            assert_int_equal(count(db, "PRAGMA user_version"), version);
            db_close(db);
            arena_done(&old.arena);
        }
    }
}

static void a_failed_upgrade_leaves_the_old_store(void **state)
{
    struct fixture *fixture = *state;
    struct db *db = NULL;
    struct db_opened opened;
    struct err err = {0};
    assert_int_equal(open_with(fixture, BROKEN_STEPS, 1, &db, &opened, NULL), 0);
    assert_int_equal(connection_run(&db->connection, "INSERT INTO scan VALUES (7)", NULL), 0);
    db_close(db);
    assert_int_equal(open_with(fixture, BROKEN_STEPS, 3, &db, &opened, &err), ERR_INTERNAL);
    assert_non_null(strstr(err.message, "upgrade to version 3"));
    assert_int_equal(open_with(fixture, BROKEN_STEPS, 1, &db, &opened, NULL), 0);
    assert_null(opened.set_aside);
    assert_int_equal(opened.last_scan_id, 7);
    db_close(db);
}

static void a_store_whose_schema_is_wrong_is_set_aside(void **state)
{
    struct fixture *fixture = *state;
    struct db_opened opened;
    db_close(fixture_open(fixture, NULL));
    run(fixture->path, "DROP INDEX entity_current");
    struct db *db = fixture_open(fixture, &opened);
    assert_non_null(opened.set_aside);
    assert_non_null(strstr(opened.damage, "entity_current"));
    db_close(db);
    /* What somebody added does not disturb. */
    run(fixture->path, "ANALYZE; CREATE INDEX mine ON scan (trigger)");
    db = fixture_open(fixture, &opened);
    assert_null(opened.set_aside);
    db_close(db);
}

static void two_writers_take_turns(void **state)
{
    struct fixture *fixture = *state;
    struct db *first = fixture_open(fixture, NULL), *second = fixture_open(fixture, NULL);
    for (int64_t id = 1; id <= 20; id += 2) {
        fixture_store(fixture, first, id);
        fixture_store(fixture, second, id + 1);
    }
    assert_int_equal(count(first, "SELECT count(*) FROM scan"), 20);
    db_close(first);
    assert_int_equal(count(second, "SELECT count(*) FROM scan"), 20);
    db_close(second);
}

static void a_locked_store_is_busy_and_counted(void **state)
{
    struct fixture *fixture = *state;
    struct db *first = fixture_open(fixture, NULL), *second = fixture_open(fixture, NULL);
    struct db_stats before, after;
    struct err err = {0};
    db_stats(second, &before);
    sqlite3_busy_timeout(second->connection.handle, 10);
    assert_int_equal(connection_begin_write(&first->connection, NULL), 0);
    assert_int_equal(db_check_writable(second, &err), ERR_BUSY);
    assert_non_null(strstr(err.message, "locked by another program"));
    assert_int_equal(db_store_failed_scan(second, 1, SCAN_CLI, 1, 2, "x", &err), ERR_BUSY);
    connection_end(&first->connection, ERR_CANCELLED, NULL);
    assert_int_equal(db_check_writable(second, &err), 0);
    db_stats(second, &after);
    assert_int_equal(after.busy_total - before.busy_total, 2);
    db_close(first);
    db_close(second);
}

static void a_full_store_says_so_and_recovers(void **state)
{
    struct fixture *fixture = *state;
    struct db *db = fixture_open(fixture, NULL);
    struct err err = {0};
    fixture_store(fixture, db, 1);
    struct db_stats before, after;
    db_stats(db, &before);
    assert_int_equal(connection_run(&db->connection, "PRAGMA max_page_count = 1", NULL), 0);
    int64_t id = 2;
    for (int code = 0; code == 0; id++) {
        struct snapshot *snapshot = fixture_snapshot(&fixture->arena, id);
        snapshot->host.name = arena_printf(&fixture->arena, "host-%d", (int)id);
        code = db_store_snapshot(db, snapshot, &err);
        if (code != 0) {
            assert_int_equal(code, ERR_LIMIT);
            assert_int_equal(snapshot->findings[0].first_seen_at_ms, 0);
        }
    }
    assert_non_null(strstr(err.message, "the disk is full"));
    db_stats(db, &after);
    assert_true(after.full_total > before.full_total);
    assert_int_equal(connection_run(&db->connection, "PRAGMA max_page_count = 100000", NULL), 0);
    assert_int_equal(count(db, "SELECT max(id) FROM scan"), id - 2);
    fixture_store(fixture, db, id);
    db_close(db);
}

static void the_check_writes_nothing_that_stays(void **state)
{
    struct fixture *fixture = *state;
    struct db *db = fixture_open(fixture, NULL);
    struct db_stats before, after;
    fixture_store(fixture, db, 1);
    assert_int_equal(db_check_writable(db, NULL), 0);
    db_stats(db, &before);
    for (int i = 0; i < 1000; i++) {
        assert_int_equal(db_check_writable(db, NULL), 0);
    }
    db_stats(db, &after);
    assert_int_equal(after.wal_bytes, before.wal_bytes);
    assert_int_equal(count(db, "SELECT count(*) FROM scan"), 1);
    db_close(db);
}

static void the_check_answers_while_somebody_writes(void **state)
{
    struct fixture *fixture = *state;
    struct db *db = fixture_open(fixture, NULL);
    struct err err = {0};
    pthread_mutex_lock(&db->writer);
    assert_int_equal(db_check_writable(db, &err), 0);
    db->last_write = (struct err){ERR_LIMIT, "the disk is full"};
    assert_int_equal(db_check_writable(db, &err), ERR_LIMIT);
    assert_string_equal(err.message, "the disk is full");
    pthread_mutex_unlock(&db->writer);
    assert_int_equal(db_check_writable(db, &err), 0);
    assert_int_equal(db->last_write.code, 0);
    db_close(db);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, fixture_setup, fixture_teardown)
        TEST(the_connection_is_set_up_as_promised),
        TEST(closing_leaves_one_file),
        TEST(an_empty_file_becomes_a_store),
        TEST(a_directory_in_its_place_is_named),
        TEST(a_missing_data_directory_is_named),
        TEST(a_file_as_data_directory_is_named),
        TEST(a_newer_store_is_refused_untouched),
        TEST(a_database_of_another_program_is_left_alone),
        TEST(a_network_drive_is_refused),
        TEST(readers_say_that_nothing_is_stored_yet),
        TEST(every_older_version_is_upgraded_and_a_copy_kept),
        TEST(a_failed_upgrade_leaves_the_old_store),
        TEST(a_store_whose_schema_is_wrong_is_set_aside),
        TEST(two_writers_take_turns),
        TEST(a_locked_store_is_busy_and_counted),
        TEST(a_full_store_says_so_and_recovers),
        TEST(the_check_writes_nothing_that_stays),
        TEST(the_check_answers_while_somebody_writes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
