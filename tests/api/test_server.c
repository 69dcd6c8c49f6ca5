#include "tests/test.h"

#include <stdio.h>

#include "base/cleanup.h"
#include "base/text.h"
#include "os/tcp.h"
#include "tests/api/service.h"

static struct json *ask_json(struct service *service, const char *path, int status)
{
    struct reply reply CLEANUP(reply_done) = service_ask(service, "GET", path, NULL, NULL);
    if (reply.status != status) {
        fail_msg("%s answers %d: %s", path, reply.status, reply.body);
    }
    return reply_json(&reply);
}

static void assert_text_at(const struct json *object, const char *key, const char *expected)
{
    const char *text;
    assert_int_equal(json_read_text(object, key, &text, NULL), 0);
    assert_string_equal(text, expected);
}

static void assert_int_at(const struct json *object, const char *key, int64_t expected)
{
    int64_t value;
    assert_int_equal(json_read_int(object, key, &value, NULL), 0);
    assert_int_equal(value, expected);
}

/* Fails unless the answer is a problem document of that status whose detail has `words` in it. */
static void assert_problem(const struct reply *reply, int status, const char *words)
{
    char type[128];
    const char *detail;
    if (reply->status != status) {
        fail_msg("status %d, expected %d: %s", reply->status, status, reply->body);
    }
    assert_string_equal(reply_header(reply, "Content-Type", type), "application/problem+json");
    struct json *CLEANUP(json_done) problem = reply_json(reply);
    assert_int_at(problem, "status", status);
    assert_int_equal(json_read_text(problem, "detail", &detail, NULL), 0);
    if (strstr(detail, words) == NULL) {
        fail_msg("'%s' does not say '%s'", detail, words);
    }
}

/* ---- before the first scan ---- */

static void before_the_first_scan_only_the_service_is_known(void **state)
{
    struct service *service = *state;
    struct json *CLEANUP(json_done) status = ask_json(service, "/status", 200);
    assert_text_at(status, "health", "unknown");
    assert_true(json_is_null(json_get(json_get(status, "scan"), "last")));
    assert_text_at(json_get(status, "service"), "version", "1.2.3");
    static const char *const early[] = {"/readyz", "/api/v1/snapshot", "/api/v1/installs",
                                        "/api/v1/findings", "/api/v1/driver"};
    for (size_t i = 0; i < sizeof early / sizeof *early; i++) {
        char value[128];
        struct reply reply CLEANUP(reply_done) = service_ask(service, "GET", early[i], NULL, NULL);
        assert_problem(&reply, 503, "first scan");
        assert_non_null(reply_header(&reply, "Retry-After", value));
    }
    json_free(ask_json(service, "/healthz", 200));
    json_free(ask_json(service, "/api/v1/rules", 200));
}

static void metrics_before_the_first_scan_are_of_the_service_alone(void **state)
{
    struct reply reply CLEANUP(reply_done) = service_ask(*state, "GET", "/metrics", NULL, NULL);
    assert_int_equal(reply.status, 200);
    assert_non_null(strstr(reply.body, "cudnnd_build_info{version=\"1.2.3\",revision=\"abc\"} 1"));
    assert_null(strstr(reply.body, "cudnnd_health"));
}

/* ---- documents ---- */

static void every_list_has_its_scan_and_its_items(void **state)
{
    static const struct {
        const char *path, *key;
        size_t count;
    } lists[] = {
        {"/api/v1/installs", "installs", FIXTURE_INSTALLS},
        {"/api/v1/toolkits", "toolkits", 2},
        {"/api/v1/gpus", "gpus", 2},
        {"/api/v1/search-path", "search_path", FIXTURE_SEARCH},
        {"/api/v1/findings", "findings", FIXTURE_FINDINGS},
    };
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++) {
        struct json *CLEANUP(json_done) document = ask_json(*state, lists[i].path, 200);
        assert_int_at(json_get(document, "scan"), "id", 3);
        assert_int_equal(json_count(json_get(document, lists[i].key)), lists[i].count);
    }
}

static void an_install_is_served_by_its_id(void **state)
{
    struct json *CLEANUP(json_done) list = ask_json(*state, "/api/v1/installs", 200);
    const struct json *first = json_at(json_get(list, "installs"), 0);
    char path[128];
    snprintf(path, sizeof path, "/api/v1/installs/%s", json_as_text(json_get(first, "id")));
    struct json *CLEANUP(json_done) one = ask_json(*state, path, 200);
    assert_text_at(one, "path", json_as_text(json_get(first, "path")));
    json_free(ask_json(*state, "/api/v1/installs/0000", 404));
    json_free(ask_json(*state, "/api/v1/installs/", 404));
    json_free(ask_json(*state, "/api/v1/installs/a/b", 404));
}

static void status_counts_what_the_snapshot_has(void **state)
{
    struct json *CLEANUP(json_done) status = ask_json(*state, "/status", 200);
    const struct json *counts = json_get(status, "counts");
    assert_int_at(counts, "installs", FIXTURE_INSTALLS);
    int64_t sum = 0;
    for (size_t i = 0; i < json_count(json_get(counts, "findings")); i++) {
        static const char *const severities[] = {"critical", "warning", "info"};
        int64_t value;
        assert_int_equal(json_read_int(json_get(counts, "findings"), severities[i], &value, NULL),
                         0);
        sum += value;
    }
    assert_int_equal(sum, FIXTURE_FINDINGS);
    assert_int_equal(json_count(json_get(status, "findings")), FIXTURE_FINDINGS);
}

static void status_follows_the_service_between_scans(void **state)
{
    struct service *service = *state;
    char why[] = "cannot read";
    service->facts.config_error = why;
    service->facts.paused = true;
    service->facts.next_scan_at_ms = FIXTURE_START_MS;
    api_server_update(service->server, &service->facts);
    why[0] = 'X'; /* the server has its own copy */
    struct json *CLEANUP(json_done) status = ask_json(service, "/status", 200);
    assert_text_at(json_get(status, "service"), "config_error", "cannot read");
    assert_true(json_is_null(json_get(json_get(status, "scan"), "next_at")));
    assert_int_at(json_get(json_get(status, "scan"), "last"), "id", 3);
}

static void an_unchanged_document_is_not_sent_again(void **state)
{
    char etag[128];
    char headers[192];
    struct reply first CLEANUP(reply_done) = service_ask(*state, "GET", "/status", NULL, NULL);
    assert_non_null(reply_header(&first, "ETag", etag));
    snprintf(headers, sizeof headers, "If-None-Match: \"other\", %s\r\n", etag);
    struct reply again CLEANUP(reply_done) = service_ask(*state, "GET", "/status", headers, NULL);
    assert_int_equal(again.status, 304);
    assert_int_equal(again.body_size, 0);
    struct reply other CLEANUP(reply_done) =
        service_ask(*state, "GET", "/status", "If-None-Match: \"other\"\r\n", NULL);
    assert_int_equal(other.status, 200);
    struct service *service = *state;
    service->facts.paused = true;
    api_server_update(service->server, &service->facts);
    struct reply changed CLEANUP(reply_done) = service_ask(*state, "GET", "/status", headers, NULL);
    assert_int_equal(changed.status, 200);
}

static void head_is_get_without_the_body(void **state)
{
    char length[128];
    struct reply get CLEANUP(reply_done) =
        service_ask(*state, "GET", "/api/v1/snapshot", NULL, NULL);
    struct reply head CLEANUP(reply_done) =
        service_ask(*state, "HEAD", "/api/v1/snapshot", NULL, NULL);
    assert_int_equal(head.status, 200);
    assert_int_equal(head.body_size, 0);
    assert_non_null(reply_header(&head, "Content-Length", length));
    assert_int_equal(strtoul(length, NULL, 10), get.body_size);
}

static void documents_say_how_old_their_data_is(void **state)
{
    char time[128];
    struct reply reply CLEANUP(reply_done) =
        service_ask(*state, "GET", "/api/v1/installs", NULL, NULL);
    assert_non_null(reply_header(&reply, "Date", time));
    /* The fixture's third scan: 2026-01-31 12:45. */
    assert_string_equal(reply_header(&reply, "Last-Modified", time),
                        "Sat, 31 Jan 2026 12:45:00 GMT");
    struct reply page CLEANUP(reply_done) = service_ask(*state, "GET", "/metrics", NULL, NULL);
    assert_string_equal(reply_header(&page, "Vary", time), "Accept");
}

/* ---- the store's documents ---- */

static void scans_come_newest_first_and_by_pages(void **state)
{
    struct json *CLEANUP(json_done) page = ask_json(*state, "/api/v1/scans?limit=2", 200);
    const struct json *scans = json_get(page, "scans");
    assert_int_equal(json_count(scans), 2);
    assert_int_at(json_at(scans, 0), "id", 3);
    struct json *CLEANUP(json_done) rest = ask_json(*state, "/api/v1/scans?before=2", 200);
    assert_int_equal(json_count(json_get(rest, "scans")), 1);
    assert_int_at(json_at(json_get(rest, "scans"), 0), "id", 1);
}

static void a_scan_is_queued_running_stored_or_unknown(void **state)
{
    struct service *service = *state;
    service->running_id = 5;
    static const struct {
        const char *path, *result;
    } scans[] = {
        {"/api/v1/scans/2", "ok"}, {"/api/v1/scans/4", "queued"}, {"/api/v1/scans/5", "running"}};
    for (size_t i = 0; i < sizeof scans / sizeof *scans; i++) {
        struct json *CLEANUP(json_done) scan = ask_json(service, scans[i].path, 200);
        assert_text_at(scan, "result", scans[i].result);
    }
    json_free(ask_json(service, "/api/v1/scans/77", 404));
    json_free(ask_json(service, "/api/v1/scans/none", 404));
    json_free(ask_json(service, "/api/v1/scans/99999999999999999999", 404));
}

static void the_snapshot_of_a_time_is_read_back(void **state)
{
    struct json *CLEANUP(json_done) then =
        ask_json(*state, "/api/v1/snapshot?at=2026-01-31T12:31:00Z", 200);
    assert_int_at(json_get(then, "scan"), "id", 2);
    /* The same moment in another zone; a '+' in a query stands for a blank. */
    struct json *CLEANUP(json_done) same =
        ask_json(*state, "/api/v1/snapshot?at=2026-01-31T13:31:00+01:00", 200);
    assert_int_at(json_get(same, "scan"), "id", 2);
    json_free(ask_json(*state, "/api/v1/snapshot?at=2020-01-01T00:00:00Z", 404));
    struct reply wrong CLEANUP(reply_done) =
        service_ask(*state, "GET", "/api/v1/snapshot?at=yesterday", NULL, NULL);
    assert_problem(&wrong, 400, "RFC 3339");
}

static void findings_are_filtered_by_severity_code_and_state(void **state)
{
    struct json *CLEANUP(json_done) all = ask_json(*state, "/api/v1/findings", 200);
    const struct json *first = json_at(json_get(all, "findings"), 0);
    char path[160];
    snprintf(path, sizeof path, "/api/v1/findings?code=%s&severity=%s",
             json_as_text(json_get(first, "code")), json_as_text(json_get(first, "severity")));
    struct json *CLEANUP(json_done) some = ask_json(*state, path, 200);
    assert_true(json_count(json_get(some, "findings")) >= 1);
    assert_true(json_count(json_get(some, "findings")) < FIXTURE_FINDINGS);
    struct json *CLEANUP(json_done) none = ask_json(*state, "/api/v1/findings?code=none", 200);
    assert_int_equal(json_count(json_get(none, "findings")), 0);
    struct json *CLEANUP(json_done) stored = ask_json(*state, "/api/v1/findings?state=all", 200);
    assert_int_equal(json_count(json_get(stored, "findings")), FIXTURE_FINDINGS);
    struct json *CLEANUP(json_done) gone = ask_json(*state, "/api/v1/findings?state=resolved", 200);
    assert_int_equal(json_count(json_get(gone, "findings")), 0);
    snprintf(path, sizeof path, "/api/v1/findings/%s", json_as_text(json_get(first, "id")));
    struct json *CLEANUP(json_done) one = ask_json(*state, path, 200);
    assert_text_at(one, "id", json_as_text(json_get(first, "id")));
    json_free(ask_json(*state, "/api/v1/findings/0000", 404));
}

static void wrong_parameters_are_named(void **state)
{
    static const struct {
        const char *path, *words;
    } wrong[] = {
        {"/api/v1/scans?limit=0", "'limit' must be"},
        {"/api/v1/scans?limit=1001", "'limit' must be"},
        {"/api/v1/scans?limit=-1", "'limit' must be"},
        {"/api/v1/scans?before=x", "'before' must be"},
        {"/api/v1/scans?limits=5", "no parameter 'limits'"},
        {"/api/v1/scans?limit=5&limit=6", "given twice"},
        {"/api/v1/findings?state=open", "'state' must be"},
        {"/api/v1/findings?severity=bad", "'severity' must be"},
        {"/api/v1/findings?a&b&c&d&e&f&g&h&i&j&k&l&m&n&o&p&q", "at most"},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        struct reply reply CLEANUP(reply_done) =
            service_ask(*state, "GET", wrong[i].path, NULL, NULL);
        assert_problem(&reply, 400, wrong[i].words);
    }
}

static void ready_needs_a_writable_store(void **state)
{
    struct service *service = *state;
    json_free(ask_json(service, "/readyz", 200));
    service->writable = false;
    struct reply reply CLEANUP(reply_done) = service_ask(service, "GET", "/readyz", NULL, NULL);
    assert_problem(&reply, 503, "the disk is full");
    json_free(ask_json(service, "/healthz", 200));
}

/* ---- what changes something ---- */

static const char *const authorized = "Authorization: Bearer " SERVICE_TOKEN "\r\n";

static void a_scan_is_asked_for_with_the_token_only(void **state)
{
    struct service *service = *state;
    static const char *const refused[] = {
        NULL,
        "Authorization: Bearer \r\n",
        "Authorization: Bearer 0123456789abcdef0123456789abcdeX\r\n",
        "Authorization: Bearer 0123456789abcdef0123456789abcde\r\n",
        "Authorization: Bearer " SERVICE_TOKEN "0\r\n",
        "Authorization: Basic " SERVICE_TOKEN "\r\n",
    };
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
        char value[128];
        struct reply reply CLEANUP(reply_done) =
            service_ask(service, "POST", "/api/v1/scans", refused[i], NULL);
        assert_problem(&reply, 401, "token");
        assert_non_null(reply_header(&reply, "WWW-Authenticate", value));
    }
    assert_int_equal(service->requested, 0);
    char location[128];
    struct reply reply CLEANUP(reply_done) =
        service_ask(service, "POST", "/api/v1/scans", authorized, "");
    assert_int_equal(reply.status, 202);
    assert_string_equal(reply_header(&reply, "Location", location), "/api/v1/scans/4");
    assert_int_equal(service->requested, 1);
    service->stopping = true;
    struct reply late CLEANUP(reply_done) =
        service_ask(service, "POST", "/api/v1/scans", authorized, NULL);
    assert_problem(&late, 503, "stopping");
}

static void a_scan_takes_no_options(void **state)
{
    struct reply empty CLEANUP(reply_done) =
        service_ask(*state, "POST", "/api/v1/scans", authorized, " {} ");
    assert_int_equal(empty.status, 202);
    static const char *const bodies[] = {"{\"probe\":false}", "x", "[]", "{"};
    for (size_t i = 0; i < sizeof bodies / sizeof *bodies; i++) {
        struct reply reply CLEANUP(reply_done) =
            service_ask(*state, "POST", "/api/v1/scans", authorized, bodies[i]);
        assert_problem(&reply, 400, "no options");
    }
}

/* ---- what is refused ---- */

static void another_host_is_refused(void **state)
{
    struct service *service = *state;
    unsigned port = api_server_port(service->server);
    static const struct {
        const char *host;
        bool with_port;
        int status;
    } hosts[] = {
        {"localhost", true, 200},
        {"LOCALHOST", true, 200},
        {"127.0.0.1", true, 200},
        {"[::1]", true, 200},
        {"cudnnd.example", true, 200},
        {"cudnnd.example", false, 200},
        {"localhost", false, 421},
        {"evil.example", true, 421},
        {"127.0.0.1.evil.example", true, 421},
        {"localhost:1", false, 421},
        {"[::2]", true, 421},
        {"[::1", true, 421},
        {":", false, 421},
    };
    for (size_t i = 0; i < sizeof hosts / sizeof *hosts; i++) {
        char request[256];
        char suffix[16] = "";
        if (hosts[i].with_port) {
            snprintf(suffix, sizeof suffix, ":%u", port);
        }
        snprintf(request, sizeof request,
                 "GET /status HTTP/1.1\r\nConnection: close\r\nHost: %s%s\r\n\r\n", hosts[i].host,
                 suffix);
        struct reply reply CLEANUP(reply_done) = service_send(service, request);
        if (reply.status != hosts[i].status) {
            fail_msg("%s%s answers %d", hosts[i].host, suffix, reply.status);
        }
    }
    struct reply none CLEANUP(reply_done) = service_send(service, "GET /status HTTP/1.0\r\n\r\n");
    assert_problem(&none, 421, "localhost");
}

static void methods_and_paths_that_are_not_there(void **state)
{
    char allow[128];
    struct reply path CLEANUP(reply_done) = service_ask(*state, "GET", "/nothing", NULL, NULL);
    assert_problem(&path, 404, "/nothing");
    static const char *const methods[] = {"DELETE", "PUT", "PATCH", "TRACE", "BREW"};
    for (size_t i = 0; i < sizeof methods / sizeof *methods; i++) {
        struct reply reply CLEANUP(reply_done) =
            service_ask(*state, methods[i], "/api/v1/scans", NULL, NULL);
        assert_problem(&reply, 405, "GET, HEAD, POST");
        assert_string_equal(reply_header(&reply, "Allow", allow), "GET, HEAD, POST");
    }
    struct reply post CLEANUP(reply_done) = service_ask(*state, "POST", "/status", NULL, "x");
    assert_problem(&post, 405, "GET, HEAD");
    struct reply options CLEANUP(reply_done) =
        service_ask(*state, "OPTIONS", "/status", NULL, NULL);
    assert_int_equal(options.status, 204);
    assert_string_equal(reply_header(&options, "Allow", allow), "GET, HEAD, OPTIONS");
}

static char *repeated(struct arena *arena, char c, size_t count)
{
    char *text = arena_alloc(arena, count + 1);
    memset(text, c, count);
    return text;
}

static void what_is_too_large_is_refused(void **state)
{
    struct arena arena = {0};
    const char *path = arena_printf(&arena, "/%s", repeated(&arena, 'a', 5000));
    struct reply target CLEANUP(reply_done) = service_ask(*state, "GET", path, NULL, NULL);
    assert_problem(&target, 414, "4096");
    path = arena_printf(&arena, "/api/v1/findings?code=%s", repeated(&arena, 'a', 5000));
    struct reply query CLEANUP(reply_done) = service_ask(*state, "GET", path, NULL, NULL);
    assert_problem(&query, 414, "4096");
    const char *headers = arena_printf(&arena, "X-Long: %s\r\n", repeated(&arena, 'a', 20000));
    struct reply header CLEANUP(reply_done) = service_ask(*state, "GET", "/status", headers, NULL);
    assert_problem(&header, 431, "16384");
    const char *body = repeated(&arena, ' ', 20000);
    struct reply large CLEANUP(reply_done) =
        service_ask(*state, "POST", "/api/v1/scans", authorized, body);
    assert_problem(&large, 413, "16384");
    headers = arena_printf(&arena, "%sTransfer-Encoding: chunked\r\n", authorized);
    body = arena_printf(&arena, "%x\r\n%s\r\n0\r\n\r\n", 20000, body);
    const char *request = arena_printf(
        &arena,
        "POST /api/v1/scans HTTP/1.1\r\nHost: cudnnd.example\r\nConnection: close\r\n%s\r\n%s",
        headers, body);
    struct reply chunked CLEANUP(reply_done) = service_send(*state, request);
    assert_problem(&chunked, 413, "16384");
    arena_done(&arena);
}

static void a_body_of_a_get_is_forgotten(void **state)
{
    struct reply reply CLEANUP(reply_done) =
        service_ask(*state, "GET", "/healthz", NULL, "what nobody asked for");
    assert_int_equal(reply.status, 200);
    struct arena arena = {0};
    struct reply large CLEANUP(reply_done) =
        service_ask(*state, "GET", "/healthz", NULL, repeated(&arena, 'x', 50000));
    assert_int_equal(large.status, 200);
    arena_done(&arena);
}

static void a_port_in_use_is_named(void **state)
{
    struct service *service = *state;
    struct api_options options = service->options;
    struct api_server *second = NULL;
    struct err err = {0};
    char port[16];
    options.port = api_server_port(service->server);
    snprintf(port, sizeof port, "port %u", (unsigned)options.port);
    assert_int_equal(api_server_start(&options, &service->facts, &second, &err), ERR_BUSY);
    assert_non_null(strstr(err.message, port));
    assert_non_null(strstr(err.message, "in use"));
    assert_non_null(strstr(err.message, "--port"));
    json_free(ask_json(service, "/healthz", 200));
}

static void both_addresses_have_the_same_free_port(void **state)
{
    static const char *const addresses[] = {"127.0.0.1", "::1"};
    struct service *service = *state;
    struct api_options options = service->options;
    struct api_server *server = NULL;
    struct err err = {0};
    options.addresses = addresses;
    options.address_count = 2;
    assert_int_equal(api_server_start(&options, &service->facts, &server, &err), 0);
    uint16_t port = api_server_port(server);
    char request[128];
    struct buf answer;
    snprintf(request, sizeof request, "GET /healthz HTTP/1.0\r\nHost: localhost:%u\r\n\r\n",
             (unsigned)port);
    buf_init(&answer, 65536);
    assert_int_equal(os_tcp_exchange("127.0.0.1", port, request, 5000, &answer, &err), 0);
    assert_true(text_has_prefix(answer.data, "HTTP/1.1 200"));
    buf_done(&answer);
    uint16_t other = 0;
    intptr_t socket;
    if (os_tcp_listen("::1", &other, &socket, NULL) == 0) { /* else IPv6 is off on this machine */
        os_tcp_close(socket);
        buf_init(&answer, 65536);
        assert_int_equal(os_tcp_exchange("::1", port, request, 5000, &answer, &err), 0);
        assert_true(text_has_prefix(answer.data, "HTTP/1.1 200"));
        buf_done(&answer);
    }
    api_server_stop(server);
}

static void a_connection_serves_several_requests(void **state)
{
    struct service *service = *state;
    char request[512];
    unsigned port = api_server_port(service->server);
    snprintf(request, sizeof request,
             "GET /healthz HTTP/1.1\r\nHost: localhost:%u\r\n\r\n"
             "GET /nothing HTTP/1.1\r\nHost: localhost:%u\r\n\r\n"
             "GET /healthz HTTP/1.1\r\nHost: localhost:%u\r\nConnection: close\r\n\r\n",
             port, port, port);
    struct reply reply CLEANUP(reply_done) = service_send(service, request);
    assert_int_equal(reply.status, 200);
    const char *second = strstr(reply.body, "HTTP/1.1 404");
    assert_non_null(second);
    assert_non_null(strstr(second, "HTTP/1.1 200"));
}

#define BARE(test) cmocka_unit_test_setup_teardown(test, service_setup, service_teardown)
#define PUBLISHED(test)                                                                            \
    cmocka_unit_test_setup_teardown(test, service_setup_published, service_teardown)

RUN_TESTS(BARE(before_the_first_scan_only_the_service_is_known),
          BARE(metrics_before_the_first_scan_are_of_the_service_alone),
          PUBLISHED(every_list_has_its_scan_and_its_items),
          PUBLISHED(an_install_is_served_by_its_id), PUBLISHED(status_counts_what_the_snapshot_has),
          PUBLISHED(status_follows_the_service_between_scans),
          PUBLISHED(an_unchanged_document_is_not_sent_again),
          PUBLISHED(head_is_get_without_the_body), PUBLISHED(documents_say_how_old_their_data_is),
          PUBLISHED(scans_come_newest_first_and_by_pages),
          PUBLISHED(a_scan_is_queued_running_stored_or_unknown),
          PUBLISHED(the_snapshot_of_a_time_is_read_back),
          PUBLISHED(findings_are_filtered_by_severity_code_and_state),
          PUBLISHED(wrong_parameters_are_named), PUBLISHED(ready_needs_a_writable_store),
          PUBLISHED(a_scan_is_asked_for_with_the_token_only), PUBLISHED(a_scan_takes_no_options),
          PUBLISHED(another_host_is_refused), PUBLISHED(methods_and_paths_that_are_not_there),
          PUBLISHED(what_is_too_large_is_refused), PUBLISHED(a_body_of_a_get_is_forgotten),
          BARE(a_port_in_use_is_named), BARE(both_addresses_have_the_same_free_port),
          PUBLISHED(a_connection_serves_several_requests))
