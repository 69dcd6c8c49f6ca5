/* The monitoring-plugin check (Monitoring Plugins Development Guidelines: exit status, one line,
   performance data behind `|`). */
#include <inttypes.h>

#include "base/clock_text.h"
#include "base/printf.h"
#include "base/text.h"
#include "cli/command.h"
#include "config/value.h"
#include "os/clock.h"
#include "os/tcp.h"

enum { PLUGIN_OK, PLUGIN_WARNING, PLUGIN_CRITICAL, PLUGIN_UNKNOWN };
enum { TIMEOUT_MS = 10000, ANSWER_BYTES = 8 * 1024 * 1024, DEFAULT_PORT = 9877 };

struct url {
    char host[64];
    uint16_t port;
    char prefix[256]; /* path before /status, without a final slash */
};

static int unknown(const char *format, ...) PRINTF_LIKE(1, 2);

static int unknown(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    printf("CUDNND UNKNOWN - ");
    vprintf(format, arguments);
    va_end(arguments);
    printf("\n");
    return PLUGIN_UNKNOWN;
}

/* http://127.0.0.1:9877, http://localhost, http://[::1]:9877/prefix */
static bool parse_url(const char *text, struct url *out_url)
{
    static const char scheme[] = "http://";
    if (!text_has_prefix_nocase(text, scheme)) {
        return false;
    }
    const char *host = text + strlen(scheme);
    bool v6 = *host == '[';
    size_t length = v6 ? strcspn(++host, "]") : strcspn(host, ":/");
    if (length == 0 || length >= sizeof out_url->host || (v6 && host[length] != ']')) {
        return false;
    }
    memcpy(out_url->host, host, length);
    out_url->host[length] = '\0';
    if (text_equal(out_url->host, "localhost")) {
        text_copy(out_url->host, sizeof out_url->host, "127.0.0.1");
    }
    const char *at = host + length + (v6 ? 1 : 0);
    uint64_t port = DEFAULT_PORT;
    if (*at == ':') {
        char digits[8] = "";
        size_t count = strcspn(++at, "/");
        if (count >= sizeof digits) {
            return false;
        }
        memcpy(digits, at, count);
        if (!text_to_u64(digits, 65535, &port) || port == 0) {
            return false;
        }
        at += count;
    }
    out_url->port = (uint16_t)port;
    if (!text_copy(out_url->prefix, sizeof out_url->prefix, at)) {
        return false;
    }
    size_t end = strlen(out_url->prefix);
    while (end > 0 && out_url->prefix[end - 1] == '/') {
        out_url->prefix[--end] = '\0';
    }
    return strpbrk(out_url->prefix, " \r\n\t") == NULL;
}

/* GET prefix/status as HTTP/1.0, so that the answer ends when the connection does. */
static struct json *fetch_status(const struct url *url, struct err *err)
{
    char request[512];
    struct buf answer;
    bool v6 = strchr(url->host, ':') != NULL;
    snprintf(request, sizeof request,
             "GET %s/status HTTP/1.0\r\nHost: %s%s%s:%u\r\nUser-Agent: cudnnd-check\r\n\r\n",
             url->prefix, v6 ? "[" : "", url->host, v6 ? "]" : "", (unsigned)url->port);
    buf_init(&answer, ANSWER_BYTES);
    struct json *document = NULL;
    if (os_tcp_exchange(url->host, url->port, request, TIMEOUT_MS, &answer, err) == 0) {
        const char *body = answer.data == NULL ? NULL : strstr(answer.data, "\r\n\r\n");
        if (body == NULL || !text_has_prefix(answer.data, "HTTP/1.")) {
            err_set(err, ERR_FORMAT, "the answer is not HTTP");
        } else if (strncmp(answer.data + 9, "200", 3) != 0) {
            err_set(err, ERR_FORMAT, "the answer is HTTP status %.3s", answer.data + 9);
        } else {
            body += 4;
            document = json_parse(body, answer.size - (size_t)(body - answer.data), err);
        }
    }
    buf_done(&answer);
    return document;
}

struct status {
    const char *health;
    const char *first_title; /* of the worst finding; NULL */
    int64_t critical, warning, info, installs;
    int64_t age_s; /* -1: no scan yet */
};

static int read_status(const struct json *document, struct status *out_status, struct err *err)
{
    struct status status = {.age_s = -1};
    const struct json *counts = json_get(document, "counts");
    const struct json *findings = json_get(counts, "findings");
    const struct json *last = json_get(json_get(document, "scan"), "last");
    int code = json_read_text(document, "health", &status.health, err);
    if (code == 0 && !json_is_null(last)) {
        const char *finished;
        int64_t finished_ms;
        code = json_read_int(findings, "critical", &status.critical, err);
        code = code != 0 ? code : json_read_int(findings, "warning", &status.warning, err);
        code = code != 0 ? code : json_read_int(findings, "info", &status.info, err);
        code = code != 0 ? code : json_read_int(counts, "installs", &status.installs, err);
        code = code != 0 ? code : json_read_text(last, "finished_at", &finished, err);
        if (code == 0 && !clock_text_parse(finished, &finished_ms)) {
            code = err_set(err, ERR_FORMAT, "'finished_at' is not a time");
        }
        if (code == 0) {
            int64_t age_ms = os_clock_wall_ms() - finished_ms;
            status.age_s = age_ms > 0 ? age_ms / 1000 : 0;
        }
    }
    const struct json *list = json_get(document, "findings");
    if (json_count(list) > 0) {
        status.first_title = json_as_text(json_get(json_at(list, 0), "title"));
    }
    *out_status = status;
    return code;
}

static int report(const struct status *status, int64_t max_age_s)
{
    static const struct {
        const char *health, *word;
        int exit_status;
    } states[] = {
        {"ok", "OK", PLUGIN_OK},
        {"warning", "WARNING", PLUGIN_WARNING},
        {"critical", "CRITICAL", PLUGIN_CRITICAL},
    };
    if (status->age_s < 0) {
        return unknown("no scan has finished yet");
    }
    if (status->age_s > max_age_s) {
        return unknown("the data is %" PRId64 " s old, more than %" PRId64 " s", status->age_s,
                       max_age_s);
    }
    for (size_t i = 0; i < sizeof states / sizeof *states; i++) {
        if (!text_equal(states[i].health, status->health)) {
            continue;
        }
        printf("CUDNND %s - %" PRId64 " cuDNN %s, %" PRId64 " critical, %" PRId64
               " warning%s%s | installs=%" PRId64 " critical=%" PRId64 " warning=%" PRId64
               " info=%" PRId64 " age=%" PRId64 "s;%" PRId64 "\n",
               states[i].word, status->installs, status->installs == 1 ? "copy" : "copies",
               status->critical, status->warning, status->first_title == NULL ? "" : ": ",
               status->first_title == NULL ? "" : status->first_title, status->installs,
               status->critical, status->warning, status->info, status->age_s, max_age_s);
        return states[i].exit_status;
    }
    return unknown("health is %s", status->health);
}

/* A duration as in the configuration; -1 when it is none. */
static int64_t duration_s(const char *text)
{
    struct arena arena = {0};
    struct config config = {0};
    const struct config_option option = {.key = "max-age",
                                         .type = CONFIG_DURATION,
                                         .offset = offsetof(struct config, scan_interval_ms),
                                         .min = 1000,
                                         .max = INT64_C(1000) * 86400 * 3650};
    int code = value_set_scalar(&arena, &option, text, &config, NULL);
    arena_done(&arena);
    return code == 0 ? config.scan_interval_ms / 1000 : -1;
}

int cmd_check(const struct command *command, int argc, char **argv)
{
    const char *url_text = "http://127.0.0.1:9877";
    const char *max_age = "1h";
    struct url url;
    const struct cli_option options[] = {
        {"url", NULL, &url_text}, {"max-age", NULL, &max_age}, {NULL, NULL, NULL}};
    int wrong = cli_options(command, options, &argc, argv);
    if (wrong >= 0) {
        return wrong == CLI_OK ? CLI_OK : PLUGIN_UNKNOWN;
    }
    if (argc > 1) {
        return unknown("unexpected '%s'", argv[1]);
    }
    int64_t max_age_s = duration_s(max_age);
    if (!parse_url(url_text, &url)) {
        return unknown("'%s' is not an http:// address of this machine", url_text);
    }
    if (max_age_s < 0) {
        return unknown("'%s' is not a duration such as 30m or 1h", max_age);
    }
    struct err err = {0};
    struct status status;
    struct json *document = fetch_status(&url, &err);
    if (document == NULL) {
        return unknown("no status from %s: %s (is the service running?)", url_text, err.message);
    }
    int exit_status = read_status(document, &status, &err) == 0
                          ? report(&status, max_age_s)
                          : unknown("the answer is not a status document: %s", err.message);
    json_free(document);
    return exit_status;
}
