#ifndef DB_DB_H
#define DB_DB_H

/* The store: one SQLite file (WAL), the only place where sqlite3.h is used. One writer (struct db,
   one thread at a time), readers with connections of their own (struct db_reader, one a thread).
   Inventory is kept as validity intervals (first scan, last scan) of JSON documents, so that a
   scan that changes nothing adds one small row. Nothing is ever silently deleted: a damaged file
   is set aside as `<file>.damaged-<time>`. BUSY, I/O errors and sizes are counted (db_stats).
   Cost: a scan writes O(entities that changed) rows; the current ones are compared by a hash. */

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/json.h"
#include "rules/snapshot.h"

struct db;
struct db_reader;

enum { DB_SCHEMA_VERSION = 1 };

struct db_opened {
    bool created;          /* there was none */
    const char *set_aside; /* path the damaged file was moved to; NULL */
    const char *damage;    /* what was wrong with it; NULL */
    int64_t last_scan_id;  /* 0 = no scan stored yet */
};

/* Opens or creates the store in an existing directory of our own; runs migrations after keeping a
   copy (`<file>.before-v<N>`); checks integrity (integrity_check) and sets a damaged file aside.
   Errors, each with what to do: ERR_UNSUPPORTED network share, or written by a newer version (left
   untouched); ERR_PERMISSION not writable or read-only; ERR_BUSY in use; ERR_IO, ERR_LIMIT disk
   full. Texts of out_opened are in the arena. */
int db_open(struct arena *arena, const char *path, struct db **out_db, struct db_opened *out_opened,
            struct err *err);
void db_close(struct db *db); /* checkpoints; NULL is fine */

/* Stores a judged snapshot in one transaction: scan row, intervals, findings. Sets the findings'
   first_seen_at_ms and last_seen_at_ms. snapshot->scan_id must be above every stored one.
   Host, driver, each gpu, toolkit, install, search-path entry and problem is an entity with a key
   stable across scans; volatile fields (probe.load_ms) are not stored and are no change. A fault
   that comes back after it was resolved is a new occurrence under the same id, with a first_seen_at
   of its own. ERR_USAGE: the id; other errors as in db_open, and nothing was stored. */
int db_store_snapshot(struct db *db, struct snapshot *snapshot, struct err *err);

/* A scan that failed or was cancelled: only its row. */
int db_store_failed_scan(struct db *db, int64_t id, enum scan_trigger trigger,
                         int64_t started_at_ms, int64_t finished_at_ms, const char *error,
                         struct err *err);

/* Forgets what ended before that time: scans (never the last one), closed intervals, resolved
   findings. Returns how many rows went. */
int db_prune(struct db *db, int64_t before_ms, uint64_t *out_rows, struct err *err);

/* Writes to the disk and rolls back: is the store writable now? From any thread; waits for another
   program's lock for 5 s at most, and not at all while this one writes: then the answer is how the
   write before ended. */
int db_check_writable(struct db *db, struct err *err);

struct db_stats {
    uint64_t file_bytes, wal_bytes;
    uint64_t busy_total, io_error_total, full_total;
};
void db_stats(struct db *db, struct db_stats *out_stats); /* from any thread */

int db_reader_open(const char *path, struct db_reader **out_reader, struct err *err);
void db_reader_close(struct db_reader *reader);

/* Newest first: {"id","trigger","result","started_at","finished_at","duration_ms","error",
   "findings":{"critical","warning","info"}}, at most `limit`, ids below `before` (0 = no bound).
   "findings" is null for a failed scan. */
int db_scans_to_json(struct db_reader *reader, int64_t limit, int64_t before,
                     struct json **out_array, struct err *err);
int db_scan_to_json(struct db_reader *reader, int64_t id, struct json **out_object,
                    struct err *err); /* ERR_NOT_FOUND */

struct db_finding_filter { /* NULL = any */
    const char *state;     /* "active", "resolved" */
    const char *severity;
    const char *code;
    int64_t limit; /* 1..10000 */
};
/* Documents of finding_to_json with state, first_seen_at, last_seen_at, resolved_at as stored;
   active first, then worst first, then newest. Of each id the newest occurrence. */
int db_findings_to_json(struct db_reader *reader, const struct db_finding_filter *filter,
                        struct json **out_array, struct err *err);
int db_finding_to_json(struct db_reader *reader, const char *id, struct json **out_object,
                       struct err *err);

/* The snapshot document as it was at a time (load_ms null); ERR_NOT_FOUND before the first scan. */
int db_snapshot_at_to_json(struct db_reader *reader, int64_t at_ms, struct json **out_object,
                           struct err *err);

#endif
