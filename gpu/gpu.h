#ifndef GPU_GPU_H
#define GPU_GPU_H

/* Observes hardware and vendor libraries, always through a worker process with a deadline: starts
   it, reads its one JSON document, and turns every way it can end into data. Never loads vendor
   code itself, never judges. Results are in the caller's arena. */

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/err.h"

enum driver_status { DRIVER_OK, DRIVER_MISSING, DRIVER_ERROR };

struct gpu {
    int index;
    const char *name; /* NULL = the driver does not say; so with every field */
    const char *uuid;
    const char *compute_capability; /* "8.6" */
    int64_t memory_bytes;           /* -1 = unknown */
    const char *pci_bus_id;
    const char *status; /* "ok", or what the driver says is wrong with it */
};

struct driver {
    enum driver_status status;
    const char *version;      /* "560.94", as the driver writes it */
    const char *cuda_version; /* "12.6" */
    const char *model;        /* "wddm", "tcc", "mcdm"; NULL elsewhere than on Windows */
    const char *error;        /* DRIVER_ERROR: one sentence */
    const char *source;       /* "nvml", "cuda"; NULL when missing */
    bool hung;                /* DRIVER_ERROR because it did not answer: do not ask it more */
    struct gpu *gpus;
    size_t gpu_count;
};

enum probe_status { PROBE_OK, PROBE_FAILED, PROBE_CRASHED, PROBE_TIMEOUT, PROBE_SKIPPED };

enum probe_check {
    PROBE_CHECK_GRAPH,
    PROBE_CHECK_OPS,
    PROBE_CHECK_CNN,
    PROBE_CHECK_ADV,
    PROBE_CHECKS
};

struct probe {
    enum probe_status status;
    int64_t version;                  /* cudnnGetVersion(): 90500; 0 = did not answer */
    int64_t cudart_version;           /* 12060 */
    int64_t max_compute_capability;   /* 900 */
    const char *checks[PROBE_CHECKS]; /* status names; NULL = this library has no such check */
    const char *create;               /* status name of cudnnCreate; NULL */
    int64_t load_ms;                  /* -1 = unknown */
    const char *error; /* in words: loader's error, how it died, why it was skipped; NULL */
    int loader_code;   /* Windows error number of a failed load (126, 127, 193); 0 */
};

struct gpu_worker_options {
    const char *program; /* path of cudnnd-worker; NULL = beside this program */
    const char *root;    /* sysroot for the driver's libraries; NULL */
    uint64_t timeout_ms;
    uint64_t memory_bytes;
    size_t output_bytes;
    bool background;           /* low priority */
    const atomic_bool *cancel; /* NULL = never */
};

/* Counts by result, for metrics: one counter a (task, result). Thread-safe to read. */
enum gpu_task { GPU_TASK_DRIVER, GPU_TASK_PROBE, GPU_TASKS };
enum gpu_result {
    GPU_RESULT_OK,
    GPU_RESULT_FAILED,
    GPU_RESULT_CRASHED,
    GPU_RESULT_TIMEOUT,
    GPU_RESULT_GARBAGE,
    GPU_RESULTS
};
uint64_t gpu_worker_runs(enum gpu_task task, enum gpu_result result);
const char *gpu_task_name(enum gpu_task task);
const char *gpu_result_name(enum gpu_result result);

/* Always fills out_driver, unless cancelled (ERR_CANCELLED). A driver that hangs, crashes or talks
   nonsense is DRIVER_ERROR with a sentence that says so. After a worker that could not be killed
   (stuck in the driver) no other one is started while it lives: the answer says so. */
int gpu_query_driver(struct arena *arena, const struct gpu_worker_options *options,
                     struct driver *out_driver, struct err *err);

/* Loads `library` (the entry library's full path) in a worker with exactly `directory` added to the
   search. Always fills out_probe, unless cancelled. The caller has decided that it may be
   loaded. */
int gpu_probe(struct arena *arena, const struct gpu_worker_options *options, const char *directory,
              const char *library, struct probe *out_probe, struct err *err);

const char *driver_status_name(enum driver_status status);
const char *probe_status_name(enum probe_status status);
const char *probe_check_name(enum probe_check check);

#endif
