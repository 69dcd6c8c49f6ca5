#include "tests/api/service.h"

#include "tests/test.h"

#include <stdio.h>

#include "base/text.h"
#include "os/tcp.h"

enum { ANSWER_MS = 20000, ANSWER_BYTES = 16 * 1024 * 1024 };

static int request_scan(void *context, int64_t *out_id, struct err *err)
{
    struct service *service = context;
    service->requested++;
    if (service->stopping) {
        return err_set(err, ERR_BUSY, "the service is stopping");
    }
    *out_id = service->queued_id;
    return 0;
}

static int scan_state(void *context, int64_t id)
{
    struct service *service = context;
    return id == service->running_id  ? API_SCAN_RUNNING
           : id == service->queued_id ? API_SCAN_QUEUED
                                      : API_SCAN_UNKNOWN;
}

static bool store_writable(void *context, struct err *err)
{
    struct service *service = context;
    bool writable = service->writable;
    if (!writable) {
        err_set(err, ERR_IO, "the disk is full");
    }
    return writable;
}

static void store_stats(void *context, struct db_stats *out_stats)
{
    const struct service *service = context;
    db_stats(service->db, out_stats);
}

int service_setup(void **state)
{
    static const char *const addresses[] = {"127.0.0.1"};
    static const char *const hosts[] = {"cudnnd.example"};
    void *fixture;
    struct err err = {0};
    struct service *service = calloc(1, sizeof *service);
    assert_int_equal(fixture_setup(&fixture), 0);
    service->fixture = fixture;
    service->db = fixture_open(service->fixture, NULL);
    for (int64_t id = 1; id <= 3; id++) {
        fixture_store(service->fixture, service->db, id);
    }
    service->snapshot = fixture_snapshot(&service->fixture->arena, 3);
    service->writable = true;
    service->queued_id = 4;
    service->facts = (struct api_service){
        .version = "1.2.3", .revision = "abc", .started_at_ms = FIXTURE_START_MS};
    service->options = (struct api_options){
        .addresses = addresses,
        .address_count = 1,
        .hosts = hosts,
        .host_count = 1,
        .token = SERVICE_TOKEN,
        .database_path = service->fixture->path,
        .context = service,
        .request_scan = request_scan,
        .scan_state = scan_state,
        .store_writable = store_writable,
        .store_stats = store_stats,
    };
    int code = api_server_start(&service->options, &service->facts, &service->server, &err);
    if (code != 0) {
        fail_msg("%s", err.message);
    }
    *state = service;
    return 0;
}

int service_setup_published(void **state)
{
    service_setup(state);
    struct service *service = *state;
    api_server_publish(service->server, service->snapshot, &service->facts);
    return 0;
}

int service_teardown(void **state)
{
    struct service *service = *state;
    void *fixture = service->fixture;
    api_server_stop(service->server);
    db_close(service->db);
    free(service);
    return fixture_teardown(&fixture);
}

struct reply service_send(struct service *service, const char *bytes)
{
    struct buf answer;
    struct err err = {0};
    buf_init(&answer, ANSWER_BYTES);
    if (os_tcp_exchange("127.0.0.1", api_server_port(service->server), bytes, ANSWER_MS, &answer,
                        &err) != 0) {
        fail_msg("%s", err.message);
    }
    size_t size = answer.size;
    struct reply reply = {.raw = buf_take(&answer)};
    char *end = strstr(reply.raw, "\r\n\r\n");
    assert_non_null(end);
    *end = '\0';
    reply.head = reply.raw;
    reply.body = end + 4;
    reply.body_size = size - (size_t)(reply.body - reply.raw);
    assert_int_equal(sscanf(reply.head, "HTTP/1.%*d %d", &reply.status), 1);
    return reply;
}

struct reply service_ask(struct service *service, const char *method, const char *path,
                         const char *headers, const char *body)
{
    struct arena arena = {0};
    const char *length =
        body == NULL ? "" : arena_printf(&arena, "Content-Length: %zu\r\n", strlen(body));
    const char *request = arena_printf(
        &arena, "%s %s HTTP/1.1\r\nHost: localhost:%u\r\nConnection: close\r\n%s%s\r\n%s", method,
        path, (unsigned)api_server_port(service->server), headers == NULL ? "" : headers, length,
        body == NULL ? "" : body);
    struct reply reply = service_send(service, request);
    arena_done(&arena);
    return reply;
}

void reply_done(struct reply *reply)
{
    free(reply->raw);
    *reply = (struct reply){0};
}

const char *reply_header(const struct reply *reply, const char *name, char value[128])
{
    size_t length = strlen(name);
    for (const char *line = strstr(reply->head, "\r\n"); line != NULL;
         line = strstr(line + 2, "\r\n")) {
        if (text_has_prefix_nocase(line + 2, name) && line[2 + length] == ':') {
            const char *text = line + 2 + length + 1;
            text += strspn(text, " ");
            size_t size = strcspn(text, "\r\n");
            assert_true(size < 128);
            memcpy(value, text, size);
            value[size] = '\0';
            return value;
        }
    }
    return NULL;
}

struct json *reply_json(const struct reply *reply)
{
    struct err err = {0};
    struct json *value = json_parse(reply->body, reply->body_size, &err);
    if (value == NULL) {
        fail_msg("%s: %s", err.message, reply->body);
    }
    return value;
}
