#include "tests/test.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/text.h"
#include "os/clock.h"
#include "os/file.h"
#include "os/process.h"
#include "tests/os/scratch.h"

enum { MANY_THREADS = 8, LEAKED_FD = 77 };

static int run_shell(const char *script, struct os_process_spec spec,
                     struct os_process_result *out_result)
{
    const char *const arguments[] = {"-c", script, NULL};
    spec.program = "/bin/sh";
    spec.arguments = arguments;
    spec.timeout_ms = spec.timeout_ms != 0 ? spec.timeout_ms : 30000;
    spec.output_bytes = spec.output_bytes != 0 ? spec.output_bytes : 65536;
    return os_process_run(&spec, out_result, NULL);
}

static struct os_process_result shell(const char *script, struct os_process_spec spec)
{
    struct os_process_result result;
    assert_int_equal(run_shell(script, spec, &result), 0);
    return result;
}

/* The letter proc(5) gives for the state of a process; 'X' when there is none. */
static char state_of(long process)
{
    CLEANUP(arena_done) struct arena arena = {0};
    char *text;
    size_t size;
    const char *path = arena_printf(&arena, "/proc/%ld/stat", process);
    if (os_file_read(&arena, path, 4096, &text, &size, NULL) != 0) {
        return 'X';
    }
    const char *behind_name = strrchr(text, ')');
    return behind_name != NULL ? behind_name[2] : 'X';
}

static bool dies_soon(long process)
{
    for (int i = 0; i < 100; i++) {
        char now = state_of(process);
        if (now == 'X' || now == 'Z') {
            return true;
        }
        os_clock_sleep_ms(50);
    }
    return false;
}

static void a_child_that_ignores_sigterm_is_ended(void **state)
{
    (void)state;
    CLEANUP(os_process_result_done)
    struct os_process_result result = shell("trap '' TERM INT HUP; while :; do sleep 1; done",
                                            (struct os_process_spec){.timeout_ms = 300});
    assert_int_equal(result.end, OS_PROCESS_TIMED_OUT);
    assert_true(result.duration_ms < 3000);
    assert_false(result.unkillable);
    char text[96];
    os_process_end_text(&result, text, sizeof text);
    assert_true(text_has_prefix(text, "no end after "));
}

static void a_grandchild_that_keeps_the_pipe_open_is_not_waited_for(void **state)
{
    (void)state;
    CLEANUP(os_process_result_done)
    struct os_process_result result =
        shell("sleep 60 & echo $!; exit 3", (struct os_process_spec){0});
    assert_int_equal(result.end, OS_PROCESS_EXITED);
    assert_int_equal(result.code, 3);
    assert_true(result.duration_ms < 5000);
    assert_true(dies_soon(strtol(result.output, NULL, 10)));
}

static void a_grandchild_that_left_the_group_is_not_waited_for(void **state)
{
    (void)state;
    CLEANUP(os_process_result_done)
    struct os_process_result result = shell(
        "setsid sh -c 'echo $$; exec sleep 20' & sleep 0.5; exit 3", (struct os_process_spec){0});
    long escaped = strtol(result.output, NULL, 10);
    assert_int_equal(result.code, 3);
    assert_true(result.duration_ms < 10000);
    assert_true(escaped > 1);
    kill((pid_t)escaped, SIGKILL);
}

static void a_grandchild_that_left_and_shouts_is_not_listened_to_for_ever(void **state)
{
    (void)state;
    CLEANUP(os_process_result_done)
    struct os_process_result result =
        shell("setsid sh -c 'echo $$; exec yes' >&2 & sleep 0.5; echo done; exit 0",
              (struct os_process_spec){.output_bytes = 100});
    assert_int_equal(result.end, OS_PROCESS_EXITED);
    assert_string_equal(result.output, "done\n");
    assert_true(result.duration_ms < 10000); /* the shouting one dies of SIGPIPE */
}

static void endless_output_is_cut_at_the_ceiling(void **state)
{
    (void)state;
    CLEANUP(os_process_result_done)
    struct os_process_result result =
        shell("yes", (struct os_process_spec){.output_bytes = 100000});
    assert_int_equal(result.end, OS_PROCESS_TOO_MUCH_OUTPUT);
    assert_int_equal(result.output_size, 100000);
    char text[96];
    assert_string_equal(os_process_end_text(&result, text, sizeof text),
                        "more than 100000 bytes of output");
}

static void output_just_at_the_ceiling_is_fine(void **state)
{
    (void)state;
    CLEANUP(os_process_result_done)
    struct os_process_result result =
        shell("printf 12345", (struct os_process_spec){.output_bytes = 5});
    assert_int_equal(result.end, OS_PROCESS_EXITED);
    assert_string_equal(result.output, "12345");
}

static void too_much_in_the_last_moment_is_noticed(void **state)
{
    (void)state;
    CLEANUP(os_process_result_done)
    struct os_process_result result =
        shell("printf 123456", (struct os_process_spec){.output_bytes = 5});
    assert_int_equal(result.end, OS_PROCESS_TOO_MUCH_OUTPUT);
    assert_string_equal(result.output, "12345");
}

static void endless_complaints_do_not_hold_the_timeout_up(void **state)
{
    (void)state;
    CLEANUP(os_process_result_done)
    struct os_process_result result =
        shell("yes complaint >&2", (struct os_process_spec){.timeout_ms = 300});
    assert_int_equal(result.end, OS_PROCESS_TIMED_OUT);
    assert_int_equal(strlen(result.error_tail), OS_PROCESS_ERROR_TAIL - 1);
    assert_true(result.duration_ms < 3000);
}

static void a_child_that_closes_its_output_is_waited_for(void **state)
{
    (void)state;
    CLEANUP(os_process_result_done)
    struct os_process_result result =
        shell("echo early; exec >&- 2>&-; sleep 0.4; exit 7", (struct os_process_spec){0});
    assert_int_equal(result.end, OS_PROCESS_EXITED);
    assert_int_equal(result.code, 7);
    assert_true(result.duration_ms >= 400);
    assert_string_equal(result.output, "early\n");
}

static void a_crash_is_told_with_its_signal(void **state)
{
    (void)state;
    CLEANUP(os_process_result_done)
    struct os_process_result result = shell("kill -SEGV $$", (struct os_process_spec){0});
    assert_int_equal(result.end, OS_PROCESS_CRASHED);
    assert_int_equal(result.code, SIGSEGV);
    char text[96];
    assert_string_equal(os_process_end_text(&result, text, sizeof text),
                        "signal 11 (Segmentation fault)");
}

static void a_child_gets_no_descriptors_of_ours(void **state)
{
    (void)state;
    assert_int_equal(dup2(2, LEAKED_FD), LEAKED_FD); /* as a careless library would */
    CLEANUP(os_process_result_done)
    struct os_process_result result =
        shell("for f in /proc/self/fd/*; do printf '%s ' \"${f##*/}\"; done; "
              "test -e /proc/$$/fd/77 && echo leaked; readlink /proc/$$/fd/0",
              (struct os_process_spec){0});
    close(LEAKED_FD);
    assert_null(strstr(result.output, "leaked"));
    assert_non_null(strstr(result.output, "/dev/null"));
}

static void a_child_starts_with_fresh_signals_and_limits(void **state)
{
    (void)state;
    sigset_t term, kept;
    sigemptyset(&term);
    sigaddset(&term, SIGTERM);
    pthread_sigmask(SIG_BLOCK, &term, &kept);
    CLEANUP(os_process_result_done)
    struct os_process_result result =
        shell("grep -E '^(SigBlk|NoNewPrivs)' /proc/self/status | sort; ulimit -c; "
              "sed -n 's/^SigIgn://p' /proc/self/status",
              (struct os_process_spec){.memory_bytes = 512 * 1024 * 1024});
    pthread_sigmask(SIG_SETMASK, &kept, NULL);
    static const char expected[] = "NoNewPrivs:\t1\nSigBlk:\t0000000000000000\n0\n";
    assert_true(text_has_prefix(result.output, expected));
    /* The C library keeps 32 and 33 to itself; nobody can reset them. */
    uint64_t ignored = strtoull(result.output + strlen(expected), NULL, 16);
    assert_int_equal(ignored & ~(UINT64_C(3) << 31), 0);
}

static void a_child_cannot_have_more_memory_than_it_may(void **state)
{
    (void)state;
    const char *preloaded = getenv("LD_PRELOAD");
    if (preloaded != NULL && strstr(preloaded, "vgpreload") != NULL) {
        print_message("valgrind keeps limits on memory to itself\n");
        skip();
    }
    CLEANUP(os_process_result_done)
    struct os_process_result result =
        shell("ulimit -d; exec dd if=/dev/zero of=/dev/null bs=512M count=1",
              (struct os_process_spec){.memory_bytes = 64 * 1024 * 1024});
    assert_string_equal(result.output, "65536\n");
    assert_int_equal(result.end, OS_PROCESS_EXITED);
    assert_int_not_equal(result.code, 0);
}

static void a_child_in_the_background_has_a_low_priority(void **state)
{
    (void)state;
    CLEANUP(os_process_result_done)
    struct os_process_result result = shell("nice", (struct os_process_spec){.background = true});
    assert_true(strtol(result.output, NULL, 10) >= 10);
}

static void what_cannot_be_executed_is_an_error(void **state)
{
    (void)state;
    CLEANUP(scratch_done) struct scratch scratch = scratch_make();
    struct os_process_spec spec = {.timeout_ms = 10000, .output_bytes = 10};
    struct os_process_result result;
    spec.program = scratch_write(&scratch, "text", "no program at all\n");
    assert_int_equal(os_process_run(&spec, &result, NULL), ERR_PERMISSION);
    assert_int_equal(chmod(spec.program, 0755), 0);
    assert_int_equal(os_process_run(&spec, &result, NULL), ERR_FORMAT);
    spec.program = scratch.path;
    assert_int_equal(os_process_run(&spec, &result, NULL), ERR_PERMISSION);
}

static void *run_some(void *context)
{
    int *failures = context;
    for (int i = 0; i < 5; i++) {
        struct os_process_result result;
        if (run_shell("echo some words; echo others >&2", (struct os_process_spec){0}, &result) !=
            0) {
            (*failures)++;
            continue;
        }
        if (result.end != OS_PROCESS_EXITED || strcmp(result.output, "some words\n") != 0 ||
            strcmp(result.error_tail, "others\n") != 0) {
            (*failures)++;
        }
        os_process_result_done(&result);
    }
    return NULL;
}

static void threads_run_children_side_by_side(void **state)
{
    (void)state;
    pthread_t threads[MANY_THREADS];
    int failures[MANY_THREADS] = {0};
    for (size_t i = 0; i < MANY_THREADS; i++) {
        assert_int_equal(pthread_create(&threads[i], NULL, run_some, &failures[i]), 0);
    }
    for (size_t i = 0; i < MANY_THREADS; i++) {
        pthread_join(threads[i], NULL);
        assert_int_equal(failures[i], 0);
    }
}

/* In a child of the test: everything a daemon may have closed is closed. */
static int run_without_standard_streams(void)
{
    struct os_process_result result;
    close(0);
    close(1);
    close(2);
    if (run_shell("echo out; echo err >&2; cat", (struct os_process_spec){0}, &result) != 0) {
        return 1;
    }
    bool good = strcmp(result.output, "out\n") == 0 && strcmp(result.error_tail, "err\n") == 0;
    os_process_result_done(&result);
    return good ? 0 : 2;
}

static void closed_standard_streams_do_not_confuse(void **state)
{
    (void)state;
    pid_t child = fork();
    if (child == 0) {
        _exit(run_without_standard_streams());
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
}

static long read_number(struct scratch *scratch, const char *name)
{
    char *text = NULL;
    size_t size;
    const char *path = scratch_path(scratch, name);
    for (int i = 0; i < 200; i++) {
        if (os_file_read(&scratch->arena, path, 100, &text, &size, NULL) == 0 && size > 0 &&
            text[size - 1] == '\n') {
            return strtol(text, NULL, 10);
        }
        os_clock_sleep_ms(50);
    }
    return -1;
}

static void a_child_dies_with_its_parent(void **state)
{
    (void)state;
    CLEANUP(scratch_done) struct scratch scratch = scratch_make();
    const char *script =
        arena_printf(&scratch.arena, "echo $$ > '%s/id'; exec sleep 60", scratch.path);
    pid_t parent = fork();
    if (parent == 0) {
        struct os_process_result result;
        run_shell(script, (struct os_process_spec){0}, &result);
        _exit(0);
    }
    long child = read_number(&scratch, "id");
    assert_true(child > 1);
    kill(parent, SIGKILL);
    assert_int_equal(waitpid(parent, NULL, 0), parent);
    assert_true(dies_soon(child));
}

static void ignore(int number)
{
    (void)number;
}

static void signals_do_not_disturb_waiting(void **state)
{
    (void)state;
    struct sigaction action = {.sa_handler = ignore}; /* without SA_RESTART */
    sigaction(SIGALRM, &action, NULL);
    const struct itimerval often = {{0, 5000}, {0, 5000}};
    const struct itimerval never = {{0, 0}, {0, 0}};
    setitimer(ITIMER_REAL, &often, NULL);
    CLEANUP(os_process_result_done)
    struct os_process_result result = shell("sleep 0.5; echo done", (struct os_process_spec){0});
    setitimer(ITIMER_REAL, &never, NULL); /* the handler stays: one may come late */
    assert_int_equal(result.end, OS_PROCESS_EXITED);
    assert_string_equal(result.output, "done\n");
}

static void children_are_reaped(void **state)
{
    (void)state;
    assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
    assert_int_equal(errno, ECHILD);
}

int main(void)
{
    os_process_prepare();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_child_that_ignores_sigterm_is_ended),
        cmocka_unit_test(a_grandchild_that_keeps_the_pipe_open_is_not_waited_for),
        cmocka_unit_test(a_grandchild_that_left_the_group_is_not_waited_for),
        cmocka_unit_test(a_grandchild_that_left_and_shouts_is_not_listened_to_for_ever),
        cmocka_unit_test(endless_output_is_cut_at_the_ceiling),
        cmocka_unit_test(output_just_at_the_ceiling_is_fine),
        cmocka_unit_test(too_much_in_the_last_moment_is_noticed),
        cmocka_unit_test(endless_complaints_do_not_hold_the_timeout_up),
        cmocka_unit_test(a_child_that_closes_its_output_is_waited_for),
        cmocka_unit_test(a_crash_is_told_with_its_signal),
        cmocka_unit_test(a_child_gets_no_descriptors_of_ours),
        cmocka_unit_test(a_child_starts_with_fresh_signals_and_limits),
        cmocka_unit_test(a_child_cannot_have_more_memory_than_it_may),
        cmocka_unit_test(a_child_in_the_background_has_a_low_priority),
        cmocka_unit_test(what_cannot_be_executed_is_an_error),
        cmocka_unit_test(threads_run_children_side_by_side),
        cmocka_unit_test(closed_standard_streams_do_not_confuse),
        cmocka_unit_test(a_child_dies_with_its_parent),
        cmocka_unit_test(signals_do_not_disturb_waiting),
        cmocka_unit_test(children_are_reaped),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
