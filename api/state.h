#ifndef API_STATE_H
#define API_STATE_H

/* What the room's handlers share, without the HTTP library: the published documents, the store's
   readers, the counters. Handlers run on several threads; publishing happens on one. */

#include <pthread.h>

#include "api/document.h"
#include "api/server.h"
#include "base/arena.h"

enum { API_IDLE_READERS = 4, API_ROUTES_MAX = 32, API_STATUS_CODES = 16, API_FORMATS = 2 };

enum api_format { API_PROMETHEUS, API_OPENMETRICS };

/* Documents of one snapshot by their path, sorted. */
struct publication {
    struct publication_entry {
        char *path;
        struct document *document;
    } * entries;
    size_t count, capacity;
    int64_t data_at_ms;
    int64_t error_at_ms; /* of the failed scan that was known when it was published */
};

struct api_state {
    struct arena arena;         /* of the options' texts */
    struct api_options options; /* our own copy */
    uint16_t port;

    pthread_mutex_t mutex;           /* guards what follows, for pointer swaps and copies only */
    struct publication *publication; /* NULL before the first */
    struct document *status;
    char *snapshot_metrics[API_FORMATS];   /* families of the snapshot; NULL = none */
    struct document *metrics[API_FORMATS]; /* whole pages, made anew when older than a second */
    uint64_t metrics_at_ms[API_FORMATS];   /* steady */
    struct api_service service;            /* texts are in service_texts */
    char *service_texts[4];
    struct db_reader *idle_readers[API_IDLE_READERS];
    size_t idle_count;

    struct json *status_of_snapshot;        /* the publishing thread's own */
    struct document *rules, *alive, *ready; /* never change */

    /* [route, the last one for paths that are none][index of the status code] */
    atomic_ullong requests[API_ROUTES_MAX + 1][API_STATUS_CODES];
};

void api_state_init(struct api_state *state, const struct api_options *options,
                    const struct api_service *service);
void api_state_done(struct api_state *state);

void api_state_publish(struct api_state *state, const struct snapshot *snapshot,
                       const struct api_service *service);
void api_state_update(struct api_state *state, const struct api_service *service);

/* A reference of the document at a path of the newest publication. *out_published: false before
   the first one; NULL and true: there is no such thing now. */
struct document *api_state_document(struct api_state *state, const char *path, bool *out_published);

struct document *api_state_status(struct api_state *state);
struct document *api_state_metrics(struct api_state *state, enum api_format format);

/* A connection to the store for one request, given back after it; `broken`: it answered an error
   that another request should not inherit. */
int api_state_take_reader(struct api_state *state, struct db_reader **out_reader, struct err *err);
void api_state_give_reader(struct api_state *state, struct db_reader *reader, bool broken);

/* Counters of answered requests. */
void api_state_count(struct api_state *state, size_t route, unsigned status);
extern const unsigned api_status_codes[API_STATUS_CODES];

#endif
