#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "os/path.h"
#include "os/win32/wide.h"

static int setup(void **state)
{
    static struct arena arena;
    *state = &arena;
    return 0;
}

static int teardown(void **state)
{
    arena_done(*state);
    return 0;
}

static void text_comes_back_the_same(void **state)
{
    static const char *const texts[] = {
        "",
        "plain",
        "\xC3\xA4\xE6\xB7\xB1\xE5\xBA\xA6",
        "\xF0\x9F\x98\x80 end",
        "lone \xED\xA0\x80 high",
        "lone \xED\xB0\x80 low",
        "\xED\xB0\x80\xED\xA0\x80",
        "\xF4\x8F\xBF\xBF",
    };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        wchar_t *wide = wide_from_text(*state, texts[i], NULL);
        assert_non_null(wide);
        assert_string_equal(wide_to_text(*state, wide), texts[i]);
    }
}

static void ill_formed_text_is_refused(void **state)
{
    static const char *const texts[] = {
        "\x80",
        "\xC0\x80",
        "\xC1\xBF",
        "\xE0\x80\x80",
        "\xF0\x80\x80\x80",
        "\xF4\x90\x80\x80",
        "\xF5\x80\x80\x80",
        "cut \xE6\xB7",
        "\xFF",
        "halves \xED\xA0\xBD\xED\xB8\x80",
    };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        struct err err = {0};
        assert_null(wide_from_text(*state, texts[i], &err));
        assert_int_equal(err.code, ERR_FORMAT);
    }
}

static void paths_become_absolute_and_unlimited(void **state)
{
    static const struct {
        const char *path;
        const wchar_t *wide;
    } cases[] = {
        {"C:\\a\\b", L"\\\\?\\C:\\a\\b"},
        {"c:/a//b/./c/../d/", L"\\\\?\\c:\\a\\b\\d"},
        {"C:\\", L"\\\\?\\C:\\"},
        {"C:\\..\\..\\x", L"\\\\?\\C:\\x"},
        {"C:\\x.\\y \\nul", L"\\\\?\\C:\\x.\\y \\nul"},
        {"\\\\server\\share\\..\\x", L"\\\\?\\UNC\\server\\share\\x"},
        {"//server/share", L"\\\\?\\UNC\\server\\share\\"},
        {"\\\\?\\C:\\a", L"\\\\?\\C:\\a"},
        {"\\\\.\\C:\\a", L"\\\\?\\C:\\a"},
        {"\\\\?\\UNC\\server\\share\\a", L"\\\\?\\UNC\\server\\share\\a"},
        {"\\\\?\\Volume{01}\\a\\b", L"\\\\?\\Volume{01}\\a\\b"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct err err = {0};
        wchar_t *wide = wide_path(*state, cases[i].path, &err);
        assert_string_equal(err.message, "");
        assert_string_equal(wide_to_text(*state, wide), wide_to_text(*state, cases[i].wide));
    }
}

static void relative_paths_begin_at_the_current_directory(void **state)
{
    wchar_t directory[1024];
    GetCurrentDirectoryW(1024, directory);
    const char *expected = os_path_join(*state, wide_to_text(*state, directory), "x\\y");
    assert_string_equal(wide_path_to_text(*state, wide_path(*state, "x/y", NULL)), expected);
    assert_string_equal(wide_path_to_text(*state, wide_path(*state, "z\\..\\x\\y", NULL)),
                        expected);
    char drive_relative[] = "?:x\\y";
    drive_relative[0] = (char)directory[0];
    assert_string_equal(wide_path_to_text(*state, wide_path(*state, drive_relative, NULL)),
                        expected);
    const char *rooted = wide_path_to_text(*state, wide_path(*state, "\\x", NULL));
    assert_string_equal(rooted + 1, ":\\x");
}

static void devices_are_refused(void **state)
{
    static const char *const paths[] = {
        "\\\\.\\PhysicalDrive0",
        "\\\\.\\pipe\\x",
        "\\\\?\\pipe\\x",
        "\\\\localhost\\pipe\\x",
        "\\\\?\\UNC\\localhost\\PIPE\\x",
        "\\\\.\\COM1",
        "//./nul",
    };
    for (size_t i = 0; i < sizeof paths / sizeof *paths; i++) {
        struct err err = {0};
        assert_null(wide_path(*state, paths[i], &err));
        assert_int_equal(err.code, ERR_UNSUPPORTED);
    }
}

static void prefixes_never_come_out(void **state)
{
    assert_string_equal(wide_path_to_text(*state, L"\\\\?\\C:\\a"), "C:\\a");
    assert_string_equal(wide_path_to_text(*state, L"\\\\?\\UNC\\server\\share"),
                        "\\\\server\\share");
}

static void errors_have_words_and_a_number(void **state)
{
    struct err err = {0};
    (void)state;
    assert_int_equal(wide_error(&err, ERROR_ACCESS_DENIED, "%s", "C:\\x"), ERR_PERMISSION);
    assert_int_equal(err.code, ERR_PERMISSION);
    assert_int_equal(strncmp(err.message, "C:\\x: ", 6), 0);
    assert_non_null(strstr(err.message, "(error 5)"));
    assert_int_equal(wide_error(&err, 0x1FFFFFF, "x"), ERR_IO);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(text_comes_back_the_same),
        cmocka_unit_test(ill_formed_text_is_refused),
        cmocka_unit_test(paths_become_absolute_and_unlimited),
        cmocka_unit_test(relative_paths_begin_at_the_current_directory),
        cmocka_unit_test(devices_are_refused),
        cmocka_unit_test(prefixes_never_come_out),
        cmocka_unit_test(errors_have_words_and_a_number),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
