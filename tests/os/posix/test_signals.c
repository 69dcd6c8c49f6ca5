#include "tests/test.h"

#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "os/clock.h"
#include "os/file.h"
#include "os/lock.h"
#include "os/process.h"
#include "os/signals.h"
#include "tests/os/scratch.h"

static atomic_int stops, reloads;

static void on_stop(void *context)
{
    assert_ptr_equal(context, &stops);
    atomic_fetch_add(&stops, 1);
}

static void on_reload(void *context)
{
    (void)context;
    atomic_fetch_add(&reloads, 1);
}

static bool becomes(atomic_int *count, int wanted)
{
    for (int i = 0; i < 200 && atomic_load(count) != wanted; i++) {
        os_clock_sleep_ms(20);
    }
    return atomic_load(count) == wanted;
}

static void every_request_is_passed_on(void **state)
{
    (void)state;
    kill(getpid(), SIGTERM);
    assert_true(becomes(&stops, 1));
    kill(getpid(), SIGINT);
    assert_true(becomes(&stops, 2));
    kill(getpid(), SIGHUP); /* ignored before the start, as nohup does */
    assert_true(becomes(&reloads, 1));
    assert_int_equal(atomic_load(&stops), 2);
}

static void children_do_not_inherit_the_blocked_signals(void **state)
{
    (void)state;
    const char *const arguments[] = {"-c", "kill -TERM $$; echo survived", NULL};
    const struct os_process_spec spec = {
        .program = "/bin/sh", .arguments = arguments, .timeout_ms = 10000, .output_bytes = 100};
    CLEANUP(os_process_result_done) struct os_process_result result = {0};
    assert_int_equal(os_process_run(&spec, &result, NULL), 0);
    assert_int_equal(result.end, OS_PROCESS_CRASHED);
    assert_int_equal(result.code, SIGTERM);
}

/* In a child: holds the lock, says so, and waits for its end. */
static int hold_lock(const char *path, const char *sign)
{
    struct os_lock *lock = NULL;
    if (os_lock_take(path, &lock, NULL) != 0 || os_file_write(sign, "", 0, false, NULL) != 0) {
        return 1;
    }
    return pause();
}

static void a_lock_goes_with_its_process(void **state)
{
    (void)state;
    CLEANUP(scratch_done) struct scratch scratch = scratch_make();
    const char *path = scratch_path(&scratch, "lock");
    const char *sign = scratch_path(&scratch, "held");
    pid_t holder = fork();
    if (holder == 0) {
        _exit(hold_lock(path, sign));
    }
    struct os_file_info info;
    for (int i = 0; i < 500 && os_file_stat(sign, &info, NULL) != 0; i++) {
        os_clock_sleep_ms(20);
    }
    struct os_lock *lock = NULL;
    struct err err = {0};
    assert_int_equal(os_lock_take(path, &lock, &err), ERR_BUSY);
    const char *expected = arena_printf(&scratch.arena, "process %ld holds", (long)holder);
    assert_non_null(strstr(err.message, expected));
    kill(holder, SIGKILL);
    assert_int_equal(waitpid(holder, NULL, 0), holder);
    assert_int_equal(os_lock_take(path, &lock, &err), 0);
    os_lock_release(lock);
}

static void a_lock_is_neither_a_link_nor_a_pipe(void **state)
{
    (void)state;
    CLEANUP(scratch_done) struct scratch scratch = scratch_make();
    struct os_lock *lock = NULL;
    const char *link = scratch_path(&scratch, "link");
    assert_int_equal(symlink("elsewhere", link), 0);
    assert_int_not_equal(os_lock_take(link, &lock, NULL), 0);
    assert_int_equal(scratch_count(&scratch, "."), 1);
    const char *pipe = scratch_path(&scratch, "pipe");
    assert_int_equal(mkfifo(pipe, 0600), 0);
    alarm(20);
    assert_int_equal(os_lock_take(pipe, &lock, NULL), ERR_UNSUPPORTED);
    alarm(0);
}

int main(void)
{
    signal(SIGHUP, SIG_IGN);
    os_signals_start(on_stop, on_reload, &stops);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_request_is_passed_on),
        cmocka_unit_test(children_do_not_inherit_the_blocked_signals),
        cmocka_unit_test(a_lock_goes_with_its_process),
        cmocka_unit_test(a_lock_is_neither_a_link_nor_a_pipe),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
