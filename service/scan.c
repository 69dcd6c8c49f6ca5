#include "service/scan.h"

#include "base/hash.h"
#include "base/log.h"
#include "base/text.h"
#include "os/clock.h"
#include "os/path.h"
#include "rules/rules.h"

/* So many probes may run into their deadline in one scan; the rest are skipped. */
enum { HUNG_PROBES = 2, REMEMBERED_PROBES = 4096 };

/* A probe's answer and what it depended on. Only good answers are remembered: a crash or a
   time-out may have been the moment's. */
struct remembered_probe {
    char install[24];
    uint64_t fingerprint;
    struct probe probe; /* texts in the memory's own arena */
};

struct scan_memory {
    struct inventory_cache *files;
    struct arena arena; /* of this generation's probes */
    struct remembered_probe *probes;
    size_t probe_count, probe_capacity;
};

struct scan_memory *scan_memory_new(void)
{
    struct scan_memory *memory = calloc(1, sizeof *memory);
    if (memory == NULL) {
        log_fatal("out of memory");
    }
    memory->files = inventory_cache_new();
    return memory;
}

void scan_memory_free(struct scan_memory *memory)
{
    if (memory != NULL) {
        inventory_cache_free(memory->files);
        arena_done(&memory->arena);
        free(memory);
    }
}

static void report_step(const struct scan_request *request, const char *step)
{
    if (request->progress != NULL) {
        request->progress(request->progress_context, step);
    }
}

static const struct library *entry_library(const struct install *install)
{
    for (size_t i = 0; i < install->library_count; i++) {
        const struct library *library = &install->libraries[i];
        bool entry =
            text_equal(library->component, "shim") || text_equal(library->component, "all");
        if (entry && library->generation == install->generation &&
            library->state != LIBRARY_MISSING && library->state != LIBRARY_CORRUPT) {
            return library;
        }
    }
    return NULL;
}

static uint64_t fingerprint(const struct snapshot *snapshot, const struct install *install)
{
    uint64_t hash = HASH_START;
    for (size_t i = 0; i < install->library_count; i++) {
        const struct library *library = &install->libraries[i];
        hash = hash_text(hash, library->file);
        hash = hash_bytes(hash, &library->size_bytes, sizeof library->size_bytes);
        hash = hash_bytes(hash, &library->modified_at_ms, sizeof library->modified_at_ms);
        hash = hash_bytes(hash, &library->state, sizeof library->state);
    }
    const struct driver *driver = &snapshot->driver;
    hash = hash_bytes(hash, &driver->status, sizeof driver->status);
    hash = hash_text(hash, driver->version == NULL ? "" : driver->version);
    return hash_text(hash, snapshot->host.boot_id == NULL ? "" : snapshot->host.boot_id);
}

static void copy_probe(struct arena *arena, const struct probe *from, struct probe *to)
{
    *to = *from;
    for (int i = 0; i < PROBE_CHECKS; i++) {
        to->checks[i] = arena_strdup(arena, from->checks[i]);
    }
    to->create = arena_strdup(arena, from->create);
    to->error = arena_strdup(arena, from->error);
}

static bool recall(struct arena *arena, const struct scan_memory *memory,
                   const struct install *install, uint64_t wanted, struct probe *out_probe)
{
    for (size_t i = 0; memory != NULL && i < memory->probe_count; i++) {
        if (memory->probes[i].fingerprint == wanted &&
            text_equal(memory->probes[i].install, install->id)) {
            copy_probe(arena, &memory->probes[i].probe, out_probe);
            return true;
        }
    }
    return false;
}

/* Keeps this scan's good answers and forgets the last scan's: the memory does not grow. */
static void remember(struct scan_memory *memory, const struct snapshot *snapshot)
{
    arena_done(&memory->arena);
    memory->probes = NULL;
    memory->probe_count = memory->probe_capacity = 0;
    for (size_t i = 0; i < snapshot->inventory.install_count; i++) {
        const struct install *install = &snapshot->inventory.installs[i];
        if (snapshot->probes[i].status != PROBE_OK || memory->probe_count == REMEMBERED_PROBES) {
            continue;
        }
        struct remembered_probe *kept =
            arena_push(&memory->arena, &memory->probes, &memory->probe_count,
                       &memory->probe_capacity, sizeof *kept);
        text_copy(kept->install, sizeof kept->install, install->id);
        kept->fingerprint = fingerprint(snapshot, install);
        copy_probe(&memory->arena, &snapshot->probes[i], &kept->probe);
    }
}

static void skip(struct arena *arena, struct probe *probe, const char *reason)
{
    *probe = (struct probe){
        .status = PROBE_SKIPPED, .load_ms = -1, .error = arena_strdup(arena, reason)};
}

/* Why this install is not to be loaded; NULL when it is. */
static const char *why_not(const struct scan_request *request, const struct snapshot *snapshot,
                           const struct install *install, unsigned hung)
{
    if (!request->probe || request->config->scan_probe == CONFIG_PROBE_NONE) {
        return "probing is switched off";
    }
    if (entry_library(install) == NULL) {
        return "it has no entry library that could be loaded";
    }
    if (request->config->scan_probe == CONFIG_PROBE_TRUSTED && !install->trusted) {
        return install->trust_reason;
    }
    if (snapshot->driver.hung) {
        return "the driver hangs, and loading would hang with it";
    }
    if (hung >= HUNG_PROBES) {
        return "earlier probes of this scan did not come back";
    }
    return NULL;
}

static int probe_all(struct arena *arena, const struct scan_request *request,
                     const struct gpu_worker_options *worker, struct snapshot *snapshot,
                     struct err *err)
{
    const struct inventory *inventory = &snapshot->inventory;
    unsigned hung = 0;
    snapshot->probes = arena_alloc(arena, (inventory->install_count + 1) * sizeof(struct probe));
    for (size_t i = 0; i < inventory->install_count; i++) {
        const struct install *install = &inventory->installs[i];
        struct probe *probe = &snapshot->probes[i];
        const char *reason = why_not(request, snapshot, install, hung);
        if (reason != NULL) {
            skip(arena, probe, reason);
            continue;
        }
        if (recall(arena, request->memory, install, fingerprint(snapshot, install), probe)) {
            continue;
        }
        report_step(request, install->path);
        const char *directory = os_path_in_root(arena, request->root, install->path);
        const char *library = os_path_join(arena, directory, entry_library(install)->file);
        int code = gpu_probe(arena, worker, directory, library, probe, err);
        if (code != 0) {
            return code;
        }
        hung += probe->status == PROBE_TIMEOUT ? 1 : 0;
    }
    if (request->memory != NULL) {
        remember(request->memory, snapshot);
    }
    return 0;
}

static int observe(struct arena *arena, const struct scan_request *request,
                   struct snapshot *snapshot, struct err *err)
{
    const struct config *config = request->config;
    os_host_read(arena, request->root, &snapshot->host);
    snapshot->nvidia_device = os_host_nvidia_device(request->root);
    report_step(request, "inventory");
    struct inventory_request places = {
        .root = request->root,
        .process_environment = request->process_environment,
        .list_watched = request->list_watched,
        .extra_roots = config->scan_roots.items,
        .extra_root_count = config->scan_roots.count,
        .cancel = request->cancel,
        .cache = request->memory == NULL ? NULL : request->memory->files,
    };
    int code = inventory_scan(arena, &places, &snapshot->inventory, err);
    if (code != 0) {
        return code;
    }
    report_step(request, "driver");
    struct gpu_worker_options worker = {
        .root = request->root,
        .timeout_ms = (uint64_t)config->worker_timeout_ms,
        .memory_bytes = (uint64_t)config->worker_memory_bytes,
        .output_bytes = (size_t)config->worker_output_bytes,
        .background = request->trigger != SCAN_CLI,
        .cancel = request->cancel,
    };
    code = gpu_query_driver(arena, &worker, &snapshot->driver, err);
    return code != 0 ? code : probe_all(arena, request, &worker, snapshot, err);
}

int scan_run(struct arena *arena, const struct scan_request *request, struct snapshot *out_snapshot,
             struct err *err)
{
    struct snapshot snapshot = {.trigger = request->trigger, .started_at_ms = os_clock_wall_ms()};
    uint64_t started = os_clock_steady_ms();
    int code = observe(arena, request, &snapshot, err);
    if (code != 0) {
        return code;
    }
    report_step(request, "rules");
    rules_evaluate(arena, &snapshot);
    snapshot.duration_ms = os_clock_steady_ms() - started;
    snapshot.finished_at_ms = os_clock_wall_ms();
    *out_snapshot = snapshot;
    return 0;
}
