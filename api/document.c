#include "api/document.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/log.h"

const char document_json[] = "application/json";
const char document_problem[] = "application/problem+json";

static struct document *document_alloc(const char *content_type, size_t size, int64_t data_at_ms)
{
    struct document *document = malloc(sizeof *document + size + 1);
    if (document == NULL) {
        log_fatal("out of memory: a document of %zu bytes", size);
    }
    atomic_init(&document->references, 1);
    document->content_type = content_type;
    document->data_at_ms = data_at_ms;
    document->varies = false;
    atomic_init(&document->prepared, NULL);
    document->release = NULL;
    document->size = size;
    document->bytes[size] = '\0';
    return document;
}

static struct document *document_seal(struct document *document)
{
    uint64_t hash = hash_bytes(HASH_START, document->bytes, document->size);
    snprintf(document->etag, sizeof document->etag, "\"%016" PRIx64 "\"", hash);
    return document;
}

struct document *document_new(const char *content_type, const char *bytes, size_t size,
                              int64_t data_at_ms)
{
    struct document *document = document_alloc(content_type, size, data_at_ms);
    memcpy(document->bytes, bytes, size);
    return document_seal(document);
}

struct document *document_of_json(const char *content_type, struct json *value, int64_t data_at_ms)
{
    char *text = json_print_pretty(value);
    size_t length = strlen(text);
    struct document *document = document_alloc(content_type, length + 1, data_at_ms);
    memcpy(document->bytes, text, length);
    document->bytes[length] = '\n';
    free(text);
    json_free(value);
    return document_seal(document);
}

struct document *document_keep(struct document *document)
{
    if (document != NULL) {
        atomic_fetch_add_explicit(&document->references, 1, memory_order_relaxed);
    }
    return document;
}

void document_drop(struct document *document)
{
    if (document != NULL &&
        atomic_fetch_sub_explicit(&document->references, 1, memory_order_acq_rel) == 1) {
        if (atomic_load(&document->prepared) != NULL) {
            document->release(document);
        } else {
            free(document);
        }
    }
}
