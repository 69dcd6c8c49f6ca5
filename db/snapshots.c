#include "base/cleanup.h"
#include "db/connection.h"
#include "db/history.h"

/* ---- writing: what changed since the last scan ---- */

struct current {
    int64_t id, hash;
    const char *kind, *key;
};

struct current_list {
    struct current *items;
    size_t count, capacity;
};

/* What is there at present, in the order of documents_take_apart. */
static int load_current(struct connection *connection, struct arena *arena,
                        struct current_list *list, struct err *err)
{
    static const char SQL[] = "SELECT id, kind, key, hash FROM entity WHERE last_scan IS NULL"
                              " ORDER BY kind, key";
    struct statement *select;
    bool row = true;
    int code = connection_statement(connection, SQL, &select, err);
    while (code == 0 && (code = statement_step(connection, select, &row, err)) == 0 && row) {
        struct current *item =
            arena_push(arena, &list->items, &list->count, &list->capacity, sizeof *item);
        item->id = statement_int(select, 0);
        item->kind = arena_strdup(arena, statement_text(select, 1));
        item->key = arena_strdup(arena, statement_text(select, 2));
        item->hash = statement_int(select, 3);
    }
    return code;
}

static int close_interval(struct connection *connection, const struct current *item,
                          int64_t last_scan, struct err *err)
{
    static const char SQL[] = "UPDATE entity SET last_scan = ?2 WHERE id = ?1";
    struct statement *update;
    int code = connection_statement(connection, SQL, &update, err);
    if (code != 0) {
        return code;
    }
    statement_bind_int(update, 1, item->id);
    statement_bind_int(update, 2, last_scan);
    return statement_run(connection, update, err);
}

static int open_interval(struct connection *connection, const struct document *document,
                         int64_t first_scan, struct err *err)
{
    static const char SQL[] = "INSERT INTO entity (kind, key, hash, first_scan, document)"
                              " VALUES (?1, ?2, ?3, ?4, ?5)";
    struct statement *insert;
    int code = connection_statement(connection, SQL, &insert, err);
    if (code != 0) {
        return code;
    }
    statement_bind_text(insert, 1, document->kind);
    statement_bind_text(insert, 2, document->key);
    statement_bind_int(insert, 3, document->hash);
    statement_bind_int(insert, 4, first_scan);
    statement_bind_text(insert, 5, document->text);
    return statement_run(connection, insert, err);
}

static int compare(const struct current *current, const struct document *document)
{
    int order = strcmp(current->kind, document->kind);
    return order != 0 ? order : strcmp(current->key, document->key);
}

/* Walks both sorted lists at once. An interval ends with the previous scan: the last one in which
   the thing was there, as it was. */
static int store_changes(struct connection *connection, const struct current_list *current,
                         const struct document_list *documents, int64_t previous, int64_t scan,
                         struct err *err)
{
    size_t i = 0, k = 0;
    int code = 0;
    while (code == 0 && (i < current->count || k < documents->count)) {
        int order = i == current->count     ? 1
                    : k == documents->count ? -1
                                            : compare(&current->items[i], &documents->items[k]);
        bool same = order == 0 && current->items[i].hash == documents->items[k].hash;
        if (order <= 0 && !same) {
            code = close_interval(connection, &current->items[i], previous, err);
        }
        if (code == 0 && order >= 0 && !same) {
            code = open_interval(connection, &documents->items[k], scan, err);
        }
        i += order <= 0;
        k += order >= 0;
    }
    return code;
}

struct storing {
    struct arena *arena;
    const struct snapshot *snapshot;
    struct document_list documents;
    int64_t *times; /* first_seen_at by document */
};

static int store(struct connection *connection, void *context, struct err *err)
{
    struct storing *storing = context;
    const struct snapshot *snapshot = storing->snapshot;
    struct current_list current = {0};
    struct scan_end previous = {0};
    int code = scan_newest_ok(connection, &previous, err);
    if (code == 0) {
        code = scan_insert(connection, snapshot, err);
    }
    if (code == 0) {
        code = load_current(connection, storing->arena, &current, err);
    }
    if (code == 0) {
        code = store_changes(connection, &current, &storing->documents, previous.id,
                             snapshot->scan_id, err);
    }
    if (code == 0) {
        code = findings_store(connection, &storing->documents, snapshot, &previous, storing->times,
                              err);
    }
    return code;
}

int db_store_snapshot(struct db *db, struct snapshot *snapshot, struct err *err)
{
    struct arena arena CLEANUP(arena_done) = {0};
    struct storing storing = {.arena = &arena, .snapshot = snapshot};
    documents_take_apart(&arena, snapshot, &storing.documents);
    storing.times = arena_alloc(&arena, storing.documents.count * sizeof *storing.times);
    int code = connection_change_store(db, store, &storing, err);
    for (size_t i = 0; code == 0 && i < storing.documents.count; i++) {
        const struct finding *finding = storing.documents.items[i].finding;
        if (finding != NULL) {
            struct finding *own = &snapshot->findings[finding - snapshot->findings];
            own->first_seen_at_ms = storing.times[i];
            own->last_seen_at_ms = snapshot->finished_at_ms;
            own->resolved_at_ms = 0;
        }
    }
    return code;
}

/* ---- reading: the snapshot at a time ---- */

static int add_row(struct connection *connection, struct statement *select,
                   const struct snapshot *scan, struct assembly *assembly, struct err *err)
{
    struct json *document = NULL;
    const char *kind = statement_text(select, 0);
    int64_t first_seen = 0;
    int code = document_parse(statement_text(select, 3), statement_int(select, 2), &document, err);
    if (code == 0 && strcmp(kind, "finding") == 0) {
        code = finding_first_seen(connection, statement_text(select, 1), scan->scan_id, &first_seen,
                                  err);
        if (code != 0) {
            json_free(document);
            return code;
        }
        document_set_finding_times(document, first_seen, scan->finished_at_ms, 0);
    }
    return code == 0 ? assembly_add(assembly, kind, document, err) : code;
}

static int collect(struct connection *connection, const struct snapshot *scan,
                   struct assembly *assembly, struct err *err)
{
    static const char SQL[] =
        "SELECT kind, key, hash, document FROM entity WHERE last_scan IS NULL AND first_scan <= ?1"
        " UNION ALL "
        "SELECT kind, key, hash, document FROM entity WHERE last_scan >= ?1 AND first_scan <= ?1";
    struct statement *select;
    bool row = true;
    int code = connection_statement(connection, SQL, &select, err);
    if (code != 0) {
        return code;
    }
    statement_bind_int(select, 1, scan->scan_id);
    while ((code = statement_step(connection, select, &row, err)) == 0 && row) {
        code = add_row(connection, select, scan, assembly, err);
        if (code != 0) {
            break;
        }
    }
    statement_reset(select);
    return code;
}

int db_snapshot_at_to_json(struct db_reader *reader, int64_t at_ms, struct json **out_object,
                           struct err *err)
{
    struct assembly assembly CLEANUP(assembly_done) = {0};
    struct snapshot scan = {0};
    int code = connection_begin_read(&reader->connection, err);
    if (code != 0) {
        return code;
    }
    code = scan_at(&reader->connection, at_ms, &scan, err);
    if (code == 0 && scan.scan_id == 0) {
        code = err_set(err, ERR_NOT_FOUND, "no scan from before that time is stored");
    }
    if (code == 0) {
        code = collect(&reader->connection, &scan, &assembly, err);
    }
    code = connection_end(&reader->connection, code, err);
    if (code == 0) {
        *out_object = assembly_to_json(&assembly, &scan);
    }
    return code;
}
