#ifndef DB_DOCUMENTS_H
#define DB_DOCUMENTS_H

/* A snapshot taken apart into the documents the store keeps, and put together again. No SQL here.
   A document holds nothing that changes while the thing it describes does not: probe.load_ms and a
   finding's times are null in it (the times are set anew on reading). */

#include <stdint.h>

#include "base/arena.h"
#include "base/json.h"
#include "rules/snapshot.h"

struct document {
    const char *kind; /* host, driver, gpu, toolkit, install, search_entry, finding, problem */
    const char *key;  /* the same thing in the next scan has the same */
    const char *text;
    int64_t hash;                  /* of the text */
    const struct finding *finding; /* of the snapshot; NULL for other kinds */
};

struct document_list {
    struct document *items;
    size_t count, capacity;
};

/* Every document of the snapshot, in byte order of kind and key, which are unique together: things
   with the same key are numbered, of findings with the same id one is taken. */
void documents_take_apart(struct arena *arena, const struct snapshot *snapshot,
                          struct document_list *out_list);

/* Documents on their way back into one. assembly_done frees what was not used. */
struct assembly {
    struct arena arena;
    struct assembly_part *parts;
    size_t count, capacity;
};

void assembly_done(struct assembly *assembly);

/* Takes `document`. ERR_CORRUPT: a kind that is not known. */
int assembly_add(struct assembly *assembly, const char *kind, struct json *document,
                 struct err *err);

/* The whole document. `scan` gives the scan's own fields. */
struct json *assembly_to_json(struct assembly *assembly, const struct snapshot *scan);

/* Parses a stored text; ERR_CORRUPT, also when it is not the text the hash was made of: a flipped
   bit within a document passes every check of SQLite. */
int document_parse(const char *text, int64_t hash, struct json **out_document, struct err *err);

/* state, first_seen_at, last_seen_at, resolved_at (0 = active). */
void document_set_finding_times(struct json *finding, int64_t first_seen_at_ms,
                                int64_t last_seen_at_ms, int64_t resolved_at_ms);

#endif
