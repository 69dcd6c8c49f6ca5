/* The snapshot as JSON, schema 1. One function a part, so that the API can serve parts and the
   store can keep them as they are. Absent is null, unknown is never invented. */
#include "rules/snapshot.h"

enum { SCHEMA = 1 };

/* Three numbers, as people write a cuDNN version; fewer when fewer are known. */
static void set_version(struct json *object, const char *key, struct version version)
{
    char text[VERSION_TEXT_SIZE];
    unsigned parts = version.count < 3 ? version.count : 3;
    json_set_text(object, key, version_known(version) ? version_text(version, parts, text) : NULL);
}

static void set_positive(struct json *object, const char *key, int64_t value)
{
    if (value > 0) {
        json_set_int(object, key, value);
    } else {
        json_set_null(object, key);
    }
}

static struct json *texts(const char *const *items, size_t count)
{
    struct json *array = json_array();
    for (size_t i = 0; i < count; i++) {
        json_append_text(array, items[i]);
    }
    return array;
}

struct json *snapshot_scan_to_json(const struct snapshot *snapshot)
{
    struct json *scan = json_object();
    set_positive(scan, "id", snapshot->scan_id);
    json_set_time(scan, "started_at", snapshot->started_at_ms);
    json_set_time(scan, "finished_at", snapshot->finished_at_ms);
    json_set_int(scan, "duration_ms", (int64_t)snapshot->duration_ms);
    json_set_text(scan, "trigger", scan_trigger_name(snapshot->trigger));
    return scan;
}

struct json *snapshot_host_to_json(const struct snapshot *snapshot)
{
    struct json *host = json_object();
    json_set_text(host, "name", snapshot->host.name);
    struct json *os = json_set_object(host, "os");
    json_set_text(os, "name", snapshot->host.os_name);
    json_set_text(os, "version", snapshot->host.os_version);
    json_set_text(host, "arch", snapshot->host.arch);
    json_set_text(host, "boot_id", snapshot->host.boot_id);
    if (snapshot->nvidia_device == OS_HOST_UNKNOWN) {
        json_set_null(host, "nvidia_device");
    } else {
        json_set_bool(host, "nvidia_device", snapshot->nvidia_device == OS_HOST_PRESENT);
    }
    return host;
}

struct json *snapshot_driver_to_json(const struct snapshot *snapshot)
{
    const struct driver *driver = &snapshot->driver;
    struct json *object = json_object();
    json_set_text(object, "status", driver_status_name(driver->status));
    json_set_text(object, "version", driver->version);
    json_set_text(object, "cuda_version", driver->cuda_version);
    json_set_text(object, "model", driver->model);
    json_set_text(object, "source", driver->source);
    json_set_text(object, "error", driver->error);
    return object;
}

struct json *snapshot_gpu_to_json(const struct gpu *gpu)
{
    struct json *object = json_object();
    json_set_int(object, "index", gpu->index);
    json_set_text(object, "uuid", gpu->uuid);
    json_set_text(object, "name", gpu->name);
    json_set_text(object, "compute_capability", gpu->compute_capability);
    if (gpu->memory_bytes >= 0) {
        json_set_int(object, "memory_bytes", gpu->memory_bytes);
    } else {
        json_set_null(object, "memory_bytes");
    }
    json_set_text(object, "pci_bus_id", gpu->pci_bus_id);
    json_set_text(object, "status", gpu->status);
    return object;
}

struct json *snapshot_toolkit_to_json(const struct toolkit *toolkit)
{
    static const struct {
        unsigned flag;
        const char *name;
    } sources[] = {
        {TOOLKIT_FROM_ENV, "env"},
        {TOOLKIT_FROM_REGISTRY, "registry"},
        {TOOLKIT_FROM_DIRECTORY, "directory"},
        {TOOLKIT_FROM_LINK, "link"},
    };
    struct json *object = json_object();
    json_set_text(object, "id", toolkit->id);
    json_set_text(object, "path", toolkit->path);
    set_version(object, "version", toolkit->version);
    struct json *array = json_set_array(object, "sources");
    for (size_t i = 0; i < sizeof sources / sizeof *sources; i++) {
        if ((toolkit->sources & sources[i].flag) != 0) {
            json_append_text(array, sources[i].name);
        }
    }
    json_set_bool(object, "default", toolkit->is_default);
    return object;
}

static struct json *library_to_json(const struct library *library)
{
    struct json *object = json_object();
    bool there = library->state != LIBRARY_MISSING;
    json_set_text(object, "file", library->file);
    json_set_text(object, "component", library->component);
    set_version(object, "version", library->version);
    json_set_text(object, "version_source", version_source_name(library->version_source));
    if (there) {
        json_set_int(object, "size_bytes", (int64_t)library->size_bytes);
        json_set_time(object, "modified_at", library->modified_at_ms);
    } else {
        json_set_null(object, "size_bytes");
        json_set_null(object, "modified_at");
    }
    json_set_null(object, "sha256");
    json_set_text(object, "arch", arch_name(library->arch));
    json_set_null(object, "signature");
    json_set_text(object, "internal_name", library->internal_name);
    set_positive(object, "cuda_major", library->cuda_major);
    json_set_text(object, "state", library_state_name(library->state));
    json_set_text(object, "problem", library->problem);
    return object;
}

static struct json *probe_to_json(const struct probe *probe)
{
    struct json *object = json_object();
    json_set_text(object, "status", probe_status_name(probe->status));
    struct version version = version_from_cudnn((uint64_t)probe->version);
    set_version(object, "version", version);
    set_positive(object, "version_number", probe->version);
    set_version(object, "cudart_version", version_from_cuda((uint64_t)probe->cudart_version));
    set_positive(object, "cudart_version_number", probe->cudart_version);
    set_positive(object, "max_compute_capability", probe->max_compute_capability);
    struct json *checks = json_set_object(object, "checks");
    for (int i = 0; i < PROBE_CHECKS; i++) {
        json_set_text(checks, probe_check_name((enum probe_check)i), probe->checks[i]);
    }
    json_set_text(object, "create", probe->create);
    if (probe->load_ms >= 0) {
        json_set_int(object, "load_ms", probe->load_ms);
    } else {
        json_set_null(object, "load_ms");
    }
    json_set_text(object, "error", probe->error);
    return object;
}

static void set_owner(struct json *object, const struct install *install)
{
    if (install->owner_type == NULL) {
        json_set_null(object, "owner");
        return;
    }
    struct json *owner = json_set_object(object, "owner");
    json_set_text(owner, "type", install->owner_type);
    json_set_text(owner, "name", install->owner_name);
    json_set_text(owner, "path", install->owner_path);
}

struct json *snapshot_install_to_json(const struct snapshot *snapshot, size_t install_index)
{
    const struct install *install = &snapshot->inventory.installs[install_index];
    struct json *object = json_object();
    json_set_text(object, "id", install->id);
    json_set_text(object, "path", install->path);
    json_set_text(object, "kind", install_kind_name(install->kind));
    set_owner(object, install);
    set_version(object, "version", install->version);
    json_set_text(object, "build", install->build);
    set_positive(object, "generation", install->generation);
    set_positive(object, "cuda_major", install->cuda_major);
    json_set_text(object, "arch", arch_name(install->arch));
    set_version(object, "header_version", install->header_version);
    json_set_bool(object, "complete", install->complete);
    json_set_text(object, "layout", install_layout_name(install->layout));
    json_set_bool(object, "on_search_path", install->on_search_path);
    json_set_text(object, "environment", install->environment);
    struct json *libraries = json_set_array(object, "libraries");
    for (size_t i = 0; i < install->library_count; i++) {
        json_append(libraries, library_to_json(&install->libraries[i]));
    }
    json_set(object, "headers", texts(install->headers, install->header_count));
    json_set(object, "import_libraries",
             texts(install->import_libraries, install->import_library_count));
    if (snapshot->probes == NULL) {
        json_set_null(object, "probe");
    } else {
        json_set(object, "probe", probe_to_json(&snapshot->probes[install_index]));
    }
    return object;
}

struct json *snapshot_search_entry_to_json(const struct snapshot *snapshot, size_t entry_index)
{
    const struct search_entry *entry = &snapshot->inventory.search_path[entry_index];
    struct json *object = json_object();
    json_set_text(object, "scope", search_scope_name(entry->scope));
    json_set_int(object, "order", (int64_t)entry_index + 1);
    json_set_text(object, "directory", entry->directory);
    json_set_bool(object, "exists", entry->exists);
    json_set(object, "cudnn", texts(entry->cudnn, entry->cudnn_count));
    return object;
}

struct json *snapshot_problem_to_json(const struct problem *problem)
{
    struct json *object = json_object();
    json_set_text(object, "path", problem->path);
    json_set_text(object, "error", problem->error);
    json_set_bool(object, "skipped", problem->kind == PROBLEM_SKIPPED);
    return object;
}

struct json *finding_to_json(const struct finding *finding)
{
    struct json *object = json_object();
    json_set_text(object, "id", finding->id);
    json_set_text(object, "code", finding->code);
    json_set_text(object, "severity", severity_name(finding->severity));
    struct json *subject = json_set_object(object, "subject");
    json_set_text(subject, "type", finding->subject_type);
    json_set_text(subject, "id", finding->subject_id);
    json_set_text(subject, "path", finding->subject_path);
    json_set_text(object, "title", finding->title);
    json_set_text(object, "detail", finding->detail);
    struct json *evidence = json_set_object(object, "evidence");
    for (size_t i = 0; i < finding->evidence_count; i++) {
        json_set_text(evidence, finding->evidence[i].key, finding->evidence[i].value);
    }
    struct json *remedy = json_set_object(object, "remedy");
    json_set_text(remedy, "text", finding->remedy);
    json_set(remedy, "commands", texts(finding->commands, finding->command_count));
    json_set_text(object, "state", finding->resolved_at_ms == 0 ? "active" : "resolved");
    json_set_time(object, "first_seen_at", finding->first_seen_at_ms);
    json_set_time(object, "last_seen_at", finding->last_seen_at_ms);
    json_set_time(object, "resolved_at", finding->resolved_at_ms);
    return object;
}

/* The arrays of the whole document, in its order. */
static void set_arrays(struct json *object, const struct snapshot *snapshot)
{
    const struct inventory *inventory = &snapshot->inventory;
    struct json *array = json_set_array(object, "gpus");
    for (size_t i = 0; i < snapshot->driver.gpu_count; i++) {
        json_append(array, snapshot_gpu_to_json(&snapshot->driver.gpus[i]));
    }
    array = json_set_array(object, "toolkits");
    for (size_t i = 0; i < inventory->toolkit_count; i++) {
        json_append(array, snapshot_toolkit_to_json(&inventory->toolkits[i]));
    }
    array = json_set_array(object, "installs");
    for (size_t i = 0; i < inventory->install_count; i++) {
        json_append(array, snapshot_install_to_json(snapshot, i));
    }
    array = json_set_array(object, "search_path");
    for (size_t i = 0; i < inventory->search_count; i++) {
        json_append(array, snapshot_search_entry_to_json(snapshot, i));
    }
    array = json_set_array(object, "findings");
    for (size_t i = 0; i < snapshot->finding_count; i++) {
        json_append(array, finding_to_json(&snapshot->findings[i]));
    }
    array = json_set_array(object, "problems");
    for (size_t i = 0; i < inventory->problem_count; i++) {
        json_append(array, snapshot_problem_to_json(&inventory->problems[i]));
    }
}

struct json *snapshot_to_json(const struct snapshot *snapshot)
{
    struct json *object = json_object();
    json_set_int(object, "schema", SCHEMA);
    json_set(object, "scan", snapshot_scan_to_json(snapshot));
    json_set_text(object, "health", health_name(snapshot_health(snapshot)));
    json_set(object, "host", snapshot_host_to_json(snapshot));
    json_set(object, "driver", snapshot_driver_to_json(snapshot));
    set_arrays(object, snapshot);
    return object;
}
