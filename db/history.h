#ifndef DB_HISTORY_H
#define DB_HISTORY_H

/* What the files of this room that keep the history ask of each other. All of it runs inside the
   caller's transaction. */

#include "db/documents.h"
#include "db/statement.h"

struct scan_end {
    int64_t id; /* 0 = there is none */
    int64_t finished_at_ms;
};

/* The newest scan that ended well. */
int scan_newest_ok(struct connection *connection, struct scan_end *out_end, struct err *err);

/* The newest scan that ended well at or before that time. Fills the scan's own fields (scan_id,
   times, trigger) of a zeroed snapshot; scan_id stays 0 when there is none. */
int scan_at(struct connection *connection, int64_t at_ms, struct snapshot *out_scan,
            struct err *err);

/* ERR_USAGE unless the id is above every stored one. */
int scan_insert(struct connection *connection, const struct snapshot *snapshot, struct err *err);

/* Opens, carries on and resolves findings. `times[i]` gets the first_seen_at of the finding of
   documents->items[i]; 0 for other documents. */
int findings_store(struct connection *connection, const struct document_list *documents,
                   const struct snapshot *snapshot, const struct scan_end *previous, int64_t *times,
                   struct err *err);

/* first_seen_at of the occurrence that a finding had in a scan; 0 when it is not known. */
int finding_first_seen(struct connection *connection, const char *id, int64_t scan,
                       int64_t *out_first_seen_at_ms, struct err *err);

#endif
