#include "tests/test.h"

#include <pthread.h>

#include "base/cleanup.h"
#include "os/clock.h"
#include "os/process.h"
#include "tests/os/scratch.h"

/* The children are this very program, called with a word that says what to do. */

static char own_path[4096];

static int print_arguments(int count, char **arguments)
{
    for (int i = 0; i < count; i++) {
        printf("[%s]", arguments[i]);
    }
    return 0;
}

static int shout(FILE *stream)
{
    while (fputs("all work and no play makes a dull worker\n", stream) >= 0) {
    }
    return 0;
}

static int play_child(const char *part, int count, char **arguments)
{
    if (strcmp(part, "arguments") == 0) {
        return print_arguments(count, arguments);
    }
    if (strcmp(part, "exit") == 0) {
        return (int)strtol(arguments[0], NULL, 10);
    }
    if (strcmp(part, "environment") == 0) {
        const char *value = getenv(arguments[0]);
        printf("%s", value != NULL ? value : "(none)");
        return 0;
    }
    if (strcmp(part, "stdin") == 0) {
        return getchar() == EOF ? 0 : 1;
    }
    if (strcmp(part, "complain") == 0) {
        fputs("first words, then much more\n", stderr);
        for (int i = 0; i < 1000; i++) {
            fputs("0123456789", stderr);
        }
        fputs("last words", stderr);
        return 1;
    }
    if (strcmp(part, "hang") == 0) {
        os_clock_sleep_ms(60000);
    }
    return strcmp(part, "shout") == 0 ? shout(stdout) : 99;
}

static struct os_process_result run(struct os_process_spec spec)
{
    struct os_process_result result;
    struct err err = {0};
    spec.program = spec.program != NULL ? spec.program : own_path;
    spec.timeout_ms = spec.timeout_ms != 0 ? spec.timeout_ms : 30000;
    spec.output_bytes = spec.output_bytes != 0 ? spec.output_bytes : 65536;
    assert_int_equal(os_process_run(&spec, &result, &err), 0);
    return result;
}

static void arguments_reach_the_child_unchanged(void **state)
{
    (void)state;
    const char *const arguments[] = {"arguments",      "two words",     "",
                                     "quote\"d",       "back\\slash\\", "a\\\\\"b",
                                     "%PATH% $HOME *", "--end",         NULL};
    CLEANUP(os_process_result_done)
    struct os_process_result result = run((struct os_process_spec){.arguments = arguments});
    assert_int_equal(result.end, OS_PROCESS_EXITED);
    assert_string_equal(result.output, "[two words][][quote\"d][back\\slash\\][a\\\\\"b]"
                                       "[%PATH% $HOME *][--end]");
    assert_int_equal(result.output_size, strlen(result.output));
}

static void the_exit_status_is_reported(void **state)
{
    (void)state;
    const char *const arguments[] = {"exit", "42", NULL};
    CLEANUP(os_process_result_done)
    struct os_process_result result = run((struct os_process_spec){.arguments = arguments});
    assert_int_equal(result.end, OS_PROCESS_EXITED);
    assert_int_equal(result.code, 42);
    char text[96];
    assert_string_equal(os_process_end_text(&result, text, sizeof text), "exit status 42");
    assert_false(result.unkillable);
}

static void stdin_is_empty(void **state)
{
    (void)state;
    const char *const arguments[] = {"stdin", NULL};
    CLEANUP(os_process_result_done)
    struct os_process_result result = run((struct os_process_spec){.arguments = arguments});
    assert_int_equal(result.end, OS_PROCESS_EXITED);
    assert_int_equal(result.code, 0);
}

static void check_environment(const char *name, const char *const *unset, const char *const *set,
                              const char *expected)
{
    const char *const arguments[] = {"environment", name, NULL};
    CLEANUP(os_process_result_done)
    struct os_process_result result =
        run((struct os_process_spec){.arguments = arguments, .unset = unset, .set = set});
    assert_string_equal(result.output, expected);
}

static void variables_are_set_and_hidden(void **state)
{
    (void)state;
    putenv("CUDNND_TEST_ONE=1");
    putenv("CUDNND_TEST_TWO=2");
    const char *const one[] = {"CUDNND_TEST_ONE", NULL};
    const char *const all[] = {"CUDNND_TEST_*", NULL};
    const char *const set[] = {"CUDNND_TEST_ONE=new", NULL};
    check_environment("CUDNND_TEST_ONE", NULL, NULL, "1");
    check_environment("CUDNND_TEST_ONE", one, NULL, "(none)");
    check_environment("CUDNND_TEST_TWO", one, NULL, "2");
    check_environment("CUDNND_TEST_TWO", all, NULL, "(none)");
    check_environment("CUDNND_TEST_ONE", NULL, set, "new");
    check_environment("CUDNND_TEST_ONE", all, set, "new");
}

static void the_last_words_on_stderr_are_kept(void **state)
{
    (void)state;
    const char *const arguments[] = {"complain", NULL};
    CLEANUP(os_process_result_done)
    struct os_process_result result = run((struct os_process_spec){.arguments = arguments});
    assert_int_equal(result.code, 1);
    assert_string_equal(result.output, "");
    size_t length = strlen(result.error_tail);
    assert_int_equal(length, OS_PROCESS_ERROR_TAIL - 1);
    assert_string_equal(result.error_tail + length - 10, "last words");
}

static void a_hanging_child_is_ended_in_time(void **state)
{
    (void)state;
    const char *const arguments[] = {"hang", NULL};
    uint64_t start_ms = os_clock_steady_ms();
    CLEANUP(os_process_result_done)
    struct os_process_result result =
        run((struct os_process_spec){.arguments = arguments, .timeout_ms = 300});
    assert_int_equal(result.end, OS_PROCESS_TIMED_OUT);
    assert_true(result.duration_ms >= 300);
    assert_true(os_clock_steady_ms() - start_ms < 5000);
    assert_false(result.unkillable);
}

static void a_shouting_child_is_ended_at_the_ceiling(void **state)
{
    (void)state;
    const char *const arguments[] = {"shout", NULL};
    CLEANUP(os_process_result_done)
    struct os_process_result result =
        run((struct os_process_spec){.arguments = arguments, .output_bytes = 1000});
    assert_int_equal(result.end, OS_PROCESS_TOO_MUCH_OUTPUT);
    assert_true(result.output_size <= 1000);
    assert_int_equal(result.output[result.output_size], '\0');
}

static atomic_bool cancel;

static void *cancel_soon(void *unused)
{
    (void)unused;
    os_clock_sleep_ms(200);
    atomic_store(&cancel, true);
    return NULL;
}

static void a_child_can_be_cancelled_from_another_thread(void **state)
{
    (void)state;
    const char *const arguments[] = {"hang", NULL};
    pthread_t thread;
    atomic_store(&cancel, false);
    assert_int_equal(pthread_create(&thread, NULL, cancel_soon, NULL), 0);
    uint64_t start_ms = os_clock_steady_ms();
    CLEANUP(os_process_result_done)
    struct os_process_result result =
        run((struct os_process_spec){.arguments = arguments, .cancel = &cancel});
    pthread_join(thread, NULL);
    assert_int_equal(result.end, OS_PROCESS_CANCELLED);
    assert_true(os_clock_steady_ms() - start_ms < 5000);
}

static void what_is_cancelled_before_the_start_ends_at_once(void **state)
{
    (void)state;
    const char *const arguments[] = {"hang", NULL};
    atomic_store(&cancel, true);
    CLEANUP(os_process_result_done)
    struct os_process_result result =
        run((struct os_process_spec){.arguments = arguments, .cancel = &cancel});
    assert_int_equal(result.end, OS_PROCESS_CANCELLED);
    assert_non_null(result.output);
}

static void a_program_that_is_not_there_is_an_error(void **state)
{
    (void)state;
    CLEANUP(scratch_done) struct scratch scratch = scratch_make();
    struct os_process_result result;
    struct err err = {0};
    struct os_process_spec spec = {
        .program = scratch_path(&scratch, "missing"), .timeout_ms = 5000, .output_bytes = 10};
    assert_int_equal(os_process_run(&spec, &result, &err), ERR_NOT_FOUND);
    assert_non_null(strstr(err.message, "missing"));
}

static void running_children_leaks_no_handles(void **state)
{
    (void)state;
    const char *const arguments[] = {"exit", "0", NULL};
    struct os_process_usage before, after;
    for (int i = 0; i < 12; i++) {
        if (i == 2) { /* the first runs may open what stays */
            os_process_usage(&before);
        }
        CLEANUP(os_process_result_done)
        struct os_process_result result = run((struct os_process_spec){.arguments = arguments});
        assert_int_equal(result.code, 0);
    }
    os_process_usage(&after);
    assert_true(after.open_handles <= before.open_handles);
}

static void own_usage_is_known(void **state)
{
    (void)state;
    struct os_process_usage usage;
    os_process_usage(&usage);
    assert_true(usage.resident_bytes > 0);
    assert_true(usage.virtual_bytes > 0);
    assert_true(usage.open_handles > 0);
    assert_true(usage.threads > 0);
    int64_t age_ms = os_clock_wall_ms() - usage.started_at_ms;
    assert_true(age_ms >= -1000 && age_ms < INT64_C(600000));
}

int main(int argc, char **argv)
{
    if (argc > 1) {
        return play_child(argv[1], argc - 2, argv + 2);
    }
    os_process_prepare();
    if (os_process_own_path(own_path, sizeof own_path, NULL) != 0) {
        return 1;
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(arguments_reach_the_child_unchanged),
        cmocka_unit_test(the_exit_status_is_reported),
        cmocka_unit_test(stdin_is_empty),
        cmocka_unit_test(variables_are_set_and_hidden),
        cmocka_unit_test(the_last_words_on_stderr_are_kept),
        cmocka_unit_test(a_hanging_child_is_ended_in_time),
        cmocka_unit_test(a_shouting_child_is_ended_at_the_ceiling),
        cmocka_unit_test(a_child_can_be_cancelled_from_another_thread),
        cmocka_unit_test(what_is_cancelled_before_the_start_ends_at_once),
        cmocka_unit_test(a_program_that_is_not_there_is_an_error),
        cmocka_unit_test(running_children_leaks_no_handles),
        cmocka_unit_test(own_usage_is_known),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
