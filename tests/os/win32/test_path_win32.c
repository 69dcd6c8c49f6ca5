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

static void absolute_needs_a_drive_and_a_separator_or_a_server(void **state)
{
    (void)state;
    assert_true(os_path_is_absolute("C:\\x"));
    assert_true(os_path_is_absolute("c:/"));
    assert_true(os_path_is_absolute("\\\\server\\share"));
    assert_false(os_path_is_absolute("C:x"));
    assert_false(os_path_is_absolute("\\x"));
    assert_false(os_path_is_absolute("x"));
}

static void parts_are_joined_with_one_backslash(void **state)
{
    assert_string_equal(os_path_join(*state, "C:\\", "x"), "C:\\x");
    assert_string_equal(os_path_join(*state, "C:\\a", "x/y"), "C:\\a\\x\\y");
    assert_string_equal(os_path_join(*state, "C:/a/", "x"), "C:\\a\\x");
    assert_string_equal(os_path_join(*state, "", "x"), "x");
    assert_string_equal(os_path_join(*state, "C:\\a", "D:\\b"), "D:\\b");
}

static void parents_end_at_the_root(void **state)
{
    static const char *const cases[][2] = {
        {"C:\\a\\b", "C:\\a"},
        {"C:\\a\\", "C:\\"},
        {"C:\\", "C:\\"},
        {"C:/a/b", "C:\\a"},
        {"\\\\server\\share\\a", "\\\\server\\share"},
        {"\\\\server\\share", "\\\\server\\share"},
        {"a\\b", "a"},
        {"a", "."},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        assert_true(os_path_equal(os_path_parent(*state, cases[i][0]), cases[i][1]));
    }
}

static void the_name_is_what_follows_the_last_separator(void **state)
{
    (void)state;
    assert_string_equal(os_path_name("C:\\a\\b.dll"), "b.dll");
    assert_string_equal(os_path_name("C:/a/b.dll"), "b.dll");
    assert_string_equal(os_path_name("b.dll"), "b.dll");
    assert_string_equal(os_path_name("C:b.dll"), "b.dll");
    assert_string_equal(os_path_name("C:\\"), "");
}

static void case_and_kind_of_separator_do_not_matter(void **state)
{
    (void)state;
    assert_true(os_path_equal("C:\\Program Files", "c:/PROGRAM files/"));
    assert_true(os_path_equal("C:\\\xC3\x84", "C:\\\xC3\xA4")); /* Ä ä */
    assert_true(os_path_equal("C:\\a\\\\b", "C:\\a\\b"));
    assert_false(os_path_equal("C:\\a", "C:\\b"));
    assert_false(os_path_equal("C:\\a\xED\xA0\x80", "C:\\a"));
    assert_true(os_path_equal("C:\\", "c:/"));
}

static void below_counts_whole_components(void **state)
{
    (void)state;
    assert_true(os_path_is_below("C:\\Cuda\\bin", "c:/cuda"));
    assert_true(os_path_is_below("C:\\cuda", "C:\\cuda\\"));
    assert_true(os_path_is_below("C:\\cuda", "C:\\"));
    assert_false(os_path_is_below("C:\\cuda-11", "C:\\cuda"));
    assert_false(os_path_is_below("C:\\", "C:\\cuda"));
    assert_false(os_path_is_below("C:\\cuda\\..\\x", "C:\\cuda"));
}

static void resolving_finds_the_case_on_disk(void **state)
{
    char *path = NULL;
    struct err err = {0};
    assert_int_equal(os_path_resolve(*state, NULL, "c:/WINDOWS/./SYSTEM32/..", &path, &err), 0);
    assert_true(os_path_equal(path, "C:\\windows"));
    assert_int_equal(strncmp(path, "C:\\", 3), 0);
    assert_int_equal(os_path_resolve(*state, NULL, "C:\\no such thing", &path, &err),
                     ERR_NOT_FOUND);
    assert_int_equal(os_path_resolve(*state, "C:\\x", "C:\\windows", &path, &err), ERR_UNSUPPORTED);
    assert_int_equal(os_path_resolve(*state, NULL, "C:\\windows\\nul", &path, &err), ERR_NOT_FOUND);
}

static void network_paths_are_told_by_their_text(void **state)
{
    (void)state;
    assert_true(os_path_is_network("\\\\server\\share"));
    assert_true(os_path_is_network("//server/share/x"));
    assert_true(os_path_is_network("\\\\?\\UNC\\server\\share"));
    assert_true(os_path_is_network("\\\\.\\unc\\server\\share"));
    assert_false(os_path_is_network("C:\\windows"));
    assert_false(os_path_is_network("\\\\?\\C:\\windows"));
    assert_false(os_path_is_network("\\\\?\\Volume{1}\\x"));
    assert_false(os_path_is_network("relative"));
}

static void lists_lose_quotes_blanks_and_empty_entries(void **state)
{
    char **items = NULL;
    size_t count = 0;
    os_path_list_split(*state, ";C:\\a; \"C:\\b c\";;\"C:\\d;e\"\\f ; \"\" ;%X%", &items, &count);
    assert_int_equal(count, 4);
    assert_string_equal(items[0], "C:\\a");
    assert_string_equal(items[1], "C:\\b c");
    assert_string_equal(items[2], "C:\\d;e\\f");
    assert_string_equal(items[3], "%X%");
    os_path_list_split(*state, "", &items, &count);
    assert_int_equal(count, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(absolute_needs_a_drive_and_a_separator_or_a_server),
        cmocka_unit_test(parts_are_joined_with_one_backslash),
        cmocka_unit_test(parents_end_at_the_root),
        cmocka_unit_test(the_name_is_what_follows_the_last_separator),
        cmocka_unit_test(case_and_kind_of_separator_do_not_matter),
        cmocka_unit_test(below_counts_whole_components),
        cmocka_unit_test(resolving_finds_the_case_on_disk),
        cmocka_unit_test(network_paths_are_told_by_their_text),
        cmocka_unit_test(lists_lose_quotes_blanks_and_empty_entries),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
