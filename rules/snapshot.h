#ifndef RULES_SNAPSHOT_H
#define RULES_SNAPSHOT_H

/* The snapshot: one immutable value in one arena that says what a machine was like at one moment.
   Built by one thread, judged, stored, then published. Here is the value and its JSON form
   (schema 1, docs/snapshot.md): the same document for the API, the store and `scan --json`. */

#include "base/arena.h"
#include "base/json.h"
#include "gpu/gpu.h"
#include "inventory/inventory.h"
#include "os/host.h"

enum scan_trigger { SCAN_STARTUP, SCAN_SCHEDULE, SCAN_CHANGE, SCAN_RESUME, SCAN_REQUEST, SCAN_CLI };

enum severity { SEVERITY_INFO, SEVERITY_WARNING, SEVERITY_CRITICAL };

enum health { HEALTH_OK, HEALTH_WARNING, HEALTH_CRITICAL, HEALTH_UNKNOWN };

struct evidence {
    const char *key;
    const char *value;
};

struct finding {
    const char *id; /* stable for the same fault on the same subject: 16 hex digits */
    const char *code;
    enum severity severity;
    const char *subject_type; /* install, consumer, toolkit, driver, gpu, host, service */
    const char *subject_id;   /* of the subject's document; NULL */
    const char *subject_path; /* NULL */
    const char *title;        /* one line */
    const char *detail;       /* names the files, versions and directories involved */
    struct evidence *evidence;
    size_t evidence_count;
    const char *remedy;    /* what to do, in words */
    const char **commands; /* can be pasted into the platform's shell as they are */
    size_t command_count;

    /* From the store; 0 = not stored (a command's scan). Unix milliseconds. */
    int64_t first_seen_at_ms, last_seen_at_ms, resolved_at_ms;
};

struct snapshot {
    int64_t scan_id; /* 0 = not stored */
    int64_t started_at_ms, finished_at_ms;
    uint64_t duration_ms;
    enum scan_trigger trigger;
    struct os_host host;
    enum os_host_presence nvidia_device; /* on the PCI bus */
    struct driver driver;
    struct inventory inventory;
    struct probe *probes;     /* probes[i] belongs to inventory.installs[i] */
    struct finding *findings; /* filled by rules_evaluate: by severity (worst first), code, path */
    size_t finding_count;
};

const char *scan_trigger_name(enum scan_trigger trigger);
const char *severity_name(enum severity severity);
const char *health_name(enum health health);

/* Worst severity of the findings: HEALTH_OK, _WARNING or _CRITICAL. */
enum health snapshot_health(const struct snapshot *snapshot);

/* JSON, a new value each (json_free). The whole, and its parts as the API serves them. */
struct json *snapshot_to_json(const struct snapshot *snapshot);
struct json *snapshot_scan_to_json(const struct snapshot *snapshot);
struct json *snapshot_host_to_json(const struct snapshot *snapshot);
struct json *snapshot_driver_to_json(const struct snapshot *snapshot);
struct json *snapshot_gpu_to_json(const struct gpu *gpu);
struct json *snapshot_toolkit_to_json(const struct toolkit *toolkit);
struct json *snapshot_install_to_json(const struct snapshot *snapshot, size_t install_index);
struct json *snapshot_search_entry_to_json(const struct snapshot *snapshot, size_t entry_index);
struct json *snapshot_problem_to_json(const struct problem *problem);
struct json *finding_to_json(const struct finding *finding);

#endif
