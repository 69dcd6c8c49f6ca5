#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <windows.h>

#include "os/file.h"
#include "os/library.h"
#include "os/path.h"
#include "os/process.h"
#include "os/win32/wide.h"

/* The libraries are copies of this program: an executable loads as a library as far as a search
   for it is concerned, and no other file has to be built. */

struct place {
    struct arena arena;
    char *inside, *outside;
};

/* As libraries load their siblings: LoadLibrary("name") is this call. */
static HMODULE plain_load(const wchar_t *name)
{
    return LoadLibraryExW(name, NULL, 0);
}

static char *own_path(struct arena *arena)
{
    char *path = arena_alloc(arena, 4096);
    return os_process_own_path(path, 4096, NULL) == 0 ? path : NULL;
}

static int setup(void **state)
{
    static struct place place;
    wchar_t base[512];
    DWORD length = GetTempPathW(512, base);
    char *directory =
        arena_printf(&place.arena, "%scudnnd-library-%lu",
                     wide_to_text_n(&place.arena, base, length), GetCurrentProcessId());
    place.inside = os_path_join(&place.arena, directory, "\xE6\xB7\xB1 in");
    place.outside = os_path_join(&place.arena, directory, "out");
    *state = &place;
    const char *own = own_path(&place.arena);
    struct err err = {0};
    if (os_dir_make(place.inside, &err) != 0 || os_dir_make(place.outside, &err) != 0 ||
        os_file_copy(own, os_path_join(&place.arena, place.inside, "test_entry64_9.dll"), &err) ||
        os_file_copy(own, os_path_join(&place.arena, place.inside, "test_graph64_9.dll"), &err) ||
        os_file_copy(own, os_path_join(&place.arena, place.outside, "test_stray64_9.dll"), &err) ||
        os_file_write(os_path_join(&place.arena, place.inside, "broken.dll"), "MZ?", 3, false,
                      &err)) {
        print_error("%s\n", err.message);
        return -1;
    }
    return 0;
}

static int teardown(void **state)
{
    struct place *place = *state; /* loaded files cannot be removed: they stay */
    arena_done(&place->arena);
    return 0;
}

static void only_the_systems_own_directory_counts_at_first(void **state)
{
    struct place *place = *state;
    struct os_library *library = NULL;
    struct err err = {0};
    SetEnvironmentVariableW(L"PATH", wide_from_text(&place->arena, place->outside, NULL));
    assert_null(plain_load(L"test_stray64_9.dll"));
    assert_null(plain_load(L"test_graph64_9.dll"));
    assert_int_equal(os_library_open_system(NULL, "test_stray64_9.dll", &library, &err),
                     ERR_NOT_FOUND);
    assert_int_equal(os_library_open_system(NULL, "version.dll", &library, &err), 0);
    assert_non_null(os_library_symbol(library, "GetFileVersionInfoW"));
    assert_null(os_library_symbol(library, "NoSuchFunction"));
    assert_int_equal(os_library_open_system(NULL, "..\\version.dll", &library, &err), ERR_USAGE);
    assert_int_equal(os_library_open_system("C:\\", "version.dll", &library, &err),
                     ERR_UNSUPPORTED);
}

static void siblings_are_found_by_bare_name_and_strays_on_path_are_not(void **state)
{
    struct place *place = *state;
    struct os_library *library = NULL;
    struct err err = {0};
    const char *path = os_path_join(&place->arena, place->inside, "test_entry64_9.dll");
    int code = os_library_open(path, place->inside, &library, &err);
    assert_string_equal(err.message, "");
    assert_int_equal(code, 0);
    assert_non_null(plain_load(L"test_graph64_9.dll"));
    assert_null(plain_load(L"test_stray64_9.dll"));
}

static void a_failure_has_words_and_windows_number(void **state)
{
    struct place *place = *state;
    struct os_library *library = NULL;
    struct err err = {0};
    const char *broken = os_path_join(&place->arena, place->inside, "broken.dll");
    assert_int_equal(os_library_open(broken, NULL, &library, &err), ERR_FORMAT);
    assert_non_null(strstr(err.message, "(error 193)"));
    assert_non_null(strstr(err.message, "broken.dll"));
    assert_int_equal(os_library_open("C:\\none\\x.dll", NULL, &library, &err), ERR_NOT_FOUND);
}

int main(void)
{
    os_process_prepare();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(only_the_systems_own_directory_counts_at_first),
        cmocka_unit_test(siblings_are_found_by_bare_name_and_strays_on_path_are_not),
        cmocka_unit_test(a_failure_has_words_and_windows_number),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
