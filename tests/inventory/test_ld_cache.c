#include "inventory/ld_cache.h"

#include "os/file.h"
#include "tests/inventory/cache_bytes.h"
#include "tests/test.h"

static const struct cache_mapping usual[] = {
    {"libz.so.1", "/lib/x86_64-linux-gnu/libz.so.1"},
    {"libcudnn_ops.so.9", "/usr/local/cuda/lib64/libcudnn_ops.so.9"},
    {"libcudnn.so.9", "/usr/local/cuda/lib64/libcudnn.so.9"},
    {"libcudnn.so.9", "/opt/cudnn/lib/libcudnn.so.9"},
    {"libc.so.6", "/lib/x86_64-linux-gnu/libc.so.6"},
};
enum { USUAL = sizeof usual / sizeof *usual };

static struct bytes bytes_of(const struct cache_bytes *cache)
{
    return (struct bytes){.data = cache->data, .size = cache->size};
}

static void check_usual(struct arena *arena, struct bytes bytes)
{
    struct ld_cache cache;
    assert_int_equal(ld_cache_parse(arena, bytes, &cache, NULL), 0);
    assert_int_equal(cache.directory_count, 3);
    assert_string_equal(cache.directories[0], "/lib/x86_64-linux-gnu");
    assert_string_equal(cache.directories[1], "/usr/local/cuda/lib64");
    assert_string_equal(cache.directories[2], "/opt/cudnn/lib");
    assert_int_equal(cache.cudnn_count, 3);
    assert_string_equal(cache.cudnn[0].name, "libcudnn_ops.so.9");
    assert_string_equal(cache.cudnn[1].path, "/usr/local/cuda/lib64/libcudnn.so.9");
    assert_string_equal(cache.cudnn[2].path, "/opt/cudnn/lib/libcudnn.so.9");
}

static void the_new_format_gives_directories_and_cudnn_names(void **state)
{
    (void)state;
    struct arena arena = {0};
    struct cache_bytes cache = {0};
    cache_add_new(&cache, usual, USUAL);
    check_usual(&arena, bytes_of(&cache));
    arena_done(&arena);
}

static void the_old_format_gives_the_same(void **state)
{
    (void)state;
    struct arena arena = {0};
    struct cache_bytes cache = {0};
    cache_add_old(&cache, usual, USUAL);
    cache_put_texts(&cache, usual, USUAL);
    check_usual(&arena, bytes_of(&cache));
    arena_done(&arena);
}

static void a_new_cache_behind_an_old_one_is_the_one_that_counts(void **state)
{
    (void)state;
    static const struct cache_mapping stale[] = {{"libcudnn.so.8", "/gone/libcudnn.so.8"}};
    struct arena arena = {0};
    struct cache_bytes cache = {0};
    cache_add_old(&cache, stale, 1);
    cache_align(&cache);
    cache_add_new(&cache, usual, USUAL);
    check_usual(&arena, bytes_of(&cache));
    arena_done(&arena);
}

static void no_entries_are_no_error(void **state)
{
    (void)state;
    struct arena arena = {0};
    struct cache_bytes cache = {0};
    struct ld_cache parsed;
    cache_add_new(&cache, NULL, 0);
    assert_int_equal(ld_cache_parse(&arena, bytes_of(&cache), &parsed, NULL), 0);
    assert_int_equal(parsed.directory_count, 0);
    arena_done(&arena);
}

static void every_truncation_is_an_error(void **state)
{
    (void)state;
    struct arena arena = {0};
    struct cache_bytes cache = {0};
    cache_add_new(&cache, usual, USUAL);
    for (size_t size = 0; size < cache.size; size++) {
        /* in a block of its own, so that a sanitizer sees a read behind it */
        uint8_t *copy = malloc(size == 0 ? 1 : size);
        memcpy(copy, cache.data, size);
        struct ld_cache parsed;
        struct err err = {0};
        struct bytes bytes = {.data = copy, .size = size};
        assert_int_equal(ld_cache_parse(&arena, bytes, &parsed, &err), ERR_FORMAT);
        assert_true(err.message[0] != '\0');
        free(copy);
    }
    arena_done(&arena);
}

static void foreign_byte_order_and_counts_beyond_the_file_are_errors(void **state)
{
    (void)state;
    struct arena arena = {0};
    struct cache_bytes cache = {0};
    struct ld_cache parsed;
    cache_add_new(&cache, usual, USUAL);
    cache.data[28] = 3;
    assert_int_equal(ld_cache_parse(&arena, bytes_of(&cache), &parsed, NULL), ERR_FORMAT);
    cache.data[28] = 2;
    memset(cache.data + 20, 0xff, 4);
    assert_int_equal(ld_cache_parse(&arena, bytes_of(&cache), &parsed, NULL), ERR_FORMAT);
    arena_done(&arena);
}

static void texts_outside_the_file_are_an_error(void **state)
{
    (void)state;
    struct arena arena = {0};
    struct cache_bytes cache = {0};
    struct ld_cache parsed;
    cache_add_new(&cache, usual, USUAL);
    memset(cache.data + 48 + 8, 0xff, 4); /* the first entry's path */
    assert_int_equal(ld_cache_parse(&arena, bytes_of(&cache), &parsed, NULL), ERR_FORMAT);
    arena_done(&arena);
}

static void a_path_that_names_no_directory_is_left_out(void **state)
{
    (void)state;
    static const struct cache_mapping odd[] = {
        {"libcudnn.so.9", "libcudnn.so.9"}, {"libcudnn.so.9", "/libcudnn.so.9"}, {"", ""}};
    struct arena arena = {0};
    struct cache_bytes cache = {0};
    struct ld_cache parsed;
    cache_add_new(&cache, odd, 3);
    assert_int_equal(ld_cache_parse(&arena, bytes_of(&cache), &parsed, NULL), 0);
    assert_int_equal(parsed.directory_count, 1);
    assert_string_equal(parsed.directories[0], "/");
    assert_int_equal(parsed.cudnn_count, 1);
    arena_done(&arena);
}

static void too_many_directories_are_an_error(void **state)
{
    (void)state;
    enum { COUNT = LD_CACHE_DIRECTORIES_LIMIT + 1 };
    struct arena arena = {0};
    size_t texts = 48 + 24 * (size_t)COUNT, size = texts + COUNT * (size_t)8;
    uint8_t *data = arena_alloc(&arena, size);
    memcpy(data, "glibc-ld.so.cache1.1", 20);
    data[20] = COUNT & 0xff;
    data[21] = COUNT >> 8;
    for (size_t i = 0; i < COUNT; i++) {
        size_t at = texts + 8 * i;
        snprintf((char *)data + at, 8, "/%04zx/x", i);
        for (size_t k = 0; k < 4; k++) {
            data[48 + 24 * i + 4 + k] = data[48 + 24 * i + 8 + k] = (uint8_t)(at >> (8 * k));
        }
    }
    struct ld_cache parsed;
    struct bytes bytes = {.data = data, .size = size};
    assert_int_equal(ld_cache_parse(&arena, bytes, &parsed, NULL), ERR_LIMIT);
    arena_done(&arena);
}

static void the_machines_own_cache_is_understood(void **state)
{
    (void)state;
    struct arena arena = {0};
    struct ld_cache parsed;
    char *text;
    size_t size;
    if (os_file_read(&arena, "/etc/ld.so.cache", 16 * 1024 * 1024, &text, &size, NULL) != 0) {
        arena_done(&arena);
        skip();
    }
    struct bytes bytes = {.data = (const uint8_t *)text, .size = size};
    assert_int_equal(ld_cache_parse(&arena, bytes, &parsed, NULL), 0);
    assert_true(parsed.directory_count > 0);
    arena_done(&arena);
}

RUN_TESTS(cmocka_unit_test(the_new_format_gives_directories_and_cudnn_names),
          cmocka_unit_test(the_old_format_gives_the_same),
          cmocka_unit_test(a_new_cache_behind_an_old_one_is_the_one_that_counts),
          cmocka_unit_test(no_entries_are_no_error), cmocka_unit_test(every_truncation_is_an_error),
          cmocka_unit_test(foreign_byte_order_and_counts_beyond_the_file_are_errors),
          cmocka_unit_test(texts_outside_the_file_are_an_error),
          cmocka_unit_test(a_path_that_names_no_directory_is_left_out),
          cmocka_unit_test(too_many_directories_are_an_error),
          cmocka_unit_test(the_machines_own_cache_is_understood))
