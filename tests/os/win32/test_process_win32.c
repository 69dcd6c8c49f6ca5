#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <windows.h>

#include "os/arguments.h"
#include "os/clock.h"
#include "os/process.h"

/* This program is its own child: with arguments it plays the part they name. */

static char own_path[4096];

static void start_grandchild(void)
{
    static const char *const arguments[] = {"sleep", NULL};
    struct os_process_spec spec = {
        .program = own_path, .arguments = arguments, .timeout_ms = 60000, .output_bytes = 100};
    struct os_process_result result;
    if (os_process_run(&spec, &result, NULL) == 0) {
        os_process_result_done(&result);
    }
}

static int eat(void)
{
    for (int i = 0; i < 4096; i++) {
        char *memory = malloc(1 << 20);
        if (memory == NULL) {
            return 77;
        }
        memset(memory, 1, 1 << 20);
    }
    return 0;
}

static void flood(FILE *stream)
{
    for (;;) {
        fputs("0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef\n", stream);
    }
}

static int play(int argc, char **argv)
{
    const char *part = argv[1];
    if (strcmp(part, "echo") == 0) {
        for (int i = 2; i < argc; i++) {
            printf("[%s]", argv[i]);
        }
        return 0;
    }
    if (strcmp(part, "exit") == 0) {
        return 42;
    }
    if (strcmp(part, "abort") == 0) {
        abort();
    }
    if (strcmp(part, "crash") == 0) {
        RaiseException(EXCEPTION_ACCESS_VIOLATION, 0, 0, NULL);
    }
    if (strcmp(part, "sleep") == 0) {
        Sleep(60000);
    }
    if (strcmp(part, "spawn") == 0) {
        start_grandchild();
    }
    if (strcmp(part, "eat") == 0) {
        return eat();
    }
    if (strcmp(part, "flood") == 0) {
        flood(stdout);
    }
    if (strcmp(part, "shout") == 0) {
        flood(stderr);
    }
    if (strcmp(part, "environment") == 0) {
        const char *hidden = getenv("TEST_HIDDEN_ONE"), *set = getenv("TEST_SET");
        printf("%s %s %s", hidden == NULL ? "-" : hidden, set == NULL ? "-" : set,
               getenv("SystemRoot") == NULL ? "-" : "root");
    }
    if (strcmp(part, "input") == 0) {
        printf("%d", getchar());
        fprintf(stderr, "a word on stderr");
    }
    return 0;
}

static int run(const char *const *arguments, uint64_t timeout_ms, struct os_process_result *result)
{
    struct err err = {0};
    struct os_process_spec spec = {.program = own_path,
                                   .arguments = arguments,
                                   .timeout_ms = timeout_ms,
                                   .output_bytes = 100000,
                                   .background = true};
    int code = os_process_run(&spec, result, &err);
    assert_string_equal(err.message, "");
    return code;
}

static void arguments_arrive_as_they_were(void **state)
{
    static const char *const arguments[] = {"echo",
                                            "plain",
                                            "",
                                            "two words",
                                            "a\"quote",
                                            "back\\slash",
                                            "end\\",
                                            "sp ace\\",
                                            "\\\"",
                                            "\\\\\\\"x",
                                            "*.c",
                                            "%PATH%",
                                            "tab\there",
                                            "\xE6\xB7\xB1\xE5\xBA\xA6",
                                            "\xF0\x9F\x98\x80",
                                            "^&|<>",
                                            NULL};
    struct os_process_result result;
    (void)state;
    assert_int_equal(run(arguments, 20000, &result), 0);
    assert_int_equal(result.end, OS_PROCESS_EXITED);
    assert_int_equal(result.code, 0);
    char expected[512] = "";
    for (size_t i = 1; arguments[i] != NULL; i++) {
        size_t at = strlen(expected);
        snprintf(expected + at, sizeof expected - at, "[%s]", arguments[i]);
    }
    assert_string_equal(result.output, expected);
    os_process_result_done(&result);
}

static void every_end_is_told(void **state)
{
    static const struct {
        const char *part;
        enum os_process_end end;
        uint32_t code;
        const char *words;
    } cases[] = {
        {"exit", OS_PROCESS_EXITED, 42, "exit status 42"},
        {"abort", OS_PROCESS_EXITED, 3, "exit status 3"},
        {"crash", OS_PROCESS_CRASHED, 0xC0000005, "exception 0xC0000005 (access violation)"},
        {"flood", OS_PROCESS_TOO_MUCH_OUTPUT, 0, "too much output"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *const arguments[] = {cases[i].part, NULL};
        struct os_process_result result;
        char words[96];
        assert_int_equal(run(arguments, 20000, &result), 0);
        assert_string_equal(os_process_end_text(&result, words, sizeof words), cases[i].words);
        assert_int_equal(result.end, cases[i].end);
        assert_int_equal(result.code, cases[i].code);
        assert_false(result.unkillable);
        os_process_result_done(&result);
    }
}

static void a_child_that_hangs_is_ended_with_all_it_started(void **state)
{
    static const char *const parts[] = {"sleep", "spawn", "shout"};
    (void)state;
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        const char *const arguments[] = {parts[i], NULL};
        struct os_process_result result;
        uint64_t before = os_clock_steady_ms();
        assert_int_equal(run(arguments, 1500, &result), 0);
        assert_int_equal(result.end, OS_PROCESS_TIMED_OUT);
        assert_false(result.unkillable);
        assert_true(os_clock_steady_ms() - before < 5000);
        os_process_result_done(&result);
    }
}

static void a_set_flag_cancels_at_once(void **state)
{
    static const char *const arguments[] = {"sleep", NULL};
    atomic_bool cancel = true;
    struct os_process_spec spec = {.program = own_path,
                                   .arguments = arguments,
                                   .timeout_ms = 30000,
                                   .output_bytes = 10,
                                   .cancel = &cancel};
    struct os_process_result result;
    (void)state;
    assert_int_equal(os_process_run(&spec, &result, NULL), 0);
    assert_int_equal(result.end, OS_PROCESS_CANCELLED);
    assert_true(result.duration_ms < 5000);
    os_process_result_done(&result);
}

static void memory_is_limited(void **state)
{
    static const char *const arguments[] = {"eat", NULL};
    struct os_process_spec spec = {.program = own_path,
                                   .arguments = arguments,
                                   .timeout_ms = 60000,
                                   .output_bytes = 10,
                                   .memory_bytes = 256 << 20};
    struct os_process_result result;
    (void)state;
    HMODULE ntdll = GetModuleHandleW(L"ntdll.dll");
    bool wine = GetProcAddress(ntdll, "wine_get_version") != NULL;
    if (wine) {
        skip(); /* Wine 8 takes the limit and does not keep it */
    }
    assert_int_equal(os_process_run(&spec, &result, NULL), 0);
    assert_int_equal(result.end, OS_PROCESS_EXITED);
    assert_int_equal(result.code, 77);
    os_process_result_done(&result);
}

static void the_environment_is_edited(void **state)
{
    static const char *const arguments[] = {"environment", NULL};
    static const char *const unset[] = {"test_hidden_*", NULL};
    static const char *const set[] = {"Test_Set=new value", NULL};
    struct os_process_spec spec = {.program = own_path,
                                   .arguments = arguments,
                                   .unset = unset,
                                   .set = set,
                                   .timeout_ms = 20000,
                                   .output_bytes = 1000};
    struct os_process_result result;
    (void)state;
    SetEnvironmentVariableW(L"TEST_HIDDEN_ONE", L"seen");
    SetEnvironmentVariableW(L"TEST_SET", L"old");
    assert_int_equal(os_process_run(&spec, &result, NULL), 0);
    assert_string_equal(result.output, "- new value root");
    os_process_result_done(&result);
}

static void input_is_empty_and_errors_are_kept(void **state)
{
    static const char *const arguments[] = {"input", NULL};
    struct os_process_result result;
    (void)state;
    assert_int_equal(run(arguments, 20000, &result), 0);
    assert_string_equal(result.output, "-1");
    assert_string_equal(result.error_tail, "a word on stderr");
    os_process_result_done(&result);
}

static void what_cannot_be_started_is_an_error(void **state)
{
    struct os_process_spec spec = {.program = "C:\\none.exe", .timeout_ms = 1000};
    struct os_process_result result;
    struct err err = {0};
    (void)state;
    assert_int_equal(os_process_run(&spec, &result, &err), ERR_NOT_FOUND);
    spec.program = "C:\\windows\\x.bat";
    assert_int_equal(os_process_run(&spec, &result, &err), ERR_UNSUPPORTED);
}

static void many_runs_leak_no_handles(void **state)
{
    static const char *const arguments[] = {"exit", NULL};
    struct os_process_usage before, after;
    struct os_process_result result;
    (void)state;
    os_process_usage(&before);
    for (int i = 0; i < 10; i++) {
        assert_int_equal(run(arguments, 20000, &result), 0);
        os_process_result_done(&result);
    }
    os_process_usage(&after);
    assert_true(after.open_handles <= before.open_handles + 3);
    assert_true(after.resident_bytes > 0 && after.threads > 0);
    assert_true(after.started_at_ms > 0 && after.started_at_ms <= os_clock_wall_ms());
}

int main(int argc, char **argv)
{
    os_process_prepare();
    if (os_arguments_utf8(&argc, &argv) != 0 ||
        os_process_own_path(own_path, sizeof own_path, NULL) != 0) {
        return 1;
    }
    if (argc > 1) {
        return play(argc, argv);
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(arguments_arrive_as_they_were),
        cmocka_unit_test(every_end_is_told),
        cmocka_unit_test(a_child_that_hangs_is_ended_with_all_it_started),
        cmocka_unit_test(a_set_flag_cancels_at_once),
        cmocka_unit_test(memory_is_limited),
        cmocka_unit_test(the_environment_is_edited),
        cmocka_unit_test(input_is_empty_and_errors_are_kept),
        cmocka_unit_test(what_cannot_be_started_is_an_error),
        cmocka_unit_test(many_runs_leak_no_handles),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
