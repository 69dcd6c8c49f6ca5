#include "tests/test.h"

#include <dlfcn.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "os/file.h"
#include "os/library.h"
#include "os/path.h"
#include "os/process.h"
#include "tests/os/scratch.h"

/* The C library's mathematics stand in for a driver: on every machine, and harmless. */
static const char stand_in[] = "libm.so.6";
/* Of the same package, and nothing that a test program itself needs. */
static const char planted[] = "libBrokenLocale.so.1";

static const char *file_of(struct scratch *scratch, struct os_library *library)
{
    os_library_function *function = os_library_symbol(library, "cos");
    assert_non_null(function);
    void *address;
    memcpy(&address, &function, sizeof address);
    Dl_info info;
    assert_int_not_equal(dladdr(address, &info), 0);
    char *resolved;
    assert_int_equal(os_path_resolve(&scratch->arena, NULL, info.dli_fname, &resolved, NULL), 0);
    return resolved;
}

static void a_system_library_is_found_and_its_functions_too(void **state)
{
    (void)state;
    struct os_library *library = NULL;
    struct err err = {0};
    assert_int_equal(os_library_open_system(NULL, stand_in, &library, &err), 0);
    os_library_function *function = os_library_symbol(library, "cos");
    assert_true(((double (*)(double))function)(0.0) > 0.99);
    assert_null(os_library_symbol(library, "cudnnGetVersion"));
}

static void a_library_that_is_not_there_is_not_found(void **state)
{
    (void)state;
    struct os_library *library = NULL;
    struct err err = {0};
    assert_int_equal(os_library_open_system(NULL, "libcudnnd-missing.so.1", &library, &err),
                     ERR_NOT_FOUND);
    assert_int_equal(os_library_open("/missing/libcudnn.so.9", NULL, &library, &err),
                     ERR_NOT_FOUND);
    assert_int_equal(os_library_open_system(NULL, "../libm.so.6", &library, &err), ERR_USAGE);
    assert_int_equal(os_library_open_system(NULL, "", &library, &err), ERR_USAGE);
    assert_null(library);
}

/* A child's part, with a planted library in the search path it was started with. */
static int open_planted(void)
{
    struct os_library *library = NULL;
    if (os_library_open_system(NULL, planted, &library, NULL) != 0) {
        return 1;
    }
    return os_library_symbol(library, "cos") == NULL ? 0 : 2;
}

static void a_planted_driver_in_the_search_path_is_not_taken(void **state)
{
    (void)state;
    CLEANUP(scratch_done) struct scratch scratch = scratch_make();
    struct os_library *library = NULL;
    assert_int_equal(os_library_open_system(NULL, stand_in, &library, NULL), 0);
    const char *copy = scratch_path(&scratch, planted);
    assert_int_equal(os_file_copy(file_of(&scratch, library), copy, NULL), 0);
    char program[4096];
    assert_int_equal(os_process_own_path(program, sizeof program, NULL), 0);
    const char *const arguments[] = {"planted", NULL};
    const char *variable = arena_printf(&scratch.arena, "LD_LIBRARY_PATH=%s", scratch.path);
    const char *const set[] = {variable, NULL};
    const struct os_process_spec spec = {.program = program,
                                         .arguments = arguments,
                                         .set = set,
                                         .timeout_ms = 30000,
                                         .output_bytes = 100};
    CLEANUP(os_process_result_done) struct os_process_result result = {0};
    assert_int_equal(os_process_run(&spec, &result, NULL), 0);
    assert_int_equal(result.end, OS_PROCESS_EXITED);
    assert_int_equal(result.code, 0);
}

static void a_library_inside_a_root_is_found_through_its_links(void **state)
{
    (void)state;
    CLEANUP(scratch_done) struct scratch scratch = scratch_make();
    struct os_library *system = NULL;
    assert_int_equal(os_library_open_system(NULL, stand_in, &system, NULL), 0);
    scratch_directory(&scratch, "opt/driver");
    scratch_directory(&scratch, "usr/lib64");
    scratch_write(&scratch, "usr/lib/x86_64-linux-gnu/libdouble.so.1", "of another architecture");
    const char *copy = scratch_path(&scratch, "opt/driver/libdouble.so.1.2");
    assert_int_equal(os_file_copy(file_of(&scratch, system), copy, NULL), 0);
    assert_int_equal(
        symlink("/opt/driver/libdouble.so.1.2", scratch_path(&scratch, "usr/lib64/libdouble.so.1")),
        0);
    struct os_library *library = NULL;
    struct err err = {0};
    assert_int_equal(os_library_open_system(scratch.path, "libdouble.so.1", &library, &err), 0);
    assert_string_equal(file_of(&scratch, library), copy);
    assert_int_equal(os_library_open_system(scratch.path, stand_in, &library, &err), ERR_NOT_FOUND);
}

static void what_is_no_library_is_refused_with_the_loaders_words(void **state)
{
    (void)state;
    CLEANUP(scratch_done) struct scratch scratch = scratch_make();
    const char *page = scratch_write(&scratch, "libcudnn.so.9", "<html>404 not found</html>");
    struct os_library *library = NULL;
    struct err err = {0};
    assert_int_equal(os_library_open(page, NULL, &library, &err), ERR_FORMAT);
    assert_non_null(strstr(err.message, "libcudnn.so.9"));
    const char *pipe = scratch_path(&scratch, "pipe.so");
    assert_int_equal(mkfifo(pipe, 0600), 0);
    alarm(20);
    assert_int_equal(os_library_open(pipe, NULL, &library, &err), ERR_FORMAT);
    alarm(0);
}

int main(int argc, char **argv)
{
    if (argc > 1) {
        return strcmp(argv[1], "planted") == 0 ? open_planted() : 99;
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_system_library_is_found_and_its_functions_too),
        cmocka_unit_test(a_library_that_is_not_there_is_not_found),
        cmocka_unit_test(a_planted_driver_in_the_search_path_is_not_taken),
        cmocka_unit_test(a_library_inside_a_root_is_found_through_its_links),
        cmocka_unit_test(what_is_no_library_is_refused_with_the_loaders_words),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
