#include "tests/test.h"

#include "base/cleanup.h"
#include "os/path.h"
#include "tests/os/scratch.h"

static void joined_paths_have_one_separator(void **state)
{
    (void)state;
    CLEANUP(arena_done) struct arena arena = {0};
    char expected[] = "a/b";
    expected[1] = os_path_separator;
    assert_string_equal(os_path_join(&arena, "a", "b"), expected);
    assert_string_equal(os_path_join(&arena, "a/", "b"), expected);
    assert_string_equal(os_path_join(&arena, "", "b"), "b");
}

static void an_absolute_name_replaces_the_directory(void **state)
{
    (void)state;
    CLEANUP(scratch_done) struct scratch scratch = scratch_make();
    assert_true(os_path_is_absolute(scratch.path));
    assert_string_equal(os_path_join(&scratch.arena, "x", scratch.path), scratch.path);
    assert_false(os_path_is_absolute("a/b"));
    assert_false(os_path_is_absolute(""));
}

static void parent_and_name_take_a_path_apart(void **state)
{
    (void)state;
    CLEANUP(scratch_done) struct scratch scratch = scratch_make();
    const char *path = scratch_path(&scratch, "some/file.txt");
    assert_string_equal(os_path_name(path), "file.txt");
    assert_string_equal(os_path_name("bare"), "bare");
    assert_string_equal(os_path_parent(&scratch.arena, path), scratch_path(&scratch, "some"));
    assert_string_equal(os_path_parent(&scratch.arena, "bare"), ".");
}

static void the_parent_of_a_root_is_the_root(void **state)
{
    (void)state;
    CLEANUP(scratch_done) struct scratch scratch = scratch_make();
    const char *path = scratch.path;
    for (int i = 0; i < 64; i++) {
        path = os_path_parent(&scratch.arena, path);
    }
    assert_true(os_path_is_absolute(path));
    assert_string_equal(os_path_parent(&scratch.arena, path), path);
}

static void below_is_decided_on_whole_components(void **state)
{
    (void)state;
    CLEANUP(scratch_done) struct scratch scratch = scratch_make();
    const char *directory = scratch_path(&scratch, "lib");
    assert_true(os_path_is_below(scratch_path(&scratch, "lib/x"), directory));
    assert_true(os_path_is_below(directory, directory));
    assert_true(os_path_is_below(directory, scratch.path));
    assert_false(os_path_is_below(scratch_path(&scratch, "lib64"), directory));
    assert_false(os_path_is_below(scratch.path, directory));
    assert_true(os_path_equal(directory, scratch_path(&scratch, "lib")));
    assert_false(os_path_equal(directory, scratch.path));
}

static void a_list_is_split_into_its_entries(void **state)
{
    (void)state;
    CLEANUP(arena_done) struct arena arena = {0};
    char list[] = "/a|| /b \t|\"/c d\"|";
    for (char *at = list; *at != '\0'; at++) {
        *at = *at == '|' ? os_path_list_separator : *at;
    }
    char **items;
    size_t count;
    os_path_list_split(&arena, list, &items, &count);
    assert_int_equal(count, 3);
    assert_string_equal(items[1], "/b");
    assert_string_equal(items[2], "/c d");
    os_path_list_split(&arena, "", &items, &count);
    assert_int_equal(count, 0);
}

static void a_list_is_cut_at_4096_entries(void **state)
{
    (void)state;
    CLEANUP(arena_done) struct arena arena = {0};
    char list[2 * 5000 + 1];
    for (size_t i = 0; i < 5000; i++) {
        list[2 * i] = 'x';
        list[2 * i + 1] = os_path_list_separator;
    }
    list[2 * 5000] = '\0';
    char **items;
    size_t count;
    os_path_list_split(&arena, list, &items, &count);
    assert_int_equal(count, 4096);
}

static void dots_are_resolved(void **state)
{
    (void)state;
    CLEANUP(scratch_done) struct scratch scratch = scratch_make();
    const char *path = scratch_write(&scratch, "a/b/file", "x");
    char *resolved;
    const char *dotted = scratch_path(&scratch, "a/./b/../../a/b/file");
    assert_int_equal(os_path_resolve(&scratch.arena, NULL, dotted, &resolved, NULL), 0);
    assert_string_equal(resolved, path);
}

static void what_does_not_exist_is_not_resolved(void **state)
{
    (void)state;
    CLEANUP(scratch_done) struct scratch scratch = scratch_make();
    char *resolved = NULL;
    struct err err = {0};
    const char *path = scratch_path(&scratch, "missing");
    assert_int_equal(os_path_resolve(&scratch.arena, NULL, path, &resolved, &err), ERR_NOT_FOUND);
    assert_int_equal(err.code, ERR_NOT_FOUND);
    assert_null(resolved);
    assert_int_not_equal(os_path_resolve(&scratch.arena, NULL, "", &resolved, NULL), 0);
}

static void the_temporary_directory_is_not_on_a_network(void **state)
{
    (void)state;
    CLEANUP(scratch_done) struct scratch scratch = scratch_make();
    assert_false(os_path_is_network(scratch_path(&scratch, "need/not/exist")));
}

RUN_TESTS(cmocka_unit_test(joined_paths_have_one_separator),
          cmocka_unit_test(an_absolute_name_replaces_the_directory),
          cmocka_unit_test(parent_and_name_take_a_path_apart),
          cmocka_unit_test(the_parent_of_a_root_is_the_root),
          cmocka_unit_test(below_is_decided_on_whole_components),
          cmocka_unit_test(a_list_is_split_into_its_entries),
          cmocka_unit_test(a_list_is_cut_at_4096_entries), cmocka_unit_test(dots_are_resolved),
          cmocka_unit_test(what_does_not_exist_is_not_resolved),
          cmocka_unit_test(the_temporary_directory_is_not_on_a_network))
