#include "gpu/run.h"

#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "os/path.h"

enum { LAST_WORDS_BYTES = 300, OWN_PATH_BYTES = 4096 };

static atomic_ullong counters[GPU_TASKS][GPU_RESULTS];

/* A worker lives on in the driver and cannot be killed: every further one would hang as well, and
   hold what it has. Nobody tells when it goes after all, so this stands until a restart. */
static atomic_bool stuck;

void run_count(enum gpu_task task, enum gpu_result result)
{
    atomic_fetch_add(&counters[task][result], 1);
}

uint64_t gpu_worker_runs(enum gpu_task task, enum gpu_result result)
{
    return atomic_load(&counters[task][result]);
}

/* The worker lies beside the program that runs. */
static int worker_path(struct arena *arena, const struct gpu_worker_options *options,
                       const char **out_path, struct err *err)
{
    char own[OWN_PATH_BYTES];
    if (options->program != NULL) {
        *out_path = options->program;
        return 0;
    }
    int code = os_process_own_path(own, sizeof own, err);
    if (code == 0) {
        const char *name =
            text_has_suffix_nocase(own, ".exe") ? "cudnnd-worker.exe" : "cudnnd-worker";
        *out_path = os_path_join(arena, os_path_parent(arena, own), name);
    }
    return code;
}

/* The end of what the child wrote on stderr, as one line: runs of blanks and control characters
   become one blank. A library that ends the process says why there. */
static const char *last_words(struct arena *arena, const struct os_process_result *process)
{
    const char *clean = text_utf8_clean(arena, process->error_tail);
    char *line = arena_alloc(arena, strlen(clean) + 1);
    size_t used = 0;
    for (const char *at = clean; *at != '\0'; at++) {
        if ((unsigned char)*at > ' ' && *at != 0x7f) {
            line[used++] = *at;
        } else if (used > 0 && line[used - 1] != ' ') {
            line[used++] = ' ';
        }
    }
    char *words = text_strip(line);
    size_t length = strlen(words);
    words += length > LAST_WORDS_BYTES ? length - LAST_WORDS_BYTES : 0;
    while (((unsigned char)*words & 0xc0) == 0x80) { /* not from the middle of a character */
        words++;
    }
    return words;
}

static const char *duration(struct arena *arena, uint64_t duration_ms)
{
    bool whole = duration_ms % 1000 == 0;
    return arena_printf(arena, whole ? "%llu s" : "%llu ms",
                        (unsigned long long)(whole ? duration_ms / 1000 : duration_ms));
}

static const char *how_it_ended(struct arena *arena, const struct os_process_result *process)
{
    char end[128];
    os_process_end_text(process, end, sizeof end);
    const char *words = last_words(arena, process);
    return *words == '\0' ? arena_strdup(arena, end) : arena_printf(arena, "%s: %s", end, words);
}

static void judge(struct arena *arena, const struct gpu_worker_options *options, struct run *run)
{
    const struct os_process_result *process = &run->process;
    switch (process->end) {
    case OS_PROCESS_TIMED_OUT:
        run->end = RUN_TIMED_OUT;
        run->words =
            arena_printf(arena, "no answer in time (%s)%s", duration(arena, options->timeout_ms),
                         process->unkillable ? ", and the process cannot be ended" : "");
        break;
    case OS_PROCESS_TOO_MUCH_OUTPUT:
        run->end = RUN_SHOUTED;
        run->words = arena_printf(arena, "more than %zu bytes of output", options->output_bytes);
        break;
    default:
        run->end =
            process->end == OS_PROCESS_EXITED && process->code == 0 ? RUN_DOCUMENT : RUN_DIED;
        run->words = how_it_ended(arena, process);
        break;
    }
}

/* ld.so(8) takes LD_LIBRARY_PATH apart at ':' and ';' and replaces $ORIGIN and the like: a
   directory with such a name cannot be said, and pieces of it must not be searched. */
static bool can_be_searched(const char *directory)
{
    return directory == NULL || os_path_list_separator != ':' || strpbrk(directory, ":;$") == NULL;
}

/* What must not reach vendor code. CUDNN_LOG*: its log would go to our channel or into files. */
static const char *const unset[] = {
    "LD_*",
    "CUDA_VISIBLE_DEVICES", /* the machine's devices are asked for, not a job's */
    "CUDNN_LOGLEVEL_DBG",
    "CUDNN_LOGDEST_DBG",
    "CUDNN_LOGINFO_DBG",
    "CUDNN_LOGWARN_DBG",
    "CUDNN_LOGERR_DBG",
    NULL,
};

int run_worker(struct arena *arena, const struct gpu_worker_options *options,
               const char *const *arguments, const char *search_directory, struct run *out_run,
               struct err *err)
{
    struct run run = {.end = RUN_NOT_STARTED};
    struct err why = {0};
    /* The POSIX loader reads this once, at the start of the process; Windows' has no such thing. */
    const char *const set[] = {search_directory == NULL
                                   ? NULL
                                   : arena_printf(arena, "LD_LIBRARY_PATH=%s", search_directory),
                               NULL};
    struct os_process_spec spec = {
        .arguments = arguments,
        .unset = unset,
        .set = set,
        .timeout_ms = options->timeout_ms,
        .memory_bytes = options->memory_bytes,
        .output_bytes = options->output_bytes,
        .background = options->background,
        .cancel = options->cancel,
    };
    if (atomic_load(&stuck)) {
        run.end = RUN_STUCK;
        run.words =
            "an earlier process hangs in the driver and cannot be ended: restart the machine";
    } else if (!can_be_searched(search_directory)) {
        run.words = "the loader cannot be given a directory with ':', ';' or '$' in its name";
    } else if (worker_path(arena, options, &spec.program, &why) != 0 ||
               os_process_run(&spec, &run.process, &why) != 0) {
        run.words = arena_printf(arena, "the worker program cannot be started: %s", why.message);
    } else {
        if (run.process.unkillable) {
            atomic_store(&stuck, true);
        }
        if (run.process.end == OS_PROCESS_CANCELLED) {
            run_done(&run);
            return err_set(err, ERR_CANCELLED, "cancelled");
        }
        judge(arena, options, &run);
    }
    *out_run = run;
    return 0;
}

void run_done(struct run *run)
{
    os_process_result_done(&run->process);
}
