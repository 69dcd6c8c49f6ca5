#ifndef API_DOCUMENT_H
#define API_DOCUMENT_H

/* The bytes of one HTTP answer, immutable and shared by reference: whoever holds one drops it, the
   last one frees it. Safe from any thread. */

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/json.h"

struct document {
    atomic_uint references;
    const char *content_type; /* static */
    char etag[20];            /* in its quotes: a hash of the bytes */
    int64_t data_at_ms;       /* when what it says was observed; 0 = says nothing that ages */
    bool varies;              /* another Accept header would have got another document */
    /* What the HTTP library made of it for all who ask, NULL = nothing yet; it points into `bytes`
       and outlives the last reference while somebody is still being answered. `release` ends it
       and frees the document after that. */
    _Atomic(void *) prepared;
    void (*release)(struct document *document);
    size_t size;
    char bytes[];
};

extern const char document_json[];    /* application/json */
extern const char document_problem[]; /* application/problem+json */

/* A new one with one reference, of a copy of the bytes. */
struct document *document_new(const char *content_type, const char *bytes, size_t size,
                              int64_t data_at_ms);
/* Indented, with a final newline: people read these in terminals. Takes the value. */
struct document *document_of_json(const char *content_type, struct json *value, int64_t data_at_ms);

struct document *document_keep(struct document *document); /* one more reference; NULL is fine */
void document_drop(struct document *document);             /* one less; NULL is fine */

#endif
