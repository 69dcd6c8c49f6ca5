#include "os/watch.h"

#include "tests/os/scratch.h"
#include "tests/test.h"

#include <stdatomic.h>
#include <stdio.h>
#include <unistd.h>

#include "os/clock.h"
#include "os/file.h"
#include "os/path.h"

enum { SOON_MS = 5000, QUIET_MS = 300 };

static atomic_int changes;

static void on_change(void *context)
{
    (void)context;
    atomic_fetch_add(&changes, 1);
}

static struct os_watch *start(void)
{
    struct os_watch *watch = NULL;
    struct err err = {0};
    atomic_store(&changes, 0);
    assert_int_equal(os_watch_start("cudnn", on_change, NULL, &watch, &err), 0);
    return watch;
}

/* Straight, not by way of another name. */
static const char *put(struct scratch *scratch, const char *name, const char *text)
{
    const char *path = scratch_path(scratch, name);
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    fputs(text, file);
    fclose(file);
    return path;
}

static bool is_told(void)
{
    uint64_t end = os_clock_steady_ms() + SOON_MS;
    while (atomic_load(&changes) == 0 && os_clock_steady_ms() < end) {
        os_clock_sleep_ms(5);
    }
    bool told = atomic_load(&changes) > 0;
    os_clock_sleep_ms(QUIET_MS); /* what else belongs to it */
    atomic_store(&changes, 0);
    return told;
}

static bool is_quiet(void)
{
    os_clock_sleep_ms(QUIET_MS);
    return atomic_exchange(&changes, 0) == 0;
}

static void a_library_that_comes_changes_and_goes_is_told(void **state)
{
    (void)state;
    struct scratch scratch = scratch_make();
    struct os_watch *watch = start();
    const struct os_watch_directory directory = {.path = scratch.path, .files = true};
    assert_int_equal(os_watch_set(watch, &directory, 1), 1);
    const char *path = put(&scratch, "libCUDNN.so.9", "one");
    assert_true(is_told());
    put(&scratch, "libCUDNN.so.9", "another");
    assert_true(is_told());
    assert_int_equal(os_file_remove(path, NULL), 0);
    assert_true(is_told());
    os_watch_stop(watch);
    scratch_done(&scratch);
}

static void other_files_are_nobodys_business(void **state)
{
    (void)state;
    struct scratch scratch = scratch_make();
    struct os_watch *watch = start();
    const struct os_watch_directory directory = {
        .path = scratch.path, .files = true, .directories = true};
    assert_int_equal(os_watch_set(watch, &directory, 1), 1);
    put(&scratch, "notes.txt", "x");
    assert_true(is_quiet());
    scratch_directory(&scratch, "site-packages");
    assert_true(is_told());
    put(&scratch, "site-packages/libcudnn.so.9", "x"); /* one level lower */
    assert_true(is_quiet());
    os_watch_stop(watch);
    scratch_done(&scratch);
}

static void a_new_set_takes_the_place_of_the_old_one(void **state)
{
    (void)state;
    struct scratch scratch = scratch_make();
    struct os_watch *watch = start();
    const struct os_watch_directory old = {.path = scratch_directory(&scratch, "old"),
                                           .files = true};
    const struct os_watch_directory both[] = {
        {.path = scratch_directory(&scratch, "new"), .files = true},
        {.path = scratch_path(&scratch, "none"), .files = true},
    };
    assert_int_equal(os_watch_set(watch, &old, 1), 1);
    assert_int_equal(os_watch_set(watch, both, 2), 1); /* one of them is not there */
    put(&scratch, "old/cudnn64_9.dll", "x");
    assert_true(is_quiet());
    put(&scratch, "new/cudnn64_9.dll", "x");
    assert_true(is_told());
    assert_int_equal(os_watch_set(watch, NULL, 0), 0);
    put(&scratch, "new/cudnn64_8.dll", "x");
    assert_true(is_quiet());
    os_watch_stop(watch);
    scratch_done(&scratch);
}

/* Windows answers the request of a directory that is deleted (with an error, on which it is let
   go); Wine 8 does not, and keeps the directory while it is watched. */
static void a_watched_directory_can_be_removed(void **state)
{
    (void)state;
    struct scratch scratch = scratch_make();
    struct os_watch *watch = start();
    const struct os_watch_directory directories[] = {
        {.path = scratch_directory(&scratch, "inner"), .files = true, .directories = true},
        {.path = scratch.path, .directories = true},
    };
    assert_int_equal(os_watch_set(watch, directories, 2), 2);
    assert_int_equal(rmdir(directories[0].path), 0);
    if (os_path_separator == '\\' && !is_told()) {
        os_watch_stop(watch);
        scratch_done(&scratch);
        skip();
    }
    assert_true(os_path_separator == '\\' || is_told());
    put(&scratch, "nobody", "x");
    assert_true(is_quiet());
    os_watch_stop(watch);
    scratch_done(&scratch);
}

/* More events than any buffer holds: at least one is told, and watching goes on. */
static void a_flood_is_told_and_survived(void **state)
{
    (void)state;
    struct scratch scratch = scratch_make();
    struct os_watch *watch = start();
    const struct os_watch_directory directory = {.path = scratch.path, .files = true};
    assert_int_equal(os_watch_set(watch, &directory, 1), 1);
    for (int i = 0; i < 2000; i++) {
        char name[64];
        snprintf(name, sizeof name, "cudnn-%d-with-a-name-that-is-not-short.dll", i);
        put(&scratch, name, "");
    }
    assert_true(is_told());
    put(&scratch, "cudnn-last.dll", "");
    assert_true(is_told());
    os_watch_stop(watch);
    scratch_done(&scratch);
}

static void stopping_what_never_started_is_fine(void **state)
{
    (void)state;
    os_watch_stop(NULL);
    os_watch_stop(start());
}

RUN_TESTS(cmocka_unit_test(a_library_that_comes_changes_and_goes_is_told),
          cmocka_unit_test(other_files_are_nobodys_business),
          cmocka_unit_test(a_new_set_takes_the_place_of_the_old_one),
          cmocka_unit_test(a_watched_directory_can_be_removed),
          cmocka_unit_test(a_flood_is_told_and_survived),
          cmocka_unit_test(stopping_what_never_started_is_fine))
