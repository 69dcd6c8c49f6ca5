#include "base/cleanup.h"
#include "base/text.h"
#include "db/connection.h"
#include "db/history.h"

/* ---- writing ---- */

struct active {
    int64_t number, hash, first_seen_at_ms;
    const char *id;
};

struct active_list {
    struct active *items;
    size_t count, capacity;
};

static int load_active(struct connection *connection, struct arena *arena, struct active_list *list,
                       struct err *err)
{
    static const char SQL[] = "SELECT number, id, hash, first_seen_at_ms FROM finding"
                              " WHERE resolved_at_ms IS NULL ORDER BY id";
    struct statement *select;
    bool row = true;
    int code = connection_statement(connection, SQL, &select, err);
    while (code == 0 && (code = statement_step(connection, select, &row, err)) == 0 && row) {
        struct active *item =
            arena_push(arena, &list->items, &list->count, &list->capacity, sizeof *item);
        item->number = statement_int(select, 0);
        item->id = arena_strdup(arena, statement_text(select, 1));
        item->hash = statement_int(select, 2);
        item->first_seen_at_ms = statement_int(select, 3);
    }
    return code;
}

static int resolve(struct connection *connection, const struct active *item,
                   const struct scan_end *previous, int64_t now_ms, struct err *err)
{
    static const char SQL[] =
        "UPDATE finding SET last_seen_at_ms = ?2, resolved_at_ms = ?3 WHERE number = ?1";
    struct statement *update;
    int code = connection_statement(connection, SQL, &update, err);
    if (code != 0) {
        return code;
    }
    statement_bind_int(update, 1, item->number);
    statement_bind_int(update, 2, previous->finished_at_ms);
    statement_bind_int(update, 3, now_ms);
    return statement_run(connection, update, err);
}

/* The same fault, told differently: another file more, another severity. */
static int rewrite(struct connection *connection, const struct active *item,
                   const struct document *document, struct err *err)
{
    static const char SQL[] = "UPDATE finding SET code = ?2, severity = ?3, hash = ?4,"
                              " document = ?5 WHERE number = ?1";
    struct statement *update;
    int code = connection_statement(connection, SQL, &update, err);
    if (code != 0) {
        return code;
    }
    statement_bind_int(update, 1, item->number);
    statement_bind_text(update, 2, document->finding->code);
    statement_bind_text(update, 3, severity_name(document->finding->severity));
    statement_bind_int(update, 4, document->hash);
    statement_bind_text(update, 5, document->text);
    return statement_run(connection, update, err);
}

static int begin(struct connection *connection, const struct document *document,
                 const struct snapshot *snapshot, struct err *err)
{
    static const char SQL[] =
        "INSERT INTO finding (id, code, severity, hash, first_scan, first_seen_at_ms, document)"
        " VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)";
    struct statement *insert;
    int code = connection_statement(connection, SQL, &insert, err);
    if (code != 0) {
        return code;
    }
    statement_bind_text(insert, 1, document->finding->id);
    statement_bind_text(insert, 2, document->finding->code);
    statement_bind_text(insert, 3, severity_name(document->finding->severity));
    statement_bind_int(insert, 4, document->hash);
    statement_bind_int(insert, 5, snapshot->scan_id);
    statement_bind_int(insert, 6, snapshot->finished_at_ms);
    statement_bind_text(insert, 7, document->text);
    return statement_run(connection, insert, err);
}

static int carry_on(struct connection *connection, const struct active *active,
                    const struct document *document, struct err *err)
{
    return active->hash == document->hash ? 0 : rewrite(connection, active, document, err);
}

/* The next document of a finding, at or behind `from`. */
static size_t next_finding(const struct document_list *documents, size_t from)
{
    while (from < documents->count && documents->items[from].finding == NULL) {
        from++;
    }
    return from;
}

/* Walks both lists, sorted by id, at once. */
int findings_store(struct connection *connection, const struct document_list *documents,
                   const struct snapshot *snapshot, const struct scan_end *previous, int64_t *times,
                   struct err *err)
{
    struct arena arena CLEANUP(arena_done) = {0};
    struct active_list active = {0};
    size_t i = 0, k = next_finding(documents, 0);
    int code = load_active(connection, &arena, &active, err);
    while (code == 0 && (i < active.count || k < documents->count)) {
        int order = i == active.count       ? 1
                    : k == documents->count ? -1
                                            : strcmp(active.items[i].id, documents->items[k].key);
        if (order < 0) {
            code = resolve(connection, &active.items[i++], previous, snapshot->finished_at_ms, err);
            continue;
        }
        if (order > 0) {
            times[k] = snapshot->finished_at_ms;
            code = begin(connection, &documents->items[k], snapshot, err);
        } else {
            times[k] = active.items[i].first_seen_at_ms;
            code = carry_on(connection, &active.items[i++], &documents->items[k], err);
        }
        k = next_finding(documents, k + 1);
    }
    return code;
}

/* ---- reading ---- */

int finding_first_seen(struct connection *connection, const char *id, int64_t scan,
                       int64_t *out_first_seen_at_ms, struct err *err)
{
    static const char SQL[] = "SELECT first_seen_at_ms FROM finding"
                              " WHERE id = ?1 AND first_scan <= ?2 ORDER BY number DESC LIMIT 1";
    struct statement *select;
    bool row = false;
    int code = connection_statement(connection, SQL, &select, err);
    if (code == 0) {
        statement_bind_text(select, 1, id);
        statement_bind_int(select, 2, scan);
        code = statement_step(connection, select, &row, err);
    }
    if (code == 0) {
        *out_first_seen_at_ms = row ? statement_int(select, 0) : 0;
        statement_reset(select);
    }
    return code;
}

/* A fault has one document, that of its newest occurrence: an id is never listed twice. */
#define SQL_NEWEST                                                                                 \
    "SELECT document, first_seen_at_ms, last_seen_at_ms, resolved_at_ms, hash FROM finding"        \
    " WHERE number = (SELECT max(number) FROM finding AS other WHERE other.id = finding.id)"

static int row_to_json(struct statement *select, const struct scan_end *newest,
                       struct json **out_object, struct err *err)
{
    int code = document_parse(statement_text(select, 0), statement_int(select, 4), out_object, err);
    if (code == 0) {
        bool active = statement_is_null(select, 3);
        document_set_finding_times(*out_object, statement_int(select, 1),
                                   active ? newest->finished_at_ms : statement_int(select, 2),
                                   active ? 0 : statement_int(select, 3));
    }
    return code;
}

static int check_filter(const struct db_finding_filter *filter, struct err *err)
{
    enum { MOST = 10000 };
    if (filter->limit < 1 || filter->limit > MOST) {
        return err_set(err, ERR_USAGE, "limit must be 1 to %d", MOST);
    }
    if (filter->state != NULL && !text_equal(filter->state, "active") &&
        !text_equal(filter->state, "resolved")) {
        return err_set(err, ERR_USAGE, "state must be active or resolved");
    }
    return 0;
}

static int list_findings(struct connection *connection, const struct db_finding_filter *filter,
                         struct json *array, struct err *err)
{
    static const char SQL[] = SQL_NEWEST
        " AND (?1 IS NULL OR ?1 = iif(resolved_at_ms IS NULL, 'active', 'resolved'))"
        " AND (?2 IS NULL OR severity = ?2)"
        " AND (?3 IS NULL OR code = ?3)"
        " ORDER BY resolved_at_ms IS NOT NULL,"
        "          CASE severity WHEN 'critical' THEN 0 WHEN 'warning' THEN 1 ELSE 2 END,"
        "          first_seen_at_ms DESC, number DESC"
        " LIMIT ?4";
    struct statement *select;
    struct scan_end newest = {0};
    bool row = true;
    int code = scan_newest_ok(connection, &newest, err);
    if (code == 0) {
        code = connection_statement(connection, SQL, &select, err);
    }
    if (code != 0) {
        return code;
    }
    statement_bind_text(select, 1, filter->state);
    statement_bind_text(select, 2, filter->severity);
    statement_bind_text(select, 3, filter->code);
    statement_bind_int(select, 4, filter->limit);
    while (code == 0 && (code = statement_step(connection, select, &row, err)) == 0 && row) {
        struct json *finding = NULL;
        code = row_to_json(select, &newest, &finding, err);
        if (code == 0) {
            json_append(array, finding);
        }
    }
    return code;
}

int db_findings_to_json(struct db_reader *reader, const struct db_finding_filter *filter,
                        struct json **out_array, struct err *err)
{
    struct json *array CLEANUP(json_done) = json_array();
    int code = check_filter(filter, err);
    if (code == 0) {
        code = connection_begin_read(&reader->connection, err);
    }
    if (code != 0) {
        return code;
    }
    code = list_findings(&reader->connection, filter, array, err);
    code = connection_end(&reader->connection, code, err);
    if (code == 0) {
        *out_array = array;
        array = NULL;
    }
    return code;
}

static int read_finding(struct connection *connection, const char *id, struct json **out_object,
                        struct err *err)
{
    static const char SQL[] = SQL_NEWEST " AND id = ?1";
    struct statement *select = NULL;
    struct scan_end newest = {0};
    bool row = false;
    int code = scan_newest_ok(connection, &newest, err);
    if (code == 0) {
        code = connection_statement(connection, SQL, &select, err);
    }
    if (code == 0) {
        statement_bind_text(select, 1, id);
        code = statement_step(connection, select, &row, err);
    }
    if (code == 0 && !row) {
        code = err_set(err, ERR_NOT_FOUND, "there is no finding '%s'", id);
    }
    return code == 0 ? row_to_json(select, &newest, out_object, err) : code;
}

int db_finding_to_json(struct db_reader *reader, const char *id, struct json **out_object,
                       struct err *err)
{
    struct json *finding CLEANUP(json_done) = NULL;
    int code = connection_begin_read(&reader->connection, err);
    if (code != 0) {
        return code;
    }
    code = read_finding(&reader->connection, id, &finding, err);
    code = connection_end(&reader->connection, code, err);
    if (code == 0) {
        *out_object = finding;
        finding = NULL;
    }
    return code;
}
