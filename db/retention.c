#include "db/connection.h"

struct pruning {
    int64_t before_ms;
    uint64_t rows;
};

/* In this order: an interval goes when no scan is left in it. Not by its last scan's time alone,
   since clocks are set back and forth: what a kept scan shows stays whole. */
static const char SQL_SCANS[] =
    "DELETE FROM scan WHERE finished_at_ms < ?1"
    " AND id IS NOT (SELECT id FROM scan ORDER BY id DESC LIMIT 1)"
    " AND id IS NOT (SELECT id FROM scan WHERE result = 'ok' ORDER BY id DESC LIMIT 1)";
static const char SQL_ENTITIES[] =
    "DELETE FROM entity WHERE last_scan IS NOT NULL AND ?1 IS NOT NULL AND NOT EXISTS"
    " (SELECT 1 FROM scan WHERE scan.id BETWEEN entity.first_scan AND entity.last_scan)";
static const char SQL_FINDINGS[] = "DELETE FROM finding WHERE resolved_at_ms < ?1";

static int prune(struct connection *connection, void *context, struct err *err)
{
    static const char *const steps[] = {SQL_SCANS, SQL_ENTITIES, SQL_FINDINGS};
    struct pruning *pruning = context;
    for (size_t i = 0; i < sizeof steps / sizeof *steps; i++) {
        struct statement *statement;
        int code = connection_statement(connection, steps[i], &statement, err);
        if (code != 0) {
            return code;
        }
        statement_bind_int(statement, 1, pruning->before_ms);
        code = statement_run(connection, statement, err);
        if (code != 0) {
            return code;
        }
        pruning->rows += (uint64_t)sqlite3_changes64(connection->handle);
    }
    return 0;
}

int db_prune(struct db *db, int64_t before_ms, uint64_t *out_rows, struct err *err)
{
    struct pruning pruning = {.before_ms = before_ms};
    int code = connection_change_store(db, prune, &pruning, err);
    if (code == 0 && out_rows != NULL) {
        *out_rows = pruning.rows;
    }
    return code;
}
