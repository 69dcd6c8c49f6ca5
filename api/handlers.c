#include "api/handlers.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock_text.h"
#include "base/text.h"

enum {
    RETRY_SECONDS = 2,
    SCANS_DEFAULT = 50,
    SCANS_MOST = 1000,
    FINDINGS_MOST = 10000,
};

/* ---- what is published ---- */

static void answer_too_early(struct api_response *response)
{
    response->retry_after_s = RETRY_SECONDS;
    api_problem(response, 503, "The first scan has not finished yet; ask again in a moment.");
}

void handle_published(struct api_state *state, const struct api_request *request,
                      struct api_response *response)
{
    bool published;
    struct document *document = api_state_document(state, request->path, &published);
    if (document != NULL) {
        api_answer(response, document);
    } else if (!published) {
        answer_too_early(response);
    } else {
        api_problem(response, 404, "There is no '%s' in the last scan.",
                    request->id == NULL ? request->path : request->id);
    }
}

void handle_status(struct api_state *state, const struct api_request *request,
                   struct api_response *response)
{
    (void)request;
    api_answer(response, api_state_status(state));
}

void handle_healthz(struct api_state *state, const struct api_request *request,
                    struct api_response *response)
{
    (void)request;
    api_answer(response, document_keep(state->alive));
}

void handle_readyz(struct api_state *state, const struct api_request *request,
                   struct api_response *response)
{
    bool published;
    struct err err = {0};
    (void)request;
    document_drop(api_state_document(state, "/api/v1/snapshot", &published));
    if (!published) {
        answer_too_early(response);
    } else if (!state->options.store_writable(state->options.context, &err)) {
        response->retry_after_s = RETRY_SECONDS;
        api_problem(response, 503, "The store cannot be written: %s.", err.message);
    } else {
        api_answer(response, document_keep(state->ready));
    }
}

void handle_metrics(struct api_state *state, const struct api_request *request,
                    struct api_response *response)
{
    const char *accept = api_request_header(request, "Accept");
    bool open = accept != NULL && strstr(accept, "application/openmetrics-text") != NULL;
    struct document *page = api_state_metrics(state, open ? API_OPENMETRICS : API_PROMETHEUS);
    if (page == NULL) {
        api_problem(response, 500, "The page would be too large.");
    } else {
        api_answer(response, page);
    }
}

void handle_rules(struct api_state *state, const struct api_request *request,
                  struct api_response *response)
{
    (void)request;
    api_answer(response, document_keep(state->rules));
}

/* ---- what the store knows ---- */

static void answer_store_error(struct api_response *response, int code, const struct err *err)
{
    if (code == ERR_NOT_FOUND) {
        api_problem(response, 404, "The store knows nothing of it: %s.", err->message);
        return;
    }
    response->retry_after_s = RETRY_SECONDS;
    api_problem(response, 503, "The store cannot be read: %s.", err->message);
}

/* Runs one read on a connection of its own. */
typedef int store_read(struct db_reader *reader, const void *question, struct json **out,
                       struct err *err);

static int read_store(struct api_state *state, store_read *read, const void *question,
                      struct json **out, struct err *err)
{
    struct db_reader *reader;
    int code = api_state_take_reader(state, &reader, err);
    if (code != 0) {
        return code;
    }
    code = read(reader, question, out, err);
    api_state_give_reader(state, reader, code != 0 && code != ERR_NOT_FOUND);
    return code;
}

static int read_snapshot_at(struct db_reader *reader, const void *question, struct json **out,
                            struct err *err)
{
    return db_snapshot_at_to_json(reader, *(const int64_t *)question, out, err);
}

void handle_snapshot(struct api_state *state, const struct api_request *request,
                     struct api_response *response)
{
    const char *at = api_request_parameter(request, "at");
    if (at == NULL) {
        handle_published(state, request, response);
        return;
    }
    char text[CLOCK_TEXT_SIZE * 2];
    int64_t at_ms;
    struct json *document;
    struct err err = {0};
    bool fits = text_copy(text, sizeof text, at);
    for (char *c = text; *c != '\0'; c++) {
        *c = *c == ' ' ? '+' : *c; /* of a time zone: a '+' in a query stands for a blank */
    }
    if (!fits || !clock_text_parse(text, &at_ms)) {
        api_problem(response, 400,
                    "'at' must be an RFC 3339 time such as 2026-01-31T12:00:00Z, not '%.64s'.", at);
        return;
    }
    int code = read_store(state, read_snapshot_at, &at_ms, &document, &err);
    if (code != 0) {
        answer_store_error(response, code, &err);
    } else {
        api_answer(response, document_of_json(document_json, document, 0));
    }
}

static int read_findings(struct db_reader *reader, const void *question, struct json **out,
                         struct err *err)
{
    return db_findings_to_json(reader, question, out, err);
}

static int read_finding(struct db_reader *reader, const void *question, struct json **out,
                        struct err *err)
{
    return db_finding_to_json(reader, question, out, err);
}

static bool is_one_of(const char *text, const char *const *words)
{
    for (size_t i = 0; words[i] != NULL; i++) {
        if (text_equal(text, words[i])) {
            return true;
        }
    }
    return text == NULL;
}

static bool has(const struct json *finding, const char *key, const char *wanted)
{
    return wanted == NULL || text_equal(json_as_text(json_get(finding, key)), wanted);
}

/* Active findings are the published ones, also while the store cannot be read. */
static void answer_active(struct api_state *state, const struct api_request *request,
                          const struct db_finding_filter *filter, struct api_response *response)
{
    handle_published(state, request, response);
    if (response->status != 200 || (filter->severity == NULL && filter->code == NULL)) {
        return;
    }
    struct err err = {0};
    const struct document *whole = response->document;
    struct json *document = json_parse(whole->bytes, whole->size, &err);
    if (document == NULL) {
        api_problem(response, 500, "The findings cannot be filtered: %s.", err.message);
        return;
    }
    const struct json *list = json_get(document, "findings");
    struct json *kept = json_array();
    for (size_t i = 0; i < json_count(list); i++) {
        const struct json *finding = json_at(list, i);
        if (has(finding, "severity", filter->severity) && has(finding, "code", filter->code)) {
            json_append(kept, json_copy(finding));
        }
    }
    json_remove(document, "findings");
    json_set(document, "findings", kept);
    api_answer(response, document_of_json(document_json, document, whole->data_at_ms));
}

void handle_findings(struct api_state *state, const struct api_request *request,
                     struct api_response *response)
{
    static const char *const states[] = {"active", "resolved", "all", NULL};
    static const char *const severities[] = {"info", "warning", "critical", NULL};
    const char *wanted = api_request_parameter(request, "state");
    struct db_finding_filter filter = {
        .severity = api_request_parameter(request, "severity"),
        .code = api_request_parameter(request, "code"),
        .limit = FINDINGS_MOST,
    };
    if (!is_one_of(wanted, states)) {
        api_problem(response, 400, "'state' must be active, resolved or all, not '%.64s'.", wanted);
        return;
    }
    if (!is_one_of(filter.severity, severities)) {
        api_problem(response, 400, "'severity' must be info, warning or critical, not '%.64s'.",
                    filter.severity);
        return;
    }
    if (wanted == NULL || text_equal(wanted, "active")) {
        answer_active(state, request, &filter, response);
        return;
    }
    filter.state = text_equal(wanted, "all") ? NULL : wanted;
    struct json *list;
    struct err err = {0};
    int code = read_store(state, read_findings, &filter, &list, &err);
    if (code != 0) {
        answer_store_error(response, code, &err);
        return;
    }
    struct json *document = json_object();
    json_set(document, "findings", list);
    api_answer(response, document_of_json(document_json, document, 0));
}

void handle_finding(struct api_state *state, const struct api_request *request,
                    struct api_response *response)
{
    bool published;
    struct json *finding;
    struct err err = {0};
    struct document *document = api_state_document(state, request->path, &published);
    if (document != NULL) {
        api_answer(response, document);
        return;
    }
    int code = read_store(state, read_finding, request->id, &finding, &err);
    if (code != 0) {
        answer_store_error(response, code, &err);
    } else {
        api_answer(response, document_of_json(document_json, finding, 0));
    }
}

struct page {
    int64_t limit, before;
};

static int read_scans(struct db_reader *reader, const void *question, struct json **out,
                      struct err *err)
{
    const struct page *page = question;
    return db_scans_to_json(reader, page->limit, page->before, out, err);
}

static bool read_number(const struct api_request *request, const char *name, uint64_t most,
                        int64_t *number, struct api_response *response)
{
    const char *text = api_request_parameter(request, name);
    uint64_t value;
    if (text == NULL) {
        return true;
    }
    if (!text_to_u64(text, most, &value) || value == 0) {
        api_problem(response, 400, "'%s' must be a number from 1 to %" PRIu64 ", not '%.64s'.",
                    name, most, text);
        return false;
    }
    *number = (int64_t)value;
    return true;
}

void handle_scans(struct api_state *state, const struct api_request *request,
                  struct api_response *response)
{
    struct page page = {.limit = SCANS_DEFAULT};
    if (!read_number(request, "limit", SCANS_MOST, &page.limit, response) ||
        !read_number(request, "before", INT64_MAX, &page.before, response)) {
        return;
    }
    struct json *list;
    struct err err = {0};
    int code = read_store(state, read_scans, &page, &list, &err);
    if (code != 0) {
        answer_store_error(response, code, &err);
        return;
    }
    struct json *document = json_object();
    json_set(document, "scans", list);
    api_answer(response, document_of_json(document_json, document, 0));
}

static int read_scan(struct db_reader *reader, const void *question, struct json **out,
                     struct err *err)
{
    return db_scan_to_json(reader, *(const int64_t *)question, out, err);
}

/* A scan that has not ended: the store does not know it yet. */
static struct json *unfinished_scan(int64_t id, int scan_state)
{
    struct json *scan = json_object();
    json_set_int(scan, "id", id);
    json_set_text(scan, "result", scan_state == API_SCAN_RUNNING ? "running" : "queued");
    return scan;
}

/* The agent first: it lets go of a scan only after the store has it, so that a scan that ends
   between the two questions is never unknown. */
void handle_scan(struct api_state *state, const struct api_request *request,
                 struct api_response *response)
{
    uint64_t number;
    struct json *scan;
    struct err err = {0};
    if (!text_to_u64(request->id, INT64_MAX, &number)) {
        api_problem(response, 404, "A scan's id is a number, not '%.64s'.", request->id);
        return;
    }
    int64_t id = (int64_t)number;
    int known = state->options.scan_state(state->options.context, id);
    if (known != API_SCAN_UNKNOWN) {
        api_answer(response, document_of_json(document_json, unfinished_scan(id, known), 0));
        return;
    }
    int code = read_store(state, read_scan, &id, &scan, &err);
    if (code != 0) {
        answer_store_error(response, code, &err);
    } else {
        api_answer(response, document_of_json(document_json, scan, 0));
    }
}

/* No body, or an object with nothing in it, as some clients send. */
static bool is_empty(const char *body)
{
    struct json *CLEANUP(json_done) value = NULL;
    if (body[0] == '\0') {
        return true;
    }
    value = json_parse(body, strlen(body), NULL);
    return json_is_object(value) && json_count(value) == 0;
}

void handle_scan_request(struct api_state *state, const struct api_request *request,
                         struct api_response *response)
{
    int64_t id;
    struct err err = {0};
    if (!is_empty(request->body)) {
        api_problem(response, 400, "A scan takes no options: send no body, or {}.");
        return;
    }
    if (state->options.request_scan(state->options.context, &id, &err) != 0) {
        response->retry_after_s = RETRY_SECONDS;
        api_problem(response, 503, "No scan can be asked for: %s.", err.message);
        return;
    }
    api_answer(response, document_of_json(document_json, unfinished_scan(id, API_SCAN_QUEUED), 0));
    response->status = 202;
    snprintf(response->text, sizeof response->text, "/api/v1/scans/%" PRId64, id);
    response->location = response->text;
}
