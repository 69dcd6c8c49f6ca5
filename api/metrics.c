#include "api/metrics.h"

#include <inttypes.h>
#include <string.h>

#include "api/docs.h"
#include "api/routes.h"
#include "base/text.h"
#include "rules/rules.h"

const char *const metrics_content_types[API_FORMATS] = {
    [API_PROMETHEUS] = "text/plain; version=0.0.4; charset=utf-8",
    [API_OPENMETRICS] = "application/openmetrics-text; version=1.0.0; charset=utf-8",
};

enum family_type { GAUGE, COUNTER, INFO };

struct writer;

struct family {
    const char *name; /* as sampled: with _total or _info */
    enum family_type type;
    const char *labels; /* for the docs: "code, severity" */
    const char *help;
    enum metrics_part part;
    void (*write)(struct writer *writer);
};

struct writer {
    struct buf *page;
    enum api_format format;
    const struct family *family;
    bool headed; /* HELP and TYPE are written: a family without samples has none */
    const struct snapshot *snapshot;
    const struct metrics_live *live;
    struct err *err;
    int code;
};

/* ---- writing ---- */

static void add(struct writer *writer, const char *text)
{
    if (writer->code == 0) {
        writer->code = buf_add_text(writer->page, text, writer->err);
    }
}

/* OpenMetrics names a family without its type's suffix. */
static void add_family_name(struct writer *writer)
{
    static const char *const suffixes[] = {[GAUGE] = "", [COUNTER] = "_total", [INFO] = "_info"};
    const char *name = writer->family->name;
    size_t length = strlen(name);
    if (writer->format == API_OPENMETRICS) {
        length -= strlen(suffixes[writer->family->type]);
    }
    if (writer->code == 0) {
        writer->code = buf_add(writer->page, name, length, writer->err);
    }
}

static void add_head(struct writer *writer)
{
    static const char *const types[API_FORMATS][3] = {
        [API_PROMETHEUS] = {[GAUGE] = "gauge", [COUNTER] = "counter", [INFO] = "gauge"},
        [API_OPENMETRICS] = {[GAUGE] = "gauge", [COUNTER] = "counter", [INFO] = "info"},
    };
    if (writer->headed) {
        return;
    }
    writer->headed = true;
    add(writer, "# HELP ");
    add_family_name(writer);
    add(writer, " ");
    add(writer, writer->family->help);
    add(writer, "\n# TYPE ");
    add_family_name(writer);
    add(writer, " ");
    add(writer, types[writer->format][writer->family->type]);
    add(writer, "\n");
}

/* Both formats escape a label's value alike: backslash, quote, line feed. */
static void add_label_value(struct writer *writer, const char *value)
{
    struct arena arena = {0};
    for (const char *at = text_utf8_clean(&arena, value); *at != '\0' && writer->code == 0;) {
        size_t plain = strcspn(at, "\\\"\n");
        writer->code = buf_add(writer->page, at, plain, writer->err);
        at += plain;
        if (*at != '\0') {
            add(writer, *at == '\n' ? "\\n" : *at == '"' ? "\\\"" : "\\\\");
            at++;
        }
    }
    arena_done(&arena);
}

struct label {
    const char *name, *value; /* value NULL: "" */
};

static void add_series(struct writer *writer, const struct label *labels)
{
    add_head(writer);
    add(writer, writer->family->name);
    for (size_t i = 0; labels != NULL && labels[i].name != NULL; i++) {
        add(writer, i == 0 ? "{" : ",");
        add(writer, labels[i].name);
        add(writer, "=\"");
        add_label_value(writer, labels[i].value == NULL ? "" : labels[i].value);
        add(writer, "\"");
    }
    add(writer, labels != NULL && labels[0].name != NULL ? "} " : " ");
}

static void sample_count(struct writer *writer, const struct label *labels, uint64_t value)
{
    char text[32];
    snprintf(text, sizeof text, "%" PRIu64 "\n", value);
    add_series(writer, labels);
    add(writer, text);
}

static void sample_seconds(struct writer *writer, const struct label *labels, int64_t ms)
{
    char text[48];
    snprintf(text, sizeof text, "%" PRId64 ".%03d\n", ms / 1000, (int)(ms % 1000));
    add_series(writer, labels);
    add(writer, text);
}

#define LABELS(...)                                                                                \
    (const struct label[])                                                                         \
    {                                                                                              \
        __VA_ARGS__,                                                                               \
        {                                                                                          \
            NULL, NULL                                                                             \
        }                                                                                          \
    }

/* ---- the snapshot's families ---- */

static void health(struct writer *writer)
{
    static const enum health states[] = {HEALTH_OK, HEALTH_WARNING, HEALTH_CRITICAL,
                                         HEALTH_UNKNOWN};
    enum health now = snapshot_health(writer->snapshot);
    for (size_t i = 0; i < sizeof states / sizeof *states; i++) {
        sample_count(writer, LABELS({"state", health_name(states[i])}), states[i] == now ? 1 : 0);
    }
}

static void driver_info(struct writer *writer)
{
    const struct driver *driver = &writer->snapshot->driver;
    if (driver->status == DRIVER_OK) {
        sample_count(writer,
                     LABELS({"version", driver->version}, {"cuda_version", driver->cuda_version},
                            {"model", driver->model}),
                     1);
    }
}

static void gpu_info(struct writer *writer)
{
    const struct driver *driver = &writer->snapshot->driver;
    for (size_t i = 0; i < driver->gpu_count; i++) {
        const struct gpu *gpu = &driver->gpus[i];
        char index[16];
        snprintf(index, sizeof index, "%d", gpu->index);
        sample_count(writer,
                     LABELS({"gpu", index}, {"uuid", gpu->uuid}, {"name", gpu->name},
                            {"compute_capability", gpu->compute_capability}),
                     1);
    }
}

static void install_info(struct writer *writer)
{
    const struct inventory *inventory = &writer->snapshot->inventory;
    for (size_t i = 0; i < inventory->install_count; i++) {
        const struct install *install = &inventory->installs[i];
        char version[VERSION_TEXT_SIZE] = "";
        char cuda[16] = "";
        if (version_known(install->version)) {
            version_text(install->version, install->version.count < 3 ? install->version.count : 3,
                         version);
        }
        if (install->cuda_major > 0) {
            snprintf(cuda, sizeof cuda, "%d", install->cuda_major);
        }
        sample_count(writer,
                     LABELS({"install", install->id}, {"path", install->path},
                            {"kind", install_kind_name(install->kind)}, {"version", version},
                            {"cuda_major", cuda}, {"arch", arch_name(install->arch)}),
                     1);
    }
}

static void installs(struct writer *writer)
{
    const struct inventory *inventory = &writer->snapshot->inventory;
    for (enum install_kind kind = INSTALL_TOOLKIT; kind <= INSTALL_OTHER; kind++) {
        uint64_t count = 0;
        for (size_t i = 0; i < inventory->install_count; i++) {
            count += inventory->installs[i].kind == kind ? 1 : 0;
        }
        sample_count(writer, LABELS({"kind", install_kind_name(kind)}), count);
    }
}

static uint64_t count_findings(const struct snapshot *snapshot, const char *code,
                               enum severity severity)
{
    uint64_t count = 0;
    for (size_t i = 0; i < snapshot->finding_count; i++) {
        const struct finding *finding = &snapshot->findings[i];
        count += finding->severity == severity && text_equal(finding->code, code) ? 1 : 0;
    }
    return count;
}

/* Every code at its own severity, so that an alert's expression has a series to look at before
   anything is wrong; at another severity only what there is. */
static void findings(struct writer *writer)
{
    for (size_t i = 0; i < rules_count; i++) {
        for (enum severity severity = SEVERITY_INFO; severity <= SEVERITY_CRITICAL; severity++) {
            uint64_t count = count_findings(writer->snapshot, rules_table[i].code, severity);
            if (count > 0 || severity == rules_table[i].severity) {
                sample_count(
                    writer,
                    LABELS({"code", rules_table[i].code}, {"severity", severity_name(severity)}),
                    count);
            }
        }
    }
}

static void finding_active(struct writer *writer)
{
    for (size_t i = 0; i < writer->snapshot->finding_count; i++) {
        const struct finding *finding = &writer->snapshot->findings[i];
        const char *subject = finding->subject_path != NULL ? finding->subject_path
                              : finding->subject_id != NULL ? finding->subject_id
                                                            : finding->subject_type;
        sample_count(writer,
                     LABELS({"code", finding->code}, {"severity", severity_name(finding->severity)},
                            {"subject", subject}),
                     1);
    }
}

static void scan_duration(struct writer *writer)
{
    sample_seconds(writer, NULL, (int64_t)writer->snapshot->duration_ms);
}

static void scan_last_success(struct writer *writer)
{
    sample_seconds(writer, NULL, writer->snapshot->finished_at_ms);
}

/* ---- the live families ---- */

static void build_info(struct writer *writer)
{
    const struct api_service *service = writer->live->service;
    sample_count(writer, LABELS({"version", service->version}, {"revision", service->revision}), 1);
}

static void scans(struct writer *writer)
{
    static const char *const results[] = {"ok", "failed"};
    for (enum scan_trigger trigger = SCAN_STARTUP; trigger < SCAN_CLI; trigger++) {
        for (size_t result = 0; result < 2; result++) {
            sample_count(
                writer,
                LABELS({"trigger", scan_trigger_name(trigger)}, {"result", results[result]}),
                writer->live->service->scans[trigger][result]);
        }
    }
}

static void worker_runs(struct writer *writer)
{
    for (enum gpu_task task = 0; task < GPU_TASKS; task++) {
        for (enum gpu_result result = 0; result < GPU_RESULTS; result++) {
            sample_count(writer,
                         LABELS({"task", gpu_task_name(task)}, {"result", gpu_result_name(result)}),
                         gpu_worker_runs(task, result));
        }
    }
}

static void config_error(struct writer *writer)
{
    sample_count(writer, NULL, writer->live->service->config_error == NULL ? 0 : 1);
}

static void http_requests(struct writer *writer)
{
    for (size_t route = 0; route <= routes_count; route++) {
        const char *path = route == routes_count ? "other" : routes_table[route].path;
        for (size_t i = 0; i < API_STATUS_CODES && api_status_codes[i] != 0; i++) {
            uint64_t count = atomic_load_explicit(&writer->live->state->requests[route][i],
                                                  memory_order_relaxed);
            char code[16];
            snprintf(code, sizeof code, "%u", api_status_codes[i]);
            if (count > 0) {
                const char *method = route == routes_count ? "" : routes_table[route].method;
                sample_count(writer, LABELS({"method", method}, {"route", path}, {"code", code}),
                             count);
            }
        }
    }
}

#define NUMBER(function, value)                                                                    \
    static void function(struct writer *writer)                                                    \
    {                                                                                              \
        sample_count(writer, NULL, writer->live->value);                                           \
    }
NUMBER(database_bytes, store.file_bytes)
NUMBER(database_wal_bytes, store.wal_bytes)
NUMBER(database_busy, store.busy_total)
NUMBER(database_io_errors, store.io_error_total)
NUMBER(database_full, store.full_total)
NUMBER(resident_memory, process.resident_bytes)
NUMBER(virtual_memory, process.virtual_bytes)
NUMBER(open_fds, process.open_handles)
NUMBER(threads, process.threads)

static void cpu_seconds(struct writer *writer)
{
    sample_seconds(writer, NULL, (int64_t)(writer->live->process.cpu_seconds * 1000));
}

static void start_time(struct writer *writer)
{
    if (writer->live->process.started_at_ms > 0) {
        sample_seconds(writer, NULL, writer->live->process.started_at_ms);
    }
}

/* ---- the table ---- */

#define SNAPSHOT METRICS_OF_SNAPSHOT
#define LIVE METRICS_LIVE

static const struct family families[] = {
    {"cudnnd_health", GAUGE, "state", "1 for the machine's state by its worst finding.", SNAPSHOT,
     health},
    {"cudnnd_driver_info", INFO, "version, cuda_version, model",
     "The NVIDIA driver; absent when none answers.", SNAPSHOT, driver_info},
    {"cudnnd_gpu_info", INFO, "gpu, uuid, name, compute_capability",
     "One for each GPU the driver shows.", SNAPSHOT, gpu_info},
    {"cudnnd_install_info", INFO, "install, path, kind, version, cuda_major, arch",
     "One for each directory that holds a cuDNN.", SNAPSHOT, install_info},
    {"cudnnd_installs", GAUGE, "kind", "Directories that hold a cuDNN.", SNAPSHOT, installs},
    {"cudnnd_findings", GAUGE, "code, severity", "Active findings.", SNAPSHOT, findings},
    {"cudnnd_finding_active", GAUGE, "code, severity, subject", "1 for each active finding.",
     SNAPSHOT, finding_active},
    {"cudnnd_scan_duration_seconds", GAUGE, "", "How long the last scan took.", SNAPSHOT,
     scan_duration},
    {"cudnnd_scan_last_success_timestamp_seconds", GAUGE, "",
     "When the last good scan ended, in Unix time.", SNAPSHOT, scan_last_success},
    {"cudnnd_build_info", INFO, "version, revision", "The running program.", LIVE, build_info},
    {"cudnnd_scans_total", COUNTER, "trigger, result", "Scans since the start.", LIVE, scans},
    {"cudnnd_worker_runs_total", COUNTER, "task, result",
     "Worker processes since the start: what they were asked and how they ended.", LIVE,
     worker_runs},
    {"cudnnd_config_reload_failed", GAUGE, "",
     "1 when the last reload was refused and the old configuration is still in use.", LIVE,
     config_error},
    {"cudnnd_database_bytes", GAUGE, "", "Size of the store's file.", LIVE, database_bytes},
    {"cudnnd_database_wal_bytes", GAUGE, "", "Size of the store's write-ahead log.", LIVE,
     database_wal_bytes},
    {"cudnnd_database_busy_total", COUNTER, "", "Times the store was locked by another program.",
     LIVE, database_busy},
    {"cudnnd_database_io_errors_total", COUNTER, "", "Times the disk failed the store.", LIVE,
     database_io_errors},
    {"cudnnd_database_full_total", COUNTER, "", "Times the disk was full for the store.", LIVE,
     database_full},
    {"cudnnd_http_requests_total", COUNTER, "method, route, code", "Answered HTTP requests.", LIVE,
     http_requests},
    {"process_cpu_seconds_total", COUNTER, "", "Processor time used by the service.", LIVE,
     cpu_seconds},
    {"process_resident_memory_bytes", GAUGE, "", "Memory of the service that is in RAM.", LIVE,
     resident_memory},
    {"process_virtual_memory_bytes", GAUGE, "", "Address space of the service.", LIVE,
     virtual_memory},
    {"process_open_fds", GAUGE, "", "Open file descriptors; handles on Windows.", LIVE, open_fds},
    {"process_threads", GAUGE, "", "Threads of the service.", LIVE, threads},
    {"process_start_time_seconds", GAUGE, "", "When the service started, in Unix time.", LIVE,
     start_time},
};

int metrics_print(struct buf *page, enum api_format format, enum metrics_part part,
                  const struct snapshot *snapshot, const struct metrics_live *live, struct err *err)
{
    struct writer writer = {
        .page = page, .format = format, .snapshot = snapshot, .live = live, .err = err};
    for (size_t i = 0; i < sizeof families / sizeof *families && writer.code == 0; i++) {
        if (families[i].part == part) {
            writer.family = &families[i];
            writer.headed = false;
            families[i].write(&writer);
        }
    }
    return writer.code;
}

int metrics_print_end(struct buf *page, enum api_format format, struct err *err)
{
    return format == API_OPENMETRICS ? buf_add_text(page, "# EOF\n", err) : 0;
}

const char *api_print_metrics_docs(struct arena *arena)
{
    static const char *const types[] = {[GAUGE] = "gauge", [COUNTER] = "counter", [INFO] = "info"};
    const char *text =
        "# Metrics\n\n"
        "Generated by `cudnnd docs metrics`; change the table in `api/metrics.c`, not this page.\n"
        "\n`GET /metrics` answers Prometheus text, or OpenMetrics when the `Accept` header asks "
        "for it.\nBefore the first scan only the families about the service itself are there; a "
        "family without a sample is left out. The page is made at most once a second.\n\n"
        "| name | type | labels | meaning |\n|---|---|---|---|\n";
    for (size_t i = 0; i < sizeof families / sizeof *families; i++) {
        text = arena_printf(arena, "%s| `%s` | %s | %s | %s |\n", text, families[i].name,
                            types[families[i].type], families[i].labels, families[i].help);
    }
    return text;
}
