#include "gpu/run.h"
#include "gpu/wire.h"

static void ended(struct probe *probe, enum probe_status status, const char *words)
{
    *probe = (struct probe){.status = status, .load_ms = -1, .error = words};
}

int gpu_probe(struct arena *arena, const struct gpu_worker_options *options, const char *directory,
              const char *library, struct probe *out_probe, struct err *err)
{
    const char *const arguments[] = {"probe", "--directory", directory, "--library", library, NULL};
    struct run run;
    struct err why = {0};
    int code = run_worker(arena, options, arguments, directory, &run, err);
    if (code != 0) {
        return code;
    }
    enum gpu_result result = GPU_RESULT_FAILED;
    switch (run.end) {
    case RUN_TIMED_OUT:
        ended(out_probe, PROBE_TIMEOUT, run.words);
        result = GPU_RESULT_TIMEOUT;
        break;
    case RUN_DIED:
        ended(out_probe, PROBE_CRASHED, run.words);
        result = GPU_RESULT_CRASHED;
        break;
    case RUN_DOCUMENT:
        if (wire_read_probe(arena, run.process.output, run.process.output_size, out_probe, &why) ==
            0) {
            result = out_probe->status == PROBE_OK ? GPU_RESULT_OK : GPU_RESULT_FAILED;
            break;
        }
        /* Exit status 0 and no usable document: the library ended the process, or wrote over it. */
        ended(out_probe, PROBE_CRASHED,
              run.process.output_size == 0
                  ? arena_printf(arena, "the process ended without an answer: %s", run.words)
                  : arena_printf(arena, "the answer is not usable: %s", why.message));
        result = GPU_RESULT_GARBAGE;
        break;
    case RUN_SHOUTED:
        ended(out_probe, PROBE_CRASHED, run.words);
        result = GPU_RESULT_GARBAGE;
        break;
    default: /* not started: nothing is known of the library */
        ended(out_probe, PROBE_SKIPPED, run.words);
        break;
    }
    run_count(GPU_TASK_PROBE, result);
    run_done(&run);
    return 0;
}
