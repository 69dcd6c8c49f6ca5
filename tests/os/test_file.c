#include "tests/test.h"

#include "base/cleanup.h"
#include "os/file.h"
#include "os/path.h"
#include "tests/os/scratch.h"

static void what_is_written_is_read_back(void **state)
{
    (void)state;
    CLEANUP(scratch_done) struct scratch scratch = scratch_make();
    const char *path = scratch_path(&scratch, "file");
    const char data[] = "one\0two\r\n\x1A end";
    char *back;
    size_t size;
    assert_int_equal(os_file_write(path, data, sizeof data, true, NULL), 0);
    assert_int_equal(os_file_read(&scratch.arena, path, sizeof data, &back, &size, NULL), 0);
    assert_int_equal(size, sizeof data);
    assert_memory_equal(back, data, sizeof data);
    assert_int_equal(back[size], '\0');
}

static void writing_replaces_the_file_and_leaves_nothing_beside_it(void **state)
{
    (void)state;
    CLEANUP(scratch_done) struct scratch scratch = scratch_make();
    scratch_write(&scratch, "file", "a longer old text");
    scratch_write(&scratch, "file", "new");
    assert_string_equal(scratch_read(&scratch, "file"), "new");
    assert_int_equal(scratch_count(&scratch, "."), 1);
}

static void a_write_that_cannot_be_finished_leaves_nothing(void **state)
{
    (void)state;
    CLEANUP(scratch_done) struct scratch scratch = scratch_make();
    scratch_write(&scratch, "in the way/file", "x");
    struct err err = {0};
    const char *taken = scratch_path(&scratch, "in the way"); /* a directory */
    assert_int_not_equal(os_file_write(taken, "y", 1, false, &err), 0);
    assert_int_not_equal(err.code, 0);
    assert_int_equal(scratch_count(&scratch, "."), 1);
    const char *nowhere = scratch_path(&scratch, "no directory/file");
    assert_int_equal(os_file_write(nowhere, "y", 1, false, NULL), ERR_NOT_FOUND);
}

static void a_file_over_the_limit_is_refused(void **state)
{
    (void)state;
    CLEANUP(scratch_done) struct scratch scratch = scratch_make();
    const char *path = scratch_write(&scratch, "file", "12345");
    char *back = NULL;
    size_t size;
    struct err err = {0};
    assert_int_equal(os_file_read(&scratch.arena, path, 4, &back, &size, &err), ERR_LIMIT);
    assert_null(back);
    assert_int_equal(os_file_read(&scratch.arena, path, 5, &back, &size, &err), 0);
}

static void a_directory_is_not_read_as_a_file(void **state)
{
    (void)state;
    CLEANUP(scratch_done) struct scratch scratch = scratch_make();
    const char *path = scratch_directory(&scratch, "cudnn64_9.dll");
    char *back;
    size_t size;
    assert_int_not_equal(os_file_read(&scratch.arena, path, 100, &back, &size, NULL), 0);
}

static void stat_tells_what_a_name_is(void **state)
{
    (void)state;
    CLEANUP(scratch_done) struct scratch scratch = scratch_make();
    struct os_file_info file, other, directory;
    assert_int_equal(os_file_stat(scratch_write(&scratch, "file", "12345"), &file, NULL), 0);
    assert_int_equal(os_file_stat(scratch_write(&scratch, "other", ""), &other, NULL), 0);
    assert_int_equal(os_file_stat(scratch.path, &directory, NULL), 0);
    assert_int_equal(file.type, OS_FILE_REGULAR);
    assert_int_equal(file.size_bytes, 5);
    assert_int_equal(directory.type, OS_FILE_DIRECTORY);
    assert_int_equal(file.device, other.device);
    assert_int_not_equal(file.inode, other.inode);
    assert_true(file.modified_at_ms > INT64_C(1500000000000));
    struct err err = {0};
    const char *missing = scratch_path(&scratch, "missing");
    assert_int_equal(os_file_stat(missing, &file, &err), ERR_NOT_FOUND);
    assert_non_null(strstr(err.message, "missing"));
}

static void entries_are_listed_in_byte_order(void **state)
{
    (void)state;
    CLEANUP(scratch_done) struct scratch scratch = scratch_make();
    scratch_write(&scratch, "b", "");
    scratch_write(&scratch, "a/in", "");
    scratch_write(&scratch, ".hidden", "");
    struct os_dir_list list;
    assert_int_equal(os_dir_read(&scratch.arena, scratch.path, 10, &list, NULL), 0);
    assert_int_equal(list.count, 3);
    assert_false(list.cut);
    assert_string_equal(list.entries[0].name, ".hidden");
    assert_string_equal(list.entries[1].name, "a");
    assert_int_equal(list.entries[1].type, OS_FILE_DIRECTORY);
    assert_string_equal(list.entries[2].name, "b");
    assert_int_equal(list.entries[2].type, OS_FILE_REGULAR);
}

static void a_listing_is_cut_at_its_limit(void **state)
{
    (void)state;
    CLEANUP(scratch_done) struct scratch scratch = scratch_make();
    scratch_write(&scratch, "a", "");
    scratch_write(&scratch, "b", "");
    struct os_dir_list list;
    assert_int_equal(os_dir_read(&scratch.arena, scratch.path, 1, &list, NULL), 0);
    assert_int_equal(list.count, 1);
    assert_true(list.cut);
    assert_int_equal(os_dir_read(&scratch.arena, scratch.path, 2, &list, NULL), 0);
    assert_false(list.cut);
}

static void only_directories_are_listed(void **state)
{
    (void)state;
    CLEANUP(scratch_done) struct scratch scratch = scratch_make();
    const char *file = scratch_write(&scratch, "file", "");
    struct os_dir_list list;
    assert_int_not_equal(os_dir_read(&scratch.arena, file, 10, &list, NULL), 0);
    const char *missing = scratch_path(&scratch, "missing");
    assert_int_equal(os_dir_read(&scratch.arena, missing, 10, &list, NULL), ERR_NOT_FOUND);
}

static int sum_bytes(struct bytes bytes, const struct os_file_info *info, void *context,
                     struct err *err)
{
    (void)err;
    assert_int_equal(info->size_bytes, bytes.size);
    uint64_t *sum = context;
    for (uint64_t i = 0; i < bytes.size; i++) {
        *sum += bytes.data[i];
    }
    return 0;
}

static int refuse(struct bytes bytes, const struct os_file_info *info, void *context,
                  struct err *err)
{
    (void)bytes;
    (void)info;
    (void)context;
    return err_set(err, ERR_FORMAT, "not a library");
}

static void a_reader_sees_the_bytes_of_a_mapped_file(void **state)
{
    (void)state;
    CLEANUP(scratch_done) struct scratch scratch = scratch_make();
    uint64_t sum = 0;
    const char *path = scratch_write(&scratch, "file", "abc");
    assert_int_equal(os_file_with_map(path, sum_bytes, &sum, NULL), 0);
    assert_int_equal(sum, 'a' + 'b' + 'c');
}

static void an_empty_file_is_an_empty_block(void **state)
{
    (void)state;
    CLEANUP(scratch_done) struct scratch scratch = scratch_make();
    uint64_t sum = 0;
    const char *path = scratch_write(&scratch, "file", "");
    assert_int_equal(os_file_with_map(path, sum_bytes, &sum, NULL), 0);
    assert_int_equal(sum, 0);
}

static void what_the_reader_refuses_is_the_result(void **state)
{
    (void)state;
    CLEANUP(scratch_done) struct scratch scratch = scratch_make();
    struct err err = {0};
    const char *path = scratch_write(&scratch, "file", "abc");
    assert_int_equal(os_file_with_map(path, refuse, NULL, &err), ERR_FORMAT);
    assert_non_null(strstr(err.message, "not a library"));
    assert_int_equal(os_file_with_map(path, refuse, NULL, NULL), ERR_FORMAT);
    const char *missing = scratch_path(&scratch, "missing");
    assert_int_equal(os_file_with_map(missing, refuse, NULL, &err), ERR_NOT_FOUND);
    assert_int_not_equal(os_file_with_map(scratch.path, refuse, NULL, &err), ERR_FORMAT);
}

static void a_copy_has_the_content_and_age_of_the_original(void **state)
{
    (void)state;
    CLEANUP(scratch_done) struct scratch scratch = scratch_make();
    const char *from = scratch_write(&scratch, "from", "content");
    const char *to = scratch_write(&scratch, "to", "something else");
    assert_int_equal(os_file_copy(from, to, NULL), 0);
    assert_string_equal(scratch_read(&scratch, "to"), "content");
    assert_int_equal(scratch_count(&scratch, "."), 2);
    struct os_file_info original, copy;
    assert_int_equal(os_file_stat(from, &original, NULL), 0);
    assert_int_equal(os_file_stat(to, &copy, NULL), 0);
    assert_int_equal(original.modified_at_ms, copy.modified_at_ms);
    assert_int_equal(os_file_copy(scratch_path(&scratch, "missing"), to, NULL), ERR_NOT_FOUND);
    assert_string_equal(scratch_read(&scratch, "to"), "content");
}

static void renaming_replaces_and_removing_removes(void **state)
{
    (void)state;
    CLEANUP(scratch_done) struct scratch scratch = scratch_make();
    const char *from = scratch_write(&scratch, "from", "new");
    const char *to = scratch_write(&scratch, "to", "old");
    assert_int_equal(os_file_rename(from, to, NULL), 0);
    assert_string_equal(scratch_read(&scratch, "to"), "new");
    assert_int_equal(os_file_rename(from, to, NULL), ERR_NOT_FOUND);
    assert_int_equal(os_file_remove(to, NULL), 0);
    assert_int_equal(os_file_remove(to, NULL), ERR_NOT_FOUND);
    assert_int_equal(scratch_count(&scratch, "."), 0);
}

static void directories_are_made_with_their_parents(void **state)
{
    (void)state;
    CLEANUP(scratch_done) struct scratch scratch = scratch_make();
    const char *path = scratch_directory(&scratch, "a/b/c");
    assert_int_equal(os_dir_make(path, NULL), 0);
    const char *file = scratch_write(&scratch, "file", "");
    assert_int_not_equal(os_dir_make(file, NULL), 0);
    assert_int_not_equal(os_dir_make(scratch_path(&scratch, "file/below"), NULL), 0);
}

static void long_paths_and_foreign_names_work(void **state)
{
    (void)state;
    CLEANUP(scratch_done) struct scratch scratch = scratch_make();
    char name[512];
    size_t used = 0;
    while (used < 400) {
        used += (size_t)snprintf(name + used, sizeof name - used,
                                 "a directory with a long name, \xE6\xB7\xB1\xE5\xBA\xA6/");
    }
    snprintf(name + used, sizeof name - used, "cudnn64_9.dll");
    const char *path = scratch_write(&scratch, name, "x");
    char *resolved;
    assert_int_equal(os_path_resolve(&scratch.arena, NULL, path, &resolved, NULL), 0);
    assert_string_equal(resolved, path);
    uint64_t sum = 0;
    assert_int_equal(os_file_with_map(path, sum_bytes, &sum, NULL), 0);
    assert_int_equal(sum, 'x');
}

static void free_space_is_known_where_there_is_a_disk(void **state)
{
    (void)state;
    CLEANUP(scratch_done) struct scratch scratch = scratch_make();
    assert_true(os_disk_free_bytes(scratch.path) > 0);
    assert_int_equal(os_disk_free_bytes(scratch_path(&scratch, "missing/place")), 0);
}

RUN_TESTS(cmocka_unit_test(what_is_written_is_read_back),
          cmocka_unit_test(writing_replaces_the_file_and_leaves_nothing_beside_it),
          cmocka_unit_test(a_write_that_cannot_be_finished_leaves_nothing),
          cmocka_unit_test(a_file_over_the_limit_is_refused),
          cmocka_unit_test(a_directory_is_not_read_as_a_file),
          cmocka_unit_test(stat_tells_what_a_name_is),
          cmocka_unit_test(entries_are_listed_in_byte_order),
          cmocka_unit_test(a_listing_is_cut_at_its_limit),
          cmocka_unit_test(only_directories_are_listed),
          cmocka_unit_test(a_reader_sees_the_bytes_of_a_mapped_file),
          cmocka_unit_test(an_empty_file_is_an_empty_block),
          cmocka_unit_test(what_the_reader_refuses_is_the_result),
          cmocka_unit_test(a_copy_has_the_content_and_age_of_the_original),
          cmocka_unit_test(renaming_replaces_and_removing_removes),
          cmocka_unit_test(directories_are_made_with_their_parents),
          cmocka_unit_test(long_paths_and_foreign_names_work),
          cmocka_unit_test(free_space_is_known_where_there_is_a_disk))
