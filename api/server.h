#ifndef API_SERVER_H
#define API_SERVER_H

/* The HTTP interface: the only user of libmicrohttpd. Serves documents that were rendered when a
   snapshot was published; a request never scans a disk, never waits for a worker and never blocks
   on the store's writer. Loopback only, Host checked, bounded in header and body size,
   connections and time; every error is an RFC 9457 problem document.
   Publishing swaps a reference-counted pointer: requests in flight keep the old documents. */

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "db/db.h"
#include "rules/snapshot.h"

enum { API_SCAN_UNKNOWN, API_SCAN_QUEUED, API_SCAN_RUNNING };

struct api_options {
    const char *const *addresses; /* "127.0.0.1", "::1"; checked by the configuration */
    size_t address_count;
    uint16_t port;            /* 0 = a free one, the same for every address */
    const char *const *hosts; /* further names accepted in Host */
    size_t host_count;
    const char *token;         /* for requests that change state; NULL refuses them all */
    const char *database_path; /* for readers */

    void *context; /* given to the functions below; any thread may call them */
    /* Asks for a scan now; coalesces with one that is queued already. Gives its id. */
    int (*request_scan)(void *context, int64_t *out_id, struct err *err);
    /* API_SCAN_*: a scan that the store does not know yet. */
    int (*scan_state)(void *context, int64_t id);
    /* Readiness beyond the first scan: is the store writable? err says why not. */
    bool (*store_writable)(void *context, struct err *err);
    void (*store_stats)(void *context, struct db_stats *out_stats);
};

/* What the agent knows and a snapshot does not; copied by the calls below. */
struct api_service {
    const char *version, *revision;
    int64_t started_at_ms;
    int64_t next_scan_at_ms; /* 0 = none planned */
    bool paused;
    const char *last_scan_error; /* the newest scan failed: why; NULL */
    int64_t last_scan_error_at_ms;
    const char *config_error;        /* a reload was refused; NULL */
    uint64_t scans[SCAN_CLI + 1][2]; /* [trigger][0 = ok, 1 = failed] since start */
};

struct api_server;

/* Listens at once on every address (both or none); before the first publication documents answer
   503 with Retry-After, /healthz answers. ERR_BUSY: port in use, the message names it. */
int api_server_start(const struct api_options *options, const struct api_service *service,
                     struct api_server **out_server, struct err *err);
uint16_t api_server_port(const struct api_server *server);

/* Renders every document of the snapshot once and serves them from now on. */
void api_server_publish(struct api_server *server, const struct snapshot *snapshot,
                        const struct api_service *service);
/* Only the service's own facts changed: /status and /metrics are made anew. */
void api_server_update(struct api_server *server, const struct api_service *service);

void api_server_stop(struct api_server *server); /* ends within a second; NULL is fine */

#endif
