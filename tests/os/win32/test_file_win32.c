#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "os/clock.h"
#include "os/file.h"
#include "os/lock.h"
#include "os/path.h"
#include "os/win32/map_guard.h"
#include "os/win32/wide.h"

struct place {
    struct arena arena;
    char *directory;
};

static int setup(void **state)
{
    static struct place place;
    wchar_t base[512];
    DWORD length = GetTempPathW(512, base);
    const char *text = wide_to_text_n(&place.arena, base, length);
    place.directory =
        arena_printf(&place.arena, "%scudnnd-test-%lu", text, (unsigned long)GetCurrentProcessId());
    *state = &place;
    return os_dir_make(place.directory, NULL);
}

static int remove_tree(struct arena *arena, const char *path)
{
    struct os_dir_list list = {0};
    if (os_dir_read(arena, path, 1000, &list, NULL) == 0) {
        for (size_t i = 0; i < list.count; i++) {
            char *inner = os_path_join(arena, path, list.entries[i].name);
            if (list.entries[i].type == OS_FILE_DIRECTORY) {
                remove_tree(arena, inner);
            } else {
                os_file_remove(inner, NULL);
            }
        }
    }
    return RemoveDirectoryW(wide_path(arena, path, NULL)) ? 0 : -1;
}

static int teardown(void **state)
{
    struct place *place = *state;
    int code = remove_tree(&place->arena, place->directory);
    arena_done(&place->arena);
    return code;
}

static char *inside(struct place *place, const char *name)
{
    return os_path_join(&place->arena, place->directory, name);
}

static void a_written_file_is_read_back(void **state)
{
    struct place *place = *state;
    const char *path = inside(place, "\xE6\xB7\xB1\xE5\xBA\xA6.txt");
    char *data = NULL;
    size_t size = 0;
    struct err err = {0};
    assert_int_equal(os_file_write(path, "old", 3, false, &err), 0);
    assert_int_equal(os_file_write(path, "new\n", 4, true, &err), 0);
    assert_int_equal(os_file_read(&place->arena, path, 4, &data, &size, &err), 0);
    assert_int_equal(size, 4);
    assert_string_equal(data, "new\n");
    assert_int_equal(os_file_read(&place->arena, path, 3, &data, &size, &err), ERR_LIMIT);
    struct os_file_info info;
    assert_int_equal(os_file_stat(path, &info, &err), 0);
    assert_int_equal(info.type, OS_FILE_REGULAR);
    assert_int_equal(info.size_bytes, 4);
    assert_true(info.modified_at_ms > os_clock_wall_ms() - 60000);
    struct os_dir_list list;
    assert_int_equal(os_dir_read(&place->arena, place->directory, 10, &list, &err), 0);
    assert_int_equal(list.count, 1); /* no temporary file is left */
    assert_int_equal(os_file_remove(path, &err), 0);
    assert_int_equal(os_file_stat(path, &info, &err), ERR_NOT_FOUND);
}

static void very_long_paths_work(void **state)
{
    struct place *place = *state;
    char *path = inside(place, "long");
    struct err err = {0};
    for (int i = 0; i < 12; i++) {
        path = os_path_join(&place->arena, path, "abcdefghijklmnopqrstuvwxyz0123456789");
    }
    assert_true(strlen(path) > 400);
    assert_int_equal(os_dir_make(path, &err), 0);
    assert_int_equal(os_dir_make(path, &err), 0);
    const char *file = os_path_join(&place->arena, path, "file");
    assert_int_equal(os_file_write(file, "x", 1, false, &err), 0);
    char *resolved = NULL;
    assert_int_equal(os_path_resolve(&place->arena, NULL, file, &resolved, &err), 0);
    assert_true(strlen(resolved) > 400);
    assert_true(os_disk_free_bytes(file) > 0);
}

static void directories_are_listed_in_order_and_cut(void **state)
{
    struct place *place = *state;
    const char *path = inside(place, "list");
    struct err err = {0};
    assert_int_equal(os_dir_make(inside(place, "list\\d"), &err), 0);
    assert_int_equal(os_file_write(inside(place, "list\\b"), "", 0, false, &err), 0);
    assert_int_equal(os_file_write(inside(place, "list\\C"), "", 0, false, &err), 0);
    struct os_dir_list list;
    assert_int_equal(os_dir_read(&place->arena, path, 10, &list, &err), 0);
    assert_int_equal(list.count, 3);
    assert_false(list.cut);
    assert_string_equal(list.entries[0].name, "C");
    assert_string_equal(list.entries[1].name, "b");
    assert_string_equal(list.entries[2].name, "d");
    assert_int_equal(list.entries[2].type, OS_FILE_DIRECTORY);
    assert_int_equal(os_dir_read(&place->arena, path, 2, &list, &err), 0);
    assert_int_equal(list.count, 2);
    assert_true(list.cut);
    assert_int_equal(os_dir_read(&place->arena, inside(place, "none"), 2, &list, &err),
                     ERR_NOT_FOUND);
    assert_int_not_equal(os_dir_read(&place->arena, inside(place, "list\\b"), 2, &list, &err), 0);
}

static void devices_and_directories_are_not_read(void **state)
{
    struct place *place = *state;
    struct err err = {0};
    char *data = NULL;
    size_t size = 0;
    struct os_file_info info;
    assert_int_equal(os_file_read(&place->arena, place->directory, 10, &data, &size, &err),
                     ERR_UNSUPPORTED);
    assert_int_equal(os_file_stat("NUL", &info, &err), ERR_NOT_FOUND);
    assert_int_equal(os_file_stat(inside(place, "con"), &info, &err), ERR_NOT_FOUND);
    assert_int_equal(os_file_stat("\\\\.\\pipe\\x", &info, &err), ERR_UNSUPPORTED);
    assert_int_equal(os_file_stat("C:\\", &info, &err), 0);
    assert_int_equal(info.type, OS_FILE_DIRECTORY);
}

static void copies_and_renames_replace(void **state)
{
    struct place *place = *state;
    const char *a = inside(place, "a"), *b = inside(place, "b");
    struct err err = {0};
    char *data = NULL;
    size_t size = 0;
    assert_int_equal(os_file_write(a, "from", 4, false, &err), 0);
    assert_int_equal(os_file_write(b, "to", 2, false, &err), 0);
    assert_int_equal(os_file_copy(a, b, &err), 0);
    assert_int_equal(os_file_read(&place->arena, b, 10, &data, &size, &err), 0);
    assert_string_equal(data, "from");
    assert_int_equal(os_file_rename(b, a, &err), 0);
    assert_int_equal(os_file_read(&place->arena, b, 10, &data, &size, &err), ERR_NOT_FOUND);
    assert_int_equal(os_file_copy(inside(place, "none"), b, &err), ERR_NOT_FOUND);
}

static int sum(struct bytes bytes, const struct os_file_info *info, void *context, struct err *err)
{
    uint64_t *total = context;
    (void)err;
    assert_int_equal(info->size_bytes, bytes.size);
    for (uint64_t i = 0; i < bytes.size; i++) {
        *total += bytes.data[i];
    }
    return 0;
}

static int answer(struct bytes bytes, const struct os_file_info *info, void *context,
                  struct err *err)
{
    (void)bytes;
    (void)info;
    (void)context;
    return err_set(err, ERR_FORMAT, "no");
}

static void a_mapped_file_is_read(void **state)
{
    struct place *place = *state;
    const char *path = inside(place, "map");
    struct err err = {0};
    uint64_t total = 0;
    assert_int_equal(os_file_write(path, "abc", 3, false, &err), 0);
    assert_int_equal(os_file_with_map(path, sum, &total, &err), 0);
    assert_int_equal(total, 'a' + 'b' + 'c');
    assert_int_equal(os_file_with_map(path, answer, NULL, &err), ERR_FORMAT);
    assert_int_equal(os_file_write(path, "", 0, false, &err), 0);
    assert_int_equal(os_file_with_map(path, sum, &total, &err), 0);
    assert_int_equal(os_file_with_map(place->directory, sum, &total, &err), ERR_UNSUPPORTED);
    assert_int_equal(os_file_with_map("none", sum, &total, &err), ERR_NOT_FOUND);
}

struct nested {
    struct bytes broken;
    bool inner_failed;
};

static int read_bytes(struct bytes bytes, const struct os_file_info *info, void *context,
                      struct err *err)
{
    volatile uint8_t last = 0;
    (void)info;
    (void)context;
    (void)err;
    for (uint64_t i = 0; i < bytes.size; i += 512) {
        last = bytes.data[i];
    }
    return last == 255 ? 1 : 0;
}

static int read_nested(struct bytes bytes, const struct os_file_info *info, void *context,
                       struct err *err)
{
    struct nested *nested = context;
    struct map_guard_call call = {read_bytes, nested->broken, info, NULL, err, 0};
    nested->inner_failed = !map_guard_run(&call);
    return read_bytes(bytes, info, NULL, err);
}

/* Stands for a file whose disk fails: reading a page without access raises the same kind of
   exception inside the view. */
static void an_unreadable_page_ends_the_reader_and_nothing_else(void **state)
{
    (void)state;
    const size_t size = 65536;
    uint8_t *memory = VirtualAlloc(NULL, size, MEM_RESERVE | MEM_COMMIT, PAGE_READWRITE);
    DWORD old = 0;
    assert_non_null(memory);
    assert_true(VirtualProtect(memory + size / 2, size / 2, PAGE_NOACCESS, &old));
    for (int i = 0; i < 100; i++) {
        struct map_guard_call call = {read_bytes, {memory, size}, NULL, NULL, NULL, 0};
        assert_false(map_guard_run(&call));
        call.view.size = size / 2;
        assert_true(map_guard_run(&call));
        struct nested nested = {.broken = {memory, size}};
        call = (struct map_guard_call){read_nested, {memory, size / 2}, NULL, &nested, NULL, 0};
        assert_true(map_guard_run(&call));
        assert_true(nested.inner_failed);
        call.view.size = size;
        assert_false(map_guard_run(&call));
    }
    VirtualFree(memory, 0, MEM_RELEASE);
}

static void a_lock_is_held_once(void **state)
{
    struct place *place = *state;
    const char *path = inside(place, "lock");
    struct os_lock *lock = NULL, *second = NULL;
    struct err err = {0};
    assert_int_equal(os_lock_take(path, &lock, &err), 0);
    assert_int_equal(os_lock_take(path, &second, &err), ERR_BUSY);
    os_lock_release(lock);
    assert_int_equal(os_lock_take(path, &second, &err), 0);
    os_lock_release(second);
    os_lock_release(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_written_file_is_read_back),
        cmocka_unit_test(very_long_paths_work),
        cmocka_unit_test(directories_are_listed_in_order_and_cut),
        cmocka_unit_test(devices_and_directories_are_not_read),
        cmocka_unit_test(copies_and_renames_replace),
        cmocka_unit_test(a_mapped_file_is_read),
        cmocka_unit_test(an_unreadable_page_ends_the_reader_and_nothing_else),
        cmocka_unit_test(a_lock_is_held_once),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
