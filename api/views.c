#include "api/views.h"

#include "base/arena.h"
#include "rules/rules.h"

/* ---- the lists ---- */

static size_t installs(const struct snapshot *snapshot)
{
    return snapshot->inventory.install_count;
}

static size_t toolkits(const struct snapshot *snapshot)
{
    return snapshot->inventory.toolkit_count;
}

static size_t gpus(const struct snapshot *snapshot)
{
    return snapshot->driver.gpu_count;
}

static size_t search_entries(const struct snapshot *snapshot)
{
    return snapshot->inventory.search_count;
}

static size_t findings(const struct snapshot *snapshot)
{
    return snapshot->finding_count;
}

static struct json *toolkit_at(const struct snapshot *snapshot, size_t index)
{
    return snapshot_toolkit_to_json(&snapshot->inventory.toolkits[index]);
}

static struct json *gpu_at(const struct snapshot *snapshot, size_t index)
{
    return snapshot_gpu_to_json(&snapshot->driver.gpus[index]);
}

static struct json *finding_at(const struct snapshot *snapshot, size_t index)
{
    return finding_to_json(&snapshot->findings[index]);
}

static const char *install_id(const struct snapshot *snapshot, size_t index)
{
    return snapshot->inventory.installs[index].id;
}

static const char *finding_id(const struct snapshot *snapshot, size_t index)
{
    return snapshot->findings[index].id;
}

/* A list document: its path, the key of its array, and what is in it. With `id` every item is a
   document of its own below the path. */
static const struct list {
    const char *path, *key;
    size_t (*count)(const struct snapshot *snapshot);
    struct json *(*item)(const struct snapshot *snapshot, size_t index);
    const char *(*id)(const struct snapshot *snapshot, size_t index);
} lists[] = {
    {"/api/v1/installs", "installs", installs, snapshot_install_to_json, install_id},
    {"/api/v1/toolkits", "toolkits", toolkits, toolkit_at, NULL},
    {"/api/v1/gpus", "gpus", gpus, gpu_at, NULL},
    {"/api/v1/search-path", "search_path", search_entries, snapshot_search_entry_to_json, NULL},
    {"/api/v1/findings", "findings", findings, finding_at, finding_id},
};

static void emit_list(const struct snapshot *snapshot, const struct list *list, views_emit *emit,
                      void *context)
{
    struct arena arena = {0};
    struct json *document = json_object();
    json_set(document, "scan", snapshot_scan_to_json(snapshot));
    struct json *array = json_set_array(document, list->key);
    for (size_t i = 0; i < list->count(snapshot); i++) {
        struct json *item = list->item(snapshot, i);
        if (list->id != NULL) {
            const char *path = arena_printf(&arena, "%s/%s", list->path, list->id(snapshot, i));
            emit(context, path, json_copy(item));
        }
        json_append(array, item);
    }
    emit(context, list->path, document);
    arena_done(&arena);
}

void views_of_snapshot(const struct snapshot *snapshot, views_emit *emit, void *context)
{
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++) {
        emit_list(snapshot, &lists[i], emit, context);
    }
    emit(context, "/api/v1/driver", snapshot_driver_to_json(snapshot));
    emit(context, "/api/v1/snapshot", snapshot_to_json(snapshot));
}

/* ---- /status ---- */

static void set_counts(struct json *status, const struct snapshot *snapshot)
{
    static const enum severity order[] = {SEVERITY_CRITICAL, SEVERITY_WARNING, SEVERITY_INFO};
    struct json *counts = json_set_object(status, "counts");
    json_set_int(counts, "installs", (int64_t)installs(snapshot));
    json_set_int(counts, "toolkits", (int64_t)toolkits(snapshot));
    json_set_int(counts, "gpus", (int64_t)gpus(snapshot));
    json_set_int(counts, "problems", (int64_t)snapshot->inventory.problem_count);
    struct json *by_severity = json_set_object(counts, "findings");
    for (size_t i = 0; i < sizeof order / sizeof *order; i++) {
        int64_t count = 0;
        for (size_t f = 0; f < snapshot->finding_count; f++) {
            count += snapshot->findings[f].severity == order[i] ? 1 : 0;
        }
        json_set_int(by_severity, severity_name(order[i]), count);
    }
}

/* What to know and what to type; the rest is in the finding's own document. */
static void set_findings(struct json *status, const struct snapshot *snapshot)
{
    static const char *const elsewhere[] = {"detail", "evidence", "state", "last_seen_at",
                                            "resolved_at"};
    struct json *array = json_set_array(status, "findings");
    for (size_t i = 0; i < snapshot->finding_count; i++) {
        struct json *finding = finding_at(snapshot, i);
        for (size_t k = 0; k < sizeof elsewhere / sizeof *elsewhere; k++) {
            json_remove(finding, elsewhere[k]);
        }
        json_append(array, finding);
    }
}

struct json *views_status_of_snapshot(const struct snapshot *snapshot)
{
    struct json *status = json_object();
    json_set_text(status, "health", health_name(snapshot_health(snapshot)));
    json_set(status, "last_scan", snapshot_scan_to_json(snapshot));
    json_set(status, "driver", snapshot_driver_to_json(snapshot));
    set_counts(status, snapshot);
    set_findings(status, snapshot);
    return status;
}

/* Copies a key of the snapshot's part, or null. */
static void take(struct json *to, const char *key, const struct json *from, const char *from_key)
{
    const struct json *value = from == NULL ? NULL : json_get(from, from_key);
    if (value == NULL) {
        json_set_null(to, key);
    } else {
        json_set(to, key, json_copy(value));
    }
}

static void set_scan(struct json *status, const struct json *of_snapshot,
                     const struct api_service *service)
{
    struct json *scan = json_set_object(status, "scan");
    take(scan, "last", of_snapshot, "last_scan");
    json_set_time(scan, "next_at", service->paused ? 0 : service->next_scan_at_ms);
    if (service->last_scan_error == NULL) {
        json_set_null(scan, "error");
        return;
    }
    struct json *error = json_set_object(scan, "error");
    json_set_text(error, "message", service->last_scan_error);
    json_set_time(error, "at", service->last_scan_error_at_ms);
}

struct json *views_status(const struct json *of_snapshot, const struct api_service *service)
{
    struct json *status = json_object();
    if (of_snapshot == NULL) {
        json_set_text(status, "health", health_name(HEALTH_UNKNOWN));
    } else {
        take(status, "health", of_snapshot, "health");
    }
    set_scan(status, of_snapshot, service);
    take(status, "driver", of_snapshot, "driver");
    take(status, "counts", of_snapshot, "counts");
    if (of_snapshot == NULL) {
        json_set_array(status, "findings");
    } else {
        take(status, "findings", of_snapshot, "findings");
    }
    struct json *own = json_set_object(status, "service");
    json_set_text(own, "version", service->version);
    json_set_text(own, "revision", service->revision);
    json_set_time(own, "started_at", service->started_at_ms);
    json_set_bool(own, "paused", service->paused);
    json_set_text(own, "config_error", service->config_error);
    return status;
}

/* ---- /api/v1/rules ---- */

struct json *views_rules(void)
{
    struct json *document = json_object();
    struct json *array = json_set_array(document, "rules");
    for (size_t i = 0; i < rules_count; i++) {
        struct json *rule = json_object();
        json_set_text(rule, "code", rules_table[i].code);
        json_set_text(rule, "severity", severity_name(rules_table[i].severity));
        json_set_text(rule, "meaning", rules_table[i].meaning);
        json_set_text(rule, "remedy", rules_table[i].remedy);
        json_append(array, rule);
    }
    return document;
}
