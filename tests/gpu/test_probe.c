#include "tests/test.h"

#include "base/cleanup.h"
#include "os/path.h"
#include "tests/gpu/doubles.h"

static const char directory[] = "/opt/cudnn/bin";
static const char library[] = "/opt/cudnn/bin/cudnn64_9.dll";

static struct probe ask(struct arena *arena, const struct gpu_worker_options *options,
                        const char *where, const char *what)
{
    struct probe probe;
    struct err err = {0};
    assert_int_equal(gpu_probe(arena, options, where, what, &probe, &err), 0);
    return probe;
}

static struct probe ask_double(struct arena *arena, const char *mode)
{
    struct gpu_worker_options options = double_options(arena, mode);
    return ask(arena, &options, directory, library);
}

static void assert_mentions(const char *text, const char *word)
{
    if (text == NULL || strstr(text, word) == NULL) {
        fail_msg("'%s' does not mention '%s'", text == NULL ? "(null)" : text, word);
    }
}

static void a_healthy_answer_is_passed_on(void **state)
{
    (void)state;
    CLEANUP(arena_done) struct arena arena = {0};
    uint64_t before = gpu_worker_runs(GPU_TASK_PROBE, GPU_RESULT_OK);
    struct probe probe = ask_double(&arena, "ok");
    assert_int_equal(probe.status, PROBE_OK);
    assert_int_equal(probe.version, 90500);
    assert_string_equal(probe.checks[PROBE_CHECK_OPS], "CUDNN_STATUS_SUCCESS");
    assert_string_equal(probe.create, "CUDNN_STATUS_NOT_INITIALIZED");
    assert_int_equal(gpu_worker_runs(GPU_TASK_PROBE, GPU_RESULT_OK), before + 1);
}

static void the_loaders_error_is_passed_on(void **state)
{
    (void)state;
    CLEANUP(arena_done) struct arena arena = {0};
    struct probe probe = ask_double(&arena, "failed");
    assert_int_equal(probe.status, PROBE_FAILED);
    assert_int_equal(probe.loader_code, 126);
    assert_string_equal(probe.error, "a library it needs is missing");
    assert_int_equal(probe.load_ms, -1);
}

static void a_library_that_ends_the_process_is_quoted(void **state)
{
    (void)state;
    CLEANUP(arena_done) struct arena arena = {0};
    uint64_t before = gpu_worker_runs(GPU_TASK_PROBE, GPU_RESULT_CRASHED);
    struct probe probe = ask_double(&arena, "exit");
    assert_int_equal(probe.status, PROBE_CRASHED);
    assert_mentions(probe.error, "exit status 3");
    assert_mentions(probe.error, "Could not locate cudnn_graph64_9.dll. Please make sure it is in "
                                 "your library path!");
    assert_null(strpbrk(probe.error, "\r\n\t"));
    probe = ask_double(&arena, "crash");
    assert_int_equal(probe.status, PROBE_CRASHED);
    assert_mentions(probe.error, os_path_separator == '\\' ? "exception 0xC0000005" : "signal 6");
    assert_mentions(probe.error, "Could not locate");
    assert_int_equal(gpu_worker_runs(GPU_TASK_PROBE, GPU_RESULT_CRASHED), before + 2);
}

static void an_end_without_an_answer_is_a_crash(void **state)
{
    (void)state;
    static const char *const modes[] = {"empty", "garbage", "half", "types", "huge"};
    for (size_t i = 0; i < sizeof modes / sizeof *modes; i++) {
        CLEANUP(arena_done) struct arena arena = {0};
        struct probe probe = ask_double(&arena, modes[i]);
        assert_int_equal(probe.status, PROBE_CRASHED);
        assert_mentions(probe.error, "answer");
        assert_int_equal(probe.version, 0);
        assert_int_equal(probe.load_ms, -1);
    }
}

static void output_without_an_end_is_ended(void **state)
{
    (void)state;
    CLEANUP(arena_done) struct arena arena = {0};
    struct probe probe = ask_double(&arena, "endless");
    assert_int_equal(probe.status, PROBE_CRASHED);
    assert_mentions(probe.error, "output");
}

static void a_library_that_hangs_is_a_timeout(void **state)
{
    (void)state;
    CLEANUP(arena_done) struct arena arena = {0};
    struct gpu_worker_options options = double_options(&arena, "hang");
    uint64_t before = gpu_worker_runs(GPU_TASK_PROBE, GPU_RESULT_TIMEOUT);
    options.timeout_ms = 500;
    struct probe probe = ask(&arena, &options, directory, library);
    assert_int_equal(probe.status, PROBE_TIMEOUT);
    assert_mentions(probe.error, "500 ms");
    assert_int_equal(gpu_worker_runs(GPU_TASK_PROBE, GPU_RESULT_TIMEOUT), before + 1);
}

static void a_cancelled_probe_has_no_answer(void **state)
{
    (void)state;
    CLEANUP(arena_done) struct arena arena = {0};
    struct gpu_worker_options options = double_options(&arena, "hang");
    struct probe probe = {.version = 77};
    atomic_bool cancel = true;
    options.cancel = &cancel;
    assert_int_equal(gpu_probe(&arena, &options, directory, library, &probe, NULL), ERR_CANCELLED);
    assert_int_equal(probe.version, 77);
}

static void without_a_worker_nothing_is_known_of_the_library(void **state)
{
    (void)state;
    CLEANUP(arena_done) struct arena arena = {0};
    struct gpu_worker_options options = double_options(&arena, "ok");
    options.program = os_path_join(&arena, options.program, "no-such-worker");
    struct probe probe = ask(&arena, &options, directory, library);
    assert_int_equal(probe.status, PROBE_SKIPPED);
    assert_mentions(probe.error, "cannot be started");
}

static void the_loader_is_given_exactly_this_directory(void **state)
{
    (void)state;
    if (os_path_list_separator != ':') {
        skip(); /* Windows' loader is told by a call in the worker */
    }
    CLEANUP(arena_done) struct arena arena = {0};
    struct gpu_worker_options options = double_options(&arena, "tell");
    set_environment("LD_LIBRARY_PATH", "/elsewhere");
    struct probe probe = ask(&arena, &options, directory, library);
    set_environment("LD_LIBRARY_PATH", NULL);
    assert_mentions(probe.error, "argument=probe|argument=--directory|argument=/opt/cudnn/bin|"
                                 "argument=--library|argument=/opt/cudnn/bin/cudnn64_9.dll|"
                                 "LD_LIBRARY_PATH=/opt/cudnn/bin|LD_PRELOAD=(none)|");
}

static void a_directory_that_the_loader_would_take_apart_is_not_searched(void **state)
{
    (void)state;
    if (os_path_list_separator != ':') {
        skip();
    }
    static const char *const names[] = {"/opt/a:b", "/opt/a;b", "/opt/$ORIGIN"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        CLEANUP(arena_done) struct arena arena = {0};
        struct gpu_worker_options options = double_options(&arena, "ok");
        struct probe probe = ask(&arena, &options, names[i], library);
        assert_int_equal(probe.status, PROBE_SKIPPED);
        assert_mentions(probe.error, "in its name");
    }
}

/* ---- the real worker ---- */

static void the_worker_says_what_the_loader_says(void **state)
{
    (void)state;
    CLEANUP(arena_done) struct arena arena = {0};
    struct gpu_worker_options options = worker_options(&arena);
    struct probe probe = ask(&arena, &options, os_path_parent(&arena, options.program),
                             os_path_join(&arena, options.program, "no-such-library"));
    assert_int_equal(probe.status, PROBE_FAILED);
    assert_mentions(probe.error, "no-such-library");
    assert_int_equal(probe.version, 0);
}

static void a_library_that_is_not_cudnn_is_told_apart(void **state)
{
    (void)state;
    CLEANUP(arena_done) struct arena arena = {0};
    struct gpu_worker_options options = worker_options(&arena);
    const char *other =
        double_path(&arena, os_path_separator == '\\' ? "nvcuda.dll" : "libcuda.so.1");
    struct probe probe = ask(&arena, &options, os_path_parent(&arena, other), other);
    assert_int_equal(probe.status, PROBE_FAILED);
    assert_mentions(probe.error, "cudnnGetVersion");
}

/* NVIDIA's own, as scripts/fetch_cudnn unpacks them. */
static const char *wheel(struct arena *arena, const char *name)
{
    const char *wheels = getenv("CUDNND_TEST_WHEELS");
    const char *home = getenv("HOME");
    char *path = NULL;
    if (wheels == NULL && home != NULL) {
        wheels = os_path_join(arena, home, ".cache/cudnnd/wheels");
    }
    if (wheels == NULL ||
        os_path_resolve(arena, NULL, os_path_join(arena, wheels, name), &path, NULL) != 0) {
        arena_done(arena); /* skipping leaves the test by a jump */
        skip();
    }
    return path;
}

static void the_real_cudnn_9_5_answers_without_a_gpu(void **state)
{
    (void)state;
    CLEANUP(arena_done) struct arena arena = {0};
    struct gpu_worker_options options = worker_options(&arena);
    bool windows = os_path_separator == '\\';
    const char *where =
        wheel(&arena, windows ? "nvidia-cudnn-cu12-9.5.0.50-win_amd64/nvidia/cudnn/bin"
                              : "nvidia-cudnn-cu12-9.5.0.50-linux_x86_64/nvidia/cudnn/"
                                "lib");
    const char *what = os_path_join(&arena, where, windows ? "cudnn64_9.dll" : "libcudnn.so.9");
    struct probe probe = ask(&arena, &options, where, what);
    assert_null(probe.error);
    assert_int_equal(probe.status, PROBE_OK);
    assert_int_equal(probe.version, 90500);
    assert_int_equal(probe.cudart_version, 12060);
    assert_int_equal(probe.max_compute_capability, 900);
    for (size_t i = 0; i < PROBE_CHECKS; i++) {
        assert_string_equal(probe.checks[i], "CUDNN_STATUS_SUCCESS");
    }
    assert_mentions(probe.create, "CUDNN_STATUS_");
}

RUN_TESTS(cmocka_unit_test(a_healthy_answer_is_passed_on),
          cmocka_unit_test(the_loaders_error_is_passed_on),
          cmocka_unit_test(a_library_that_ends_the_process_is_quoted),
          cmocka_unit_test(an_end_without_an_answer_is_a_crash),
          cmocka_unit_test(output_without_an_end_is_ended),
          cmocka_unit_test(a_library_that_hangs_is_a_timeout),
          cmocka_unit_test(a_cancelled_probe_has_no_answer),
          cmocka_unit_test(without_a_worker_nothing_is_known_of_the_library),
          cmocka_unit_test(the_loader_is_given_exactly_this_directory),
          cmocka_unit_test(a_directory_that_the_loader_would_take_apart_is_not_searched),
          cmocka_unit_test(the_worker_says_what_the_loader_says),
          cmocka_unit_test(a_library_that_is_not_cudnn_is_told_apart),
          cmocka_unit_test(the_real_cudnn_9_5_answers_without_a_gpu))
