#ifndef GPU_RUN_H
#define GPU_RUN_H

/* Starts one worker and says in one word how it ended. Counts results; keeps the rule that after a
   worker that could not be killed no other one is started. Internal to gpu/. */

#include "gpu/gpu.h"
#include "os/process.h"

enum run_end {
    RUN_DOCUMENT, /* exit status 0; whether it left a document is for who asked */
    RUN_DIED,
    RUN_TIMED_OUT,
    RUN_SHOUTED,
    RUN_STUCK, /* not started: an earlier worker cannot be ended */
    RUN_NOT_STARTED,
};

struct run {
    enum run_end end;
    struct os_process_result process; /* run_done() frees it; empty when not started */
    const char *words;                /* in the arena: how it ended, its last words included */
};

/* `arguments`: NULL-terminated. `search_directory`: what siblings of a probed library are found in,
   NULL for none. 0, or ERR_CANCELLED. */
int run_worker(struct arena *arena, const struct gpu_worker_options *options,
               const char *const *arguments, const char *search_directory, struct run *out_run,
               struct err *err);
void run_done(struct run *run);

void run_count(enum gpu_task task, enum gpu_result result);

#endif
