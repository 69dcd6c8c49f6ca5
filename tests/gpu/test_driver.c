#include "tests/test.h"

#include <pthread.h>

#include "base/cleanup.h"
#include "os/clock.h"
#include "os/path.h"
#include "tests/gpu/doubles.h"

static struct driver ask(struct arena *arena, const struct gpu_worker_options *options)
{
    struct driver driver;
    struct err err = {0};
    assert_int_equal(gpu_query_driver(arena, options, &driver, &err), 0);
    return driver;
}

static struct driver ask_double(struct arena *arena, const char *mode)
{
    struct gpu_worker_options options = double_options(arena, mode);
    return ask(arena, &options);
}

static void assert_mentions(const char *text, const char *word)
{
    if (text == NULL || strstr(text, word) == NULL) {
        fail_msg("'%s' does not mention '%s'", text == NULL ? "(null)" : text, word);
    }
}

static void assert_error(const struct driver *driver, const char *word)
{
    assert_int_equal(driver->status, DRIVER_ERROR);
    assert_int_equal(driver->gpu_count, 0);
    assert_null(driver->version);
    assert_mentions(driver->error, word);
}

static void a_healthy_answer_is_passed_on(void **state)
{
    (void)state;
    CLEANUP(arena_done) struct arena arena = {0};
    uint64_t before = gpu_worker_runs(GPU_TASK_DRIVER, GPU_RESULT_OK);
    struct driver driver = ask_double(&arena, "ok");
    assert_int_equal(driver.status, DRIVER_OK);
    assert_string_equal(driver.version, "560.94");
    assert_int_equal(driver.gpu_count, 1);
    assert_string_equal(driver.gpus[0].name, "NVIDIA GeForce RTX 3060");
    assert_false(driver.hung);
    assert_int_equal(gpu_worker_runs(GPU_TASK_DRIVER, GPU_RESULT_OK), before + 1);
}

static void a_slow_answer_is_waited_for(void **state)
{
    (void)state;
    CLEANUP(arena_done) struct arena arena = {0};
    assert_int_equal(ask_double(&arena, "slow").status, DRIVER_OK);
}

static void what_the_driver_says_is_wrong_is_passed_on(void **state)
{
    (void)state;
    CLEANUP(arena_done) struct arena arena = {0};
    uint64_t before = gpu_worker_runs(GPU_TASK_DRIVER, GPU_RESULT_FAILED);
    struct driver driver = ask_double(&arena, "failed");
    assert_error(&driver, "lost");
    assert_string_equal(driver.source, "nvml");
    assert_int_equal(gpu_worker_runs(GPU_TASK_DRIVER, GPU_RESULT_FAILED), before + 1);
}

static void a_driver_that_hangs_is_an_error_in_time(void **state)
{
    (void)state;
    CLEANUP(arena_done) struct arena arena = {0};
    struct gpu_worker_options options = double_options(&arena, "hang");
    uint64_t before = gpu_worker_runs(GPU_TASK_DRIVER, GPU_RESULT_TIMEOUT);
    uint64_t started_ms = os_clock_steady_ms();
    options.timeout_ms = 1000;
    struct driver driver = ask(&arena, &options);
    assert_true(os_clock_steady_ms() - started_ms < 20000);
    assert_error(&driver, "in time (1 s)");
    assert_true(driver.hung);
    assert_int_equal(gpu_worker_runs(GPU_TASK_DRIVER, GPU_RESULT_TIMEOUT), before + 1);
    options.timeout_ms = 250;
    driver = ask(&arena, &options);
    assert_error(&driver, "in time (250 ms)");
}

static void a_crash_names_the_signal_or_exception(void **state)
{
    (void)state;
    CLEANUP(arena_done) struct arena arena = {0};
    uint64_t before = gpu_worker_runs(GPU_TASK_DRIVER, GPU_RESULT_CRASHED);
    struct driver driver = ask_double(&arena, "crash");
    assert_error(&driver, os_path_separator == '\\' ? "exception 0xC0000005" : "signal 6");
    assert_false(driver.hung);
    assert_int_equal(gpu_worker_runs(GPU_TASK_DRIVER, GPU_RESULT_CRASHED), before + 1);
}

static void an_exit_without_an_answer_is_an_error(void **state)
{
    (void)state;
    CLEANUP(arena_done) struct arena arena = {0};
    struct driver driver = ask_double(&arena, "exit");
    assert_error(&driver, "exit status 3");
    driver = ask_double(&arena, "empty");
    assert_int_equal(driver.status, DRIVER_ERROR);
}

static void nonsense_is_an_error(void **state)
{
    (void)state;
    static const char *const modes[] = {"garbage", "half", "types", "huge"};
    for (size_t i = 0; i < sizeof modes / sizeof *modes; i++) {
        CLEANUP(arena_done) struct arena arena = {0};
        uint64_t before = gpu_worker_runs(GPU_TASK_DRIVER, GPU_RESULT_GARBAGE);
        struct driver driver = ask_double(&arena, modes[i]);
        assert_error(&driver, "not usable");
        assert_int_equal(gpu_worker_runs(GPU_TASK_DRIVER, GPU_RESULT_GARBAGE), before + 1);
    }
}

static void output_without_an_end_is_ended(void **state)
{
    (void)state;
    CLEANUP(arena_done) struct arena arena = {0};
    struct gpu_worker_options options = double_options(&arena, "endless");
    uint64_t before = gpu_worker_runs(GPU_TASK_DRIVER, GPU_RESULT_GARBAGE);
    options.output_bytes = 65536;
    struct driver driver = ask(&arena, &options);
    assert_error(&driver, "65536 bytes");
    assert_int_equal(gpu_worker_runs(GPU_TASK_DRIVER, GPU_RESULT_GARBAGE), before + 1);
}

static void a_worker_that_is_not_there_is_an_error(void **state)
{
    (void)state;
    CLEANUP(arena_done) struct arena arena = {0};
    struct gpu_worker_options options = double_options(&arena, "ok");
    options.program = os_path_join(&arena, options.program, "no-such-worker");
    struct driver driver = ask(&arena, &options);
    assert_error(&driver, "cannot be started");
    options.program = NULL; /* beside this test there is none either */
    driver = ask(&arena, &options);
    assert_error(&driver, "cudnnd-worker");
}

static void the_root_is_given_to_the_worker(void **state)
{
    (void)state;
    CLEANUP(arena_done) struct arena arena = {0};
    struct gpu_worker_options options = double_options(&arena, "tell");
    struct driver driver = ask(&arena, &options);
    assert_mentions(driver.error, "argument=driver|LD_LIBRARY_PATH=");
    options.root = "/a root";
    driver = ask(&arena, &options);
    assert_mentions(driver.error, "argument=driver|argument=--root|argument=/a root|LD_");
}

static void the_environment_cannot_turn_vendor_logging_on(void **state)
{
    (void)state;
    CLEANUP(arena_done) struct arena arena = {0};
    static const char *const names[] = {"CUDNN_LOGLEVEL_DBG", "CUDNN_LOGDEST_DBG",
                                        "CUDNN_LOGINFO_DBG",  "CUDNN_LOGWARN_DBG",
                                        "CUDNN_LOGERR_DBG",   "LD_LIBRARY_PATH"};
    struct gpu_worker_options options = double_options(&arena, "tell");
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        set_environment(names[i], "/elsewhere");
    }
    struct driver driver = ask(&arena, &options);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        set_environment(names[i], NULL);
        assert_mentions(driver.error, arena_printf(&arena, "|%s=(none)|", names[i]));
    }
}

static void *cancel_soon(void *flag)
{
    os_clock_sleep_ms(300);
    atomic_store((atomic_bool *)flag, true);
    return NULL;
}

static void a_cancelled_question_has_no_answer(void **state)
{
    (void)state;
    CLEANUP(arena_done) struct arena arena = {0};
    struct gpu_worker_options options = double_options(&arena, "hang");
    struct driver driver = {.gpu_count = 77};
    struct err err = {0};
    atomic_bool cancel = false;
    pthread_t thread;
    uint64_t started_ms = os_clock_steady_ms();
    options.cancel = &cancel;
    assert_int_equal(pthread_create(&thread, NULL, cancel_soon, &cancel), 0);
    assert_int_equal(gpu_query_driver(&arena, &options, &driver, &err), ERR_CANCELLED);
    pthread_join(thread, NULL);
    assert_true(os_clock_steady_ms() - started_ms < 20000);
    assert_int_equal(driver.gpu_count, 77);
    assert_int_equal(gpu_query_driver(&arena, &options, &driver, &err), ERR_CANCELLED);
}

RUN_TESTS(cmocka_unit_test(a_healthy_answer_is_passed_on),
          cmocka_unit_test(a_slow_answer_is_waited_for),
          cmocka_unit_test(what_the_driver_says_is_wrong_is_passed_on),
          cmocka_unit_test(a_driver_that_hangs_is_an_error_in_time),
          cmocka_unit_test(a_crash_names_the_signal_or_exception),
          cmocka_unit_test(an_exit_without_an_answer_is_an_error),
          cmocka_unit_test(nonsense_is_an_error), cmocka_unit_test(output_without_an_end_is_ended),
          cmocka_unit_test(a_worker_that_is_not_there_is_an_error),
          cmocka_unit_test(the_root_is_given_to_the_worker),
          cmocka_unit_test(the_environment_cannot_turn_vendor_logging_on),
          cmocka_unit_test(a_cancelled_question_has_no_answer))
