#include "tests/test.h"

#include <ctype.h>

#include "base/cleanup.h"
#include "base/text.h"
#include "os/arguments.h"
#include "os/clock.h"
#include "os/dirs.h"
#include "os/env.h"
#include "os/file.h"
#include "os/host.h"
#include "os/lock.h"
#include "os/path.h"
#include "os/registry.h"
#include "os/secure.h"
#include "os/system_log.h"
#include "os/terminal.h"
#include "os/thread.h"
#include "tests/os/scratch.h"

static void the_steady_clock_goes_on_while_sleeping(void **state)
{
    (void)state;
    uint64_t start_us = os_clock_steady_us();
    uint64_t start_ms = os_clock_steady_ms();
    os_clock_sleep_ms(60);
    uint64_t took_us = os_clock_steady_us() - start_us;
    assert_true(took_us >= 50000 && took_us < 5000000);
    assert_true(os_clock_steady_ms() - start_ms >= 40);
}

static void the_wall_clock_knows_the_century(void **state)
{
    (void)state;
    assert_true(os_clock_wall_ms() > INT64_C(1700000000000));
    assert_true(os_clock_wall_ms() < INT64_C(4102444800000));
}

static void a_variable_of_the_process_is_found(void **state)
{
    (void)state;
    CLEANUP(arena_done) struct arena arena = {0};
    putenv("CUDNND_OWN_B=two = 2");
    putenv("CUDNND_OWN_A=1");
    const char *value = os_env_get(&arena, NULL, OS_ENV_PROCESS, "CUDNND_OWN_B");
    assert_string_equal(value, "two = 2");
    assert_null(os_env_get(&arena, NULL, OS_ENV_PROCESS, "CUDNND_OWN_"));
    struct os_env_variable *items;
    size_t count;
    os_env_list(&arena, NULL, OS_ENV_PROCESS, "CUDNND_OWN_", &items, &count);
    assert_int_equal(count, 2);
    assert_string_equal(items[0].name, "CUDNND_OWN_A");
    assert_string_equal(items[1].value, "two = 2");
}

static void a_lock_is_held_by_one(void **state)
{
    (void)state;
    CLEANUP(scratch_done) struct scratch scratch = scratch_make();
    const char *path = scratch_path(&scratch, "lock");
    struct os_lock *first = NULL;
    struct os_lock *second = NULL;
    struct err err = {0};
    assert_int_equal(os_lock_take(path, &first, &err), 0);
    assert_int_equal(os_lock_take(path, &second, &err), ERR_BUSY);
    assert_null(second);
    os_lock_release(first);
    assert_int_equal(os_lock_take(path, &second, &err), 0);
    os_lock_release(second);
    os_lock_release(NULL);
    const char *nowhere = scratch_path(&scratch, "missing/lock");
    assert_int_equal(os_lock_take(nowhere, &first, &err), ERR_NOT_FOUND);
}

static void a_directory_of_our_own_is_made_and_accepted_again(void **state)
{
    (void)state;
    CLEANUP(scratch_done) struct scratch scratch = scratch_make();
    const char *path = scratch_path(&scratch, "below/own");
    struct err err = {0};
    assert_int_equal(os_secure_directory(path, &err), 0);
    assert_int_equal(os_secure_directory(path, &err), 0);
    scratch_write(&scratch, "below/own/file", "x");
}

static void a_file_is_no_directory_of_our_own(void **state)
{
    (void)state;
    CLEANUP(scratch_done) struct scratch scratch = scratch_make();
    struct err err = {0};
    const char *path = scratch_write(&scratch, "file", "x");
    assert_int_not_equal(os_secure_directory(path, &err), 0);
    assert_int_not_equal(err.code, 0);
}

static void what_does_not_exist_is_not_trusted(void **state)
{
    (void)state;
    CLEANUP(scratch_done) struct scratch scratch = scratch_make();
    const char *reason = NULL;
    const char *path = scratch_path(&scratch, "missing");
    assert_false(os_secure_is_trusted(&scratch.arena, path, &reason));
    assert_non_null(reason);
}

static void random_bytes_differ(void **state)
{
    (void)state;
    unsigned char a[64] = {0}, b[64] = {0};
    os_secure_random(a, sizeof a);
    os_secure_random(b, sizeof b);
    assert_memory_not_equal(a, b, sizeof a);
    os_secure_random(a, 0);
}

static void the_host_has_a_name_and_a_system(void **state)
{
    (void)state;
    CLEANUP(arena_done) struct arena arena = {0};
    struct os_host host;
    os_host_read(&arena, NULL, &host);
    assert_non_null(host.name);
    assert_non_null(host.os_name);
    assert_non_null(host.arch);
    assert_true(os_host_nvidia_device(NULL) <= OS_HOST_UNKNOWN);
}

static void own_files_have_absolute_places(void **state)
{
    (void)state;
    CLEANUP(arena_done) struct arena arena = {0};
    for (int service = 0; service < 2; service++) {
        const char *file = os_dirs_config_file(&arena, service != 0);
        assert_true(os_path_is_absolute(file));
        assert_string_equal(os_path_name(file), "cudnnd.yml");
        assert_true(os_path_is_absolute(os_dirs_data(&arena, service != 0)));
    }
}

static void homes_are_existing_directories(void **state)
{
    (void)state;
    CLEANUP(arena_done) struct arena arena = {0};
    char **homes;
    size_t count;
    os_dirs_homes(&arena, NULL, &homes, &count);
    for (size_t i = 0; i < count; i++) {
        struct os_file_info info;
        assert_true(os_path_is_absolute(homes[i]));
        assert_int_equal(os_file_stat(homes[i], &info, NULL), 0);
        assert_int_equal(info.type, OS_FILE_DIRECTORY);
    }
}

static void a_key_that_is_not_there_has_no_values(void **state)
{
    (void)state;
    CLEANUP(arena_done) struct arena arena = {0};
    const char *key = "HKLM\\SOFTWARE\\cudnnd test\\missing";
    assert_null(os_registry_text(&arena, key, "value"));
    char **names;
    size_t count = 1;
    os_registry_subkeys(&arena, key, &names, &count);
    assert_int_equal(count, 0);
}

static void small_services_do_not_fail(void **state)
{
    (void)state;
    assert_true(os_terminal_columns() > 0);
    FILE *file = tmpfile();
    if (file != NULL) {
        assert_false(os_terminal_is_interactive(file));
        fclose(file);
    }
    os_thread_name("a name that is longer than fifteen bytes");
    os_system_log(OS_EVENT_HEALTH_CHANGED, "a line from a unit test\nwith a second one");
    os_secure_is_administrator();
    char program[] = "program";
    char *list[] = {program, NULL};
    char **arguments = list;
    int count = 1;
    assert_int_equal(os_arguments_utf8(&count, &arguments), 0);
    assert_true(count >= 1);
    os_thread_background();
}

RUN_TESTS(cmocka_unit_test(the_steady_clock_goes_on_while_sleeping),
          cmocka_unit_test(the_wall_clock_knows_the_century),
          cmocka_unit_test(a_variable_of_the_process_is_found),
          cmocka_unit_test(a_lock_is_held_by_one),
          cmocka_unit_test(a_directory_of_our_own_is_made_and_accepted_again),
          cmocka_unit_test(a_file_is_no_directory_of_our_own),
          cmocka_unit_test(what_does_not_exist_is_not_trusted),
          cmocka_unit_test(random_bytes_differ), cmocka_unit_test(the_host_has_a_name_and_a_system),
          cmocka_unit_test(own_files_have_absolute_places),
          cmocka_unit_test(homes_are_existing_directories),
          cmocka_unit_test(a_key_that_is_not_there_has_no_values),
          cmocka_unit_test(small_services_do_not_fail))
