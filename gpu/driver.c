#include "gpu/run.h"
#include "gpu/wire.h"

static void failed(struct arena *arena, struct driver *driver, const char *what, const char *words)
{
    *driver = (struct driver){
        .status = DRIVER_ERROR,
        .error = arena_printf(arena, "%s: %s", what, words),
    };
}

int gpu_query_driver(struct arena *arena, const struct gpu_worker_options *options,
                     struct driver *out_driver, struct err *err)
{
    const char *const arguments[] = {"driver", options->root == NULL ? NULL : "--root",
                                     options->root, NULL};
    struct run run;
    struct err why = {0};
    int code = run_worker(arena, options, arguments, NULL, &run, err);
    if (code != 0) {
        return code;
    }
    switch (run.end) {
    case RUN_TIMED_OUT:
        failed(arena, out_driver, "the driver hangs", run.words);
        out_driver->hung = true;
        run_count(GPU_TASK_DRIVER, GPU_RESULT_TIMEOUT);
        break;
    case RUN_DIED:
        failed(arena, out_driver, "asking the driver ends the process", run.words);
        run_count(GPU_TASK_DRIVER, GPU_RESULT_CRASHED);
        break;
    case RUN_DOCUMENT:
        if (wire_read_driver(arena, run.process.output, run.process.output_size, out_driver,
                             &why) == 0) {
            run_count(GPU_TASK_DRIVER,
                      out_driver->status == DRIVER_ERROR ? GPU_RESULT_FAILED : GPU_RESULT_OK);
            break;
        }
        failed(arena, out_driver, "the worker's answer about the driver is not usable",
               why.message);
        run_count(GPU_TASK_DRIVER, GPU_RESULT_GARBAGE);
        break;
    case RUN_STUCK:
        failed(arena, out_driver, "the driver did not answer in time before", run.words);
        out_driver->hung = true;
        run_count(GPU_TASK_DRIVER, GPU_RESULT_FAILED);
        break;
    default:
        failed(arena, out_driver, "the driver could not be asked", run.words);
        run_count(GPU_TASK_DRIVER, run.end == RUN_SHOUTED ? GPU_RESULT_GARBAGE : GPU_RESULT_FAILED);
        break;
    }
    run_done(&run);
    return 0;
}
