/* A damaged store is set aside whole and a fresh one begun; nothing is lost on the way. */
#include "tests/test.h"

#include "db/connection.h"
#include "os/file.h"
#include "os/path.h"
#include "tests/db/fixture.h"

enum { SCANS = 3 };

/* The bytes of a store with some scans in it. */
static char *whole_store(struct fixture *fixture, size_t *out_size)
{
    struct db *db = fixture_open(fixture, NULL);
    for (int64_t id = 1; id <= SCANS; id++) {
        fixture_store(fixture, db, id);
    }
    db_close(db);
    return fixture_bytes(&fixture->arena, fixture->path, out_size);
}

/* Opens the damaged bytes: works, either as a store (nothing is set aside) or as a fresh one with
   the bytes set aside unchanged; then it is usable. Returns true when it was set aside. */
static bool open_bytes(struct fixture *fixture, const char *bytes, size_t size)
{
    struct db_opened opened;
    struct fixture one = *fixture;
    one.arena = (struct arena){0};
    fixture_empty_directory(fixture->directory);
    fixture_write(fixture->path, bytes, size);
    struct db *db = fixture_open(&one, &opened);
    bool aside = opened.set_aside != NULL;
    if (aside) {
        size_t kept_size;
        char *kept = fixture_bytes(&one.arena, opened.set_aside, &kept_size);
        assert_int_equal(kept_size, size);
        assert_memory_equal(kept, bytes, size);
        assert_non_null(opened.damage);
        assert_false(opened.created);
        assert_int_equal(opened.last_scan_id, 0);
    }
    fixture_store(&one, db, opened.last_scan_id + 1);
    struct db_reader *reader = fixture_reader(&one);
    struct json *json = NULL;
    assert_int_equal(
        db_snapshot_at_to_json(reader, fixture_finished_ms(opened.last_scan_id + 1), &json, NULL),
        0);
    json_free(json);
    db_reader_close(reader);
    db_close(db);
    arena_done(&one.arena);
    return aside;
}

static void a_truncated_file_is_set_aside(void **state)
{
    enum { PLACES = 1000 };
    struct fixture *fixture = *state;
    size_t size;
    char *bytes = whole_store(fixture, &size);
    for (size_t i = 1; i < PLACES; i++) {
        size_t cut = size * i / PLACES;
        if (!open_bytes(fixture, bytes, cut)) {
            fail_msg("cut at %u of %u was not noticed", (unsigned)cut, (unsigned)size);
        }
    }
    assert_false(open_bytes(fixture, bytes, size));
}

/* A flipped bit may hit a document's text, which SQLite cannot know: then it opens. */
static void flipped_bytes_never_stop_the_store(void **state)
{
    struct fixture *fixture = *state;
    size_t size;
    char *bytes = whole_store(fixture, &size);
    int aside = 0, tried = 0;
    for (size_t at = 0; at < size; at += at < 600 ? 1 : 97) {
        /* The version is the one number that must be believed: a newer store is left alone. */
        if (at >= 60 && at < 64) {
            continue;
        }
        bytes[at] ^= (char)0xff;
        struct fixture one = *fixture;
        one.arena = (struct arena){0};
        struct db_opened opened;
        struct db *db = NULL;
        struct err err = {0};
        fixture_empty_directory(fixture->directory);
        fixture_write(fixture->path, bytes, size);
        int code = db_open(&one.arena, one.path, &db, &opened, &err);
        if (code != 0) {
            fail_msg("byte %u: %s", (unsigned)at, err.message);
        }
        aside += opened.set_aside != NULL;
        tried++;
        db_close(db);
        arena_done(&one.arena);
        bytes[at] ^= (char)0xff;
    }
    print_message("%d of %d flips were noticed\n", aside, tried);
    assert_true(aside > 0);
}

static void a_zeroed_header_is_set_aside(void **state)
{
    struct fixture *fixture = *state;
    size_t size;
    char *bytes = whole_store(fixture, &size);
    memset(bytes, 0, 100);
    assert_true(open_bytes(fixture, bytes, size));
    memset(bytes, 0, size);
    assert_true(open_bytes(fixture, bytes, size));
}

static void garbage_is_set_aside(void **state)
{
    static const char page[] = "<!DOCTYPE html><title>404</title>";
    struct fixture *fixture = *state;
    assert_true(open_bytes(fixture, page, sizeof page));
    assert_true(open_bytes(fixture, "x", 1));
}

static void zeroed_pages_are_set_aside(void **state)
{
    enum { PAGE = 4096 };
    struct fixture *fixture = *state;
    size_t size;
    char *bytes = whole_store(fixture, &size);
    char kept[PAGE];
    for (size_t at = 0; at + PAGE <= size; at += PAGE) {
        memcpy(kept, bytes + at, PAGE);
        memset(bytes + at, 0, PAGE);
        assert_true(open_bytes(fixture, bytes, size));
        memcpy(bytes + at, kept, PAGE);
    }
}

static void the_log_goes_with_its_database(void **state)
{
    struct fixture *fixture = *state;
    const char *wal = arena_printf(&fixture->arena, "%s-wal", fixture->path);
    struct db *db = fixture_open(fixture, NULL);
    fixture_store(fixture, db, 1);
    /* A log that holds the first page as well would heal a damaged header. */
    sqlite3_wal_checkpoint_v2(db->connection.handle, "main", SQLITE_CHECKPOINT_TRUNCATE, NULL,
                              NULL);
    fixture_store(fixture, db, 2);
    size_t size, wal_size, kept_size;
    char *bytes = fixture_bytes(&fixture->arena, fixture->path, &size);
    char *log = fixture_bytes(&fixture->arena, wal, &wal_size);
    assert_true(wal_size > 0);
    db_close(db);
    memset(bytes, 'x', 100);
    const size_t sizes[] = {size, 0}; /* garbage with a log; empty with a log */
    for (int i = 0; i < 2; i++) {
        struct db_opened opened;
        fixture_empty_directory(fixture->directory);
        fixture_write(fixture->path, bytes, sizes[i]);
        fixture_write(wal, log, wal_size);
        db = fixture_open(fixture, &opened);
        assert_non_null(opened.set_aside);
        char *kept = fixture_bytes(
            &fixture->arena, arena_printf(&fixture->arena, "%s-wal", opened.set_aside), &kept_size);
        assert_int_equal(kept_size, wal_size);
        assert_memory_equal(kept, log, wal_size);
        assert_int_equal(opened.last_scan_id, 0);
        db_close(db);
    }
    /* A log whose database is gone. */
    struct db_opened opened;
    fixture_empty_directory(fixture->directory);
    fixture_write(wal, log, wal_size);
    db = fixture_open(fixture, &opened);
    assert_non_null(opened.set_aside);
    assert_true(fixture_exists(arena_printf(&fixture->arena, "%s-wal", opened.set_aside)));
    db_close(db);
}

/* What a crash leaves: the log holds whole transactions, then rubbish. */
static void a_torn_log_keeps_what_was_committed(void **state)
{
    struct fixture *fixture = *state;
    const char *wal = arena_printf(&fixture->arena, "%s-wal", fixture->path);
    struct db *db = fixture_open(fixture, NULL);
    fixture_store(fixture, db, 1);
    fixture_store(fixture, db, 2);
    size_t size, wal_size, second_size;
    char *bytes = fixture_bytes(&fixture->arena, fixture->path, &size);
    char *log = fixture_bytes(&fixture->arena, wal, &wal_size);
    fixture_store(fixture, db, 3);
    char *longer = fixture_bytes(&fixture->arena, wal, &second_size);
    assert_true(second_size > wal_size);
    db_close(db);
    for (size_t cut = wal_size; cut < second_size; cut += 101) {
        struct db_opened opened;
        fixture_empty_directory(fixture->directory);
        fixture_write(fixture->path, bytes, size);
        fixture_write(wal, longer, cut);
        db = fixture_open(fixture, &opened);
        assert_null(opened.set_aside);
        assert_int_equal(opened.last_scan_id, 2);
        db_close(db);
    }
    assert_memory_equal(log, longer, wal_size);
}

static void several_in_one_second_get_names_of_their_own(void **state)
{
    struct fixture *fixture = *state;
    struct os_dir_list list;
    for (int i = 0; i < 5; i++) {
        fixture_write(fixture->path, "rubbish", 7);
        struct db_opened opened;
        struct db *db = fixture_open(fixture, &opened);
        assert_non_null(strstr(opened.set_aside, "cudnnd.db.damaged-2"));
        db_close(db);
    }
    assert_int_equal(os_dir_read(&fixture->arena, fixture->directory, 100, &list, NULL), 0);
    assert_int_equal(list.count, 6);
}

static void a_damaged_document_is_an_error_of_its_reader(void **state)
{
    struct fixture *fixture = *state;
    struct db *db = fixture_open(fixture, NULL);
    fixture_store(fixture, db, 1);
    assert_int_equal(connection_run(&db->connection,
                                    "UPDATE entity SET document ="
                                    " replace(document, '560.94', '560.95')"
                                    " WHERE kind = 'driver'",
                                    NULL),
                     0);
    struct db_reader *reader = fixture_reader(fixture);
    struct json *json = NULL;
    struct err err = {0};
    assert_int_equal(db_snapshot_at_to_json(reader, INT64_MAX, &json, &err), ERR_CORRUPT);
    assert_null(json);
    assert_int_equal(db_scans_to_json(reader, 1, 0, &json, &err), 0);
    json_free(json);
    db_reader_close(reader);
    db_close(db);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, fixture_setup, fixture_teardown)
        TEST(a_truncated_file_is_set_aside),
        TEST(flipped_bytes_never_stop_the_store),
        TEST(a_zeroed_header_is_set_aside),
        TEST(garbage_is_set_aside),
        TEST(zeroed_pages_are_set_aside),
        TEST(the_log_goes_with_its_database),
        TEST(a_torn_log_keeps_what_was_committed),
        TEST(several_in_one_second_get_names_of_their_own),
        TEST(a_damaged_document_is_an_error_of_its_reader),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
