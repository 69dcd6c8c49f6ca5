#ifndef TESTS_API_SERVICE_H
#define TESTS_API_SERVICE_H

/* The HTTP interface with a store of three scans behind it and an agent that is a handful of
   variables; requests go through a real socket. */

#include <stdatomic.h>

#include "api/server.h"
#include "tests/db/fixture.h"

#define SERVICE_TOKEN "0123456789abcdef0123456789abcdef"

struct service {
    struct fixture *fixture; /* of the store */
    struct db *db;
    struct snapshot *snapshot;
    struct api_server *server;
    struct api_service facts;
    struct api_options options;

    /* Read by the server's threads. */
    atomic_bool writable;       /* what store_writable answers */
    atomic_bool stopping;       /* request_scan refuses */
    _Atomic int64_t queued_id;  /* scan_state: queued; 0 = none */
    _Atomic int64_t running_id; /* scan_state: running; 0 = none */
    atomic_int requested;       /* calls of request_scan */
};

int service_setup(void **state); /* starts it, nothing published; *state is a struct service */
int service_setup_published(void **state);
int service_teardown(void **state);

struct reply {
    int status;
    char *head; /* status line and headers */
    char *body;
    size_t body_size;
    char *raw;
};

/* One request of its own connection: `request` is all of it up to the blank line, without Host and
   Connection, which are added. */
struct reply service_ask(struct service *service, const char *method, const char *path,
                         const char *headers, const char *body);
/* Bytes as they are; ends when the server closes the connection. */
struct reply service_send(struct service *service, const char *bytes);
void reply_done(struct reply *reply);

/* A header's value in the caller's buffer; NULL when it is not there. */
const char *reply_header(const struct reply *reply, const char *name, char value[128]);

/* The body; fails the test when it is no JSON. json_free it. */
struct json *reply_json(const struct reply *reply);

#endif
