#include "base/cleanup.h"
#include "base/text.h"
#include "db/connection.h"
#include "db/history.h"

/* ---- writing ---- */

struct scan_row {
    int64_t id, started_at_ms, finished_at_ms, duration_ms;
    enum scan_trigger trigger;
    const char *error;   /* NULL: it ended well, and the findings were counted */
    int64_t findings[3]; /* by severity */
};

static int insert_row(struct connection *connection, const struct scan_row *row, struct err *err)
{
    static const char SQL_NEWEST[] = "SELECT max(id) FROM scan";
    static const char SQL_INSERT[] =
        "INSERT INTO scan (id, trigger, result, started_at_ms, finished_at_ms, duration_ms, error,"
        "                  critical, warning, info)"
        " VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)";
    struct statement *insert;
    int64_t newest = 0;
    int code = connection_read_int(connection, SQL_NEWEST, &newest, err);
    if (code == 0 && row->id <= newest) {
        code = err_set(err, ERR_USAGE, "scan %lld is not newer than the stored scan %lld",
                       (long long)row->id, (long long)newest);
    }
    if (code == 0) {
        code = connection_statement(connection, SQL_INSERT, &insert, err);
    }
    if (code != 0) {
        return code;
    }
    statement_bind_int(insert, 1, row->id);
    statement_bind_text(insert, 2, scan_trigger_name(row->trigger));
    statement_bind_text(insert, 3, row->error == NULL ? "ok" : "failed");
    statement_bind_int(insert, 4, row->started_at_ms);
    statement_bind_int(insert, 5, row->finished_at_ms);
    statement_bind_int(insert, 6, row->duration_ms);
    statement_bind_text(insert, 7, row->error);
    if (row->error == NULL) {
        statement_bind_int(insert, 8, row->findings[SEVERITY_CRITICAL]);
        statement_bind_int(insert, 9, row->findings[SEVERITY_WARNING]);
        statement_bind_int(insert, 10, row->findings[SEVERITY_INFO]);
    }
    return statement_run(connection, insert, err);
}

int scan_insert(struct connection *connection, const struct snapshot *snapshot, struct err *err)
{
    struct scan_row row = {
        .id = snapshot->scan_id,
        .started_at_ms = snapshot->started_at_ms,
        .finished_at_ms = snapshot->finished_at_ms,
        .duration_ms = (int64_t)snapshot->duration_ms,
        .trigger = snapshot->trigger,
    };
    for (size_t i = 0; i < snapshot->finding_count; i++) {
        row.findings[snapshot->findings[i].severity]++;
    }
    return insert_row(connection, &row, err);
}

static int insert_failed(struct connection *connection, void *context, struct err *err)
{
    return insert_row(connection, context, err);
}

int db_store_failed_scan(struct db *db, int64_t id, enum scan_trigger trigger,
                         int64_t started_at_ms, int64_t finished_at_ms, const char *error,
                         struct err *err)
{
    struct scan_row row = {
        .id = id,
        .started_at_ms = started_at_ms,
        .finished_at_ms = finished_at_ms,
        /* The wall clock may have been set back meanwhile. */
        .duration_ms = finished_at_ms > started_at_ms ? finished_at_ms - started_at_ms : 0,
        .trigger = trigger,
        .error = error == NULL ? "unknown" : error,
    };
    return connection_change_store(db, insert_failed, &row, err);
}

/* ---- reading ---- */

int scan_newest_ok(struct connection *connection, struct scan_end *out_end, struct err *err)
{
    static const char SQL[] = "SELECT id, finished_at_ms FROM scan WHERE result = 'ok'"
                              " ORDER BY id DESC LIMIT 1";
    struct statement *select;
    bool row = false;
    int code = connection_statement(connection, SQL, &select, err);
    if (code == 0) {
        code = statement_step(connection, select, &row, err);
    }
    if (code != 0) {
        return code;
    }
    *out_end = (struct scan_end){0};
    if (row) {
        out_end->id = statement_int(select, 0);
        out_end->finished_at_ms = statement_int(select, 1);
        statement_reset(select);
    }
    return 0;
}

static enum scan_trigger trigger_from_name(const char *name)
{
    int trigger = SCAN_STARTUP;
    while (trigger < SCAN_CLI && !text_equal(scan_trigger_name((enum scan_trigger)trigger), name)) {
        trigger++;
    }
    return (enum scan_trigger)trigger;
}

int scan_at(struct connection *connection, int64_t at_ms, struct snapshot *out_scan,
            struct err *err)
{
    /* In the order of ids, not of times: a clock that was set back does not bring an older scan
       to the front. Cost: the scans since then, about 0.1 us each. */
    static const char SQL[] =
        "SELECT id, started_at_ms, finished_at_ms, duration_ms, trigger FROM scan"
        " WHERE result = 'ok' AND finished_at_ms <= ?1 ORDER BY id DESC LIMIT 1";
    struct statement *select;
    bool row = false;
    int code = connection_statement(connection, SQL, &select, err);
    if (code == 0) {
        statement_bind_int(select, 1, at_ms);
        code = statement_step(connection, select, &row, err);
    }
    if (code == 0 && row) {
        out_scan->scan_id = statement_int(select, 0);
        out_scan->started_at_ms = statement_int(select, 1);
        out_scan->finished_at_ms = statement_int(select, 2);
        out_scan->duration_ms = (uint64_t)statement_int(select, 3);
        out_scan->trigger = trigger_from_name(statement_text(select, 4));
        statement_reset(select);
    }
    return code;
}

#define SQL_SCAN_COLUMNS                                                                           \
    "SELECT id, trigger, result, started_at_ms, finished_at_ms, duration_ms, error, critical,"     \
    " warning, info FROM scan"

static struct json *row_to_json(struct statement *select)
{
    struct json *scan = json_object();
    json_set_int(scan, "id", statement_int(select, 0));
    json_set_text(scan, "trigger", statement_text(select, 1));
    json_set_text(scan, "result", statement_text(select, 2));
    json_set_time(scan, "started_at", statement_int(select, 3));
    json_set_time(scan, "finished_at", statement_int(select, 4));
    json_set_int(scan, "duration_ms", statement_int(select, 5));
    json_set_text(scan, "error", statement_text(select, 6));
    if (statement_is_null(select, 7)) {
        json_set_null(scan, "findings"); /* a failed scan judged nothing */
    } else {
        struct json *findings = json_set_object(scan, "findings");
        json_set_int(findings, "critical", statement_int(select, 7));
        json_set_int(findings, "warning", statement_int(select, 8));
        json_set_int(findings, "info", statement_int(select, 9));
    }
    return scan;
}

int db_scans_to_json(struct db_reader *reader, int64_t limit, int64_t before,
                     struct json **out_array, struct err *err)
{
    static const char SQL[] = SQL_SCAN_COLUMNS " WHERE id < ?1 ORDER BY id DESC LIMIT ?2";
    struct json *array CLEANUP(json_done) = json_array();
    struct statement *select;
    bool row = true;
    if (limit < 0) {
        return err_set(err, ERR_USAGE, "limit must not be negative");
    }
    int code = connection_statement(&reader->connection, SQL, &select, err);
    if (code != 0) {
        return code;
    }
    statement_bind_int(select, 1, before > 0 ? before : INT64_MAX);
    statement_bind_int(select, 2, limit);
    while ((code = statement_step(&reader->connection, select, &row, err)) == 0 && row) {
        json_append(array, row_to_json(select));
    }
    if (code != 0) {
        return code;
    }
    *out_array = array;
    array = NULL;
    return 0;
}

int db_scan_to_json(struct db_reader *reader, int64_t id, struct json **out_object, struct err *err)
{
    static const char SQL[] = SQL_SCAN_COLUMNS " WHERE id = ?1";
    struct statement *select;
    bool row = false;
    int code = connection_statement(&reader->connection, SQL, &select, err);
    if (code == 0) {
        statement_bind_int(select, 1, id);
        code = statement_step(&reader->connection, select, &row, err);
    }
    if (code != 0) {
        return code;
    }
    if (!row) {
        return err_set(err, ERR_NOT_FOUND, "there is no scan %lld", (long long)id);
    }
    *out_object = row_to_json(select);
    statement_reset(select);
    return 0;
}
