#include "db/migrations.h"

#include "base/cleanup.h"
#include "base/text.h"
#include "db/db.h"
#include "os/file.h"

/* Version 1.
   scan: one row a scan. Findings are counted only where there was a judgement.
   entity: a document of one thing, true from scan first_scan to scan last_scan; an open end is
   NULL, so that a scan that changes nothing rewrites nothing. Scans are forgotten before intervals
   that began with them, hence no foreign key. The document is the last column: who reads the hash
   of a row does not read its overflow pages. entity_closed finds the past for a snapshot at a time.
   finding: one row an occurrence, from the scan that first saw a fault to the one that missed it.
   A fault that comes back is a new row under the same id. While it is active, last_seen_at is the
   last scan's and not written. Its document at any time is an entity of kind "finding". */
static const char SQL_STEP_1[] =
    "CREATE TABLE scan ("
    "  id INTEGER PRIMARY KEY,"
    "  trigger TEXT NOT NULL,"
    "  result TEXT NOT NULL CHECK (result IN ('ok', 'failed')),"
    "  started_at_ms INTEGER NOT NULL,"
    "  finished_at_ms INTEGER NOT NULL,"
    "  duration_ms INTEGER NOT NULL,"
    "  error TEXT,"
    "  critical INTEGER,"
    "  warning INTEGER,"
    "  info INTEGER"
    ") STRICT;"
    "CREATE TABLE entity ("
    "  id INTEGER PRIMARY KEY,"
    "  kind TEXT NOT NULL,"
    "  key TEXT NOT NULL,"
    "  hash INTEGER NOT NULL,"
    "  first_scan INTEGER NOT NULL,"
    "  last_scan INTEGER CHECK (last_scan >= first_scan),"
    "  document TEXT NOT NULL"
    ") STRICT;"
    "CREATE UNIQUE INDEX entity_current ON entity (kind, key) WHERE last_scan IS NULL;"
    "CREATE INDEX entity_closed ON entity (last_scan) WHERE last_scan IS NOT NULL;"
    "CREATE TABLE finding ("
    "  number INTEGER PRIMARY KEY,"
    "  id TEXT NOT NULL,"
    "  code TEXT NOT NULL,"
    "  severity TEXT NOT NULL,"
    "  hash INTEGER NOT NULL,"
    "  first_scan INTEGER NOT NULL,"
    "  first_seen_at_ms INTEGER NOT NULL,"
    "  last_seen_at_ms INTEGER,"
    "  resolved_at_ms INTEGER,"
    "  document TEXT NOT NULL"
    ") STRICT;"
    "CREATE UNIQUE INDEX finding_active ON finding (id) WHERE resolved_at_ms IS NULL;"
    "CREATE INDEX finding_occurrences ON finding (id, number);";

static const char *const STEPS[] = {SQL_STEP_1};

const struct migrations migrations_of_this_build = {STEPS, DB_SCHEMA_VERSION};

_Static_assert(sizeof STEPS / sizeof *STEPS == DB_SCHEMA_VERSION, "one step a schema version");

static int copy_to(struct connection *connection, const char *to, struct err *err)
{
    struct connection copy = {.opening = to};
    int result = sqlite3_open_v2(
        to, &copy.handle, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX, NULL);
    if (result == SQLITE_OK) {
        sqlite3_backup *backup =
            sqlite3_backup_init(copy.handle, "main", connection->handle, "main");
        if (backup != NULL) {
            sqlite3_backup_step(backup, -1);
            result = sqlite3_backup_finish(backup);
        } else {
            result = sqlite3_errcode(copy.handle);
        }
    }
    int code = result == SQLITE_OK ? 0 : connection_error(&copy, result, err);
    connection_close(&copy);
    return code;
}

/* Under another name first: a copy that carries the final name is a whole one. */
static int keep_copy(struct connection *connection, const char *path, int version, struct err *err)
{
    struct arena arena CLEANUP(arena_done) = {0};
    const char *kept = arena_printf(&arena, "%s.before-v%d", path, version);
    const char *unfinished = arena_printf(&arena, "%s.new", kept);
    const char *journal = arena_printf(&arena, "%s-journal", unfinished);
    os_file_remove(unfinished, NULL);
    os_file_remove(journal, NULL);
    int code = copy_to(connection, unfinished, err);
    if (code == 0) {
        code = os_file_rename(unfinished, kept, err);
    }
    if (code != 0) {
        os_file_remove(unfinished, NULL);
        os_file_remove(journal, NULL);
        return err_context(err, "cannot keep a copy of the store before its upgrade");
    }
    return 0;
}

static int run_steps(struct connection *connection, const struct migrations *migrations,
                     struct err *err)
{
    int64_t version = 0;
    char stamp[96];
    int code = connection_read_int(connection, "PRAGMA user_version", &version, err);
    for (int64_t i = version; code == 0 && i < migrations->count; i++) {
        code = connection_run(connection, migrations->steps[i], err);
        if (code != 0) {
            err_context(err, "upgrade to version %lld", (long long)i + 1);
        }
    }
    if (code == 0 && version < migrations->count) {
        snprintf(stamp, sizeof stamp, "PRAGMA application_id = %d; PRAGMA user_version = %d",
                 MIGRATIONS_APPLICATION_ID, migrations->count);
        code = connection_run(connection, stamp, err);
    }
    return code;
}

int migrations_run(struct connection *connection, const struct migrations *migrations,
                   const char *path, struct err *err)
{
    int64_t version = 0;
    int code = connection_read_int(connection, "PRAGMA user_version", &version, err);
    if (code != 0 || version >= migrations->count) {
        return code;
    }
    if (version > 0) {
        code = keep_copy(connection, path, migrations->count, err);
    }
    if (code == 0) {
        code = connection_begin_write(connection, err);
    }
    if (code != 0) {
        return code;
    }
    return connection_end(connection, run_steps(connection, migrations, err), err);
}

/* A store in memory that holds nothing but the schema. */
static int open_model(const struct migrations *migrations, struct connection *model,
                      struct err *err)
{
    int result = sqlite3_open_v2(":memory:", &model->handle,
                                 SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, NULL);
    if (result != SQLITE_OK) {
        return connection_error(model, result, err);
    }
    return run_steps(model, migrations, err);
}

static int check_objects(struct connection *connection, struct connection *model, struct err *err)
{
    static const char SQL_MODEL[] = "SELECT name, sql FROM sqlite_schema WHERE sql IS NOT NULL";
    static const char SQL_STORE[] = "SELECT sql FROM sqlite_schema WHERE name = ?1";
    struct statement *wanted, *found;
    bool row = true, there = false;
    int code = connection_statement(model, SQL_MODEL, &wanted, err);
    while (code == 0 && (code = statement_step(model, wanted, &row, err)) == 0 && row) {
        code = connection_statement(connection, SQL_STORE, &found, err);
        if (code != 0) {
            return code;
        }
        statement_bind_text(found, 1, statement_text(wanted, 0));
        code = statement_step(connection, found, &there, err);
        if (code == 0 &&
            (!there || !text_equal(statement_text(found, 0), statement_text(wanted, 1)))) {
            code = err_set(err, ERR_CORRUPT, "its schema is damaged: '%s' is not as it should be",
                           statement_text(wanted, 0));
        }
        statement_reset(found);
    }
    return code;
}

static void close_model(struct connection *model)
{
    connection_close(model);
}

int migrations_check(struct connection *connection, const struct migrations *migrations,
                     struct err *err)
{
    struct connection model CLEANUP(close_model) = {0};
    int code = open_model(migrations, &model, err);
    return code == 0 ? check_objects(connection, &model, err) : code;
}
