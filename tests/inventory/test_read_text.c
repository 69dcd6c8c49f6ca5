#include "inventory/read_text.h"

#include "tests/test.h"

/* From a block of exactly `size` bytes, so that a sanitizer sees a read behind it. */
static void check(const void *data, size_t size, uint64_t offset, size_t limit,
                  const char *expected)
{
    struct arena arena = {0};
    uint8_t *copy = malloc(size == 0 ? 1 : size);
    assert_non_null(copy);
    memcpy(copy, data, size);
    struct bytes bytes = {.data = copy, .size = size};
    const char *text = read_text(&arena, bytes, offset, limit);
    free(copy); /* what was read is a copy */
    if (expected == NULL) {
        assert_null(text);
    } else {
        assert_non_null(text);
        assert_string_equal(text, expected);
    }
    arena_done(&arena);
}

static void check_units(const uint16_t *units, size_t count, const char *expected)
{
    struct arena arena = {0};
    uint8_t *data = malloc(2 * count + 1);
    assert_non_null(data);
    for (size_t i = 0; i < count; i++) {
        data[1 + 2 * i] = (uint8_t)units[i]; /* at an odd place */
        data[2 + 2 * i] = (uint8_t)(units[i] >> 8);
    }
    struct bytes bytes = {.data = data, .size = 2 * count + 1};
    const char *text = read_text_utf16(&arena, bytes, 1, count);
    assert_null(read_text_utf16(&arena, bytes, 2, count)); /* one byte too many */
    assert_null(read_text_utf16(&arena, bytes, UINT64_MAX, count));
    free(data);
    if (expected == NULL) {
        assert_null(text);
    } else {
        assert_non_null(text);
        assert_string_equal(text, expected);
    }
    arena_done(&arena);
}

#define UNITS(expected, ...)                                                                       \
    check_units((const uint16_t[]){__VA_ARGS__},                                                   \
                sizeof((const uint16_t[]){__VA_ARGS__}) / sizeof(uint16_t), expected)

static void a_text_ends_at_its_nul(void **state)
{
    (void)state;
    check("abc\0def\0", 8, 0, 100, "abc");
    check("abc\0def\0", 8, 4, 100, "def");
    check("abc\0def\0", 8, 6, 100, "f");
}

static void a_text_without_a_nul_or_with_nothing_in_it_is_none(void **state)
{
    (void)state;
    check("abc", 3, 0, 100, NULL);
    check("abc\0", 4, 3, 100, NULL);
    check("abc\0", 4, 4, 100, NULL);
    check("abc\0", 4, UINT64_MAX, 100, NULL);
    check("", 0, 0, 100, NULL);
}

static void a_text_longer_than_the_limit_is_none(void **state)
{
    (void)state;
    check("abc\0", 4, 0, 3, "abc");
    check("abc\0", 4, 0, 2, NULL);
}

static void ill_formed_bytes_are_replaced(void **state)
{
    (void)state;
    check("gr\xC3\xBC\0", 5, 0, 100, "gr\xC3\xBC");
    check("gr\xFF!\0", 5, 0, 100, "gr\xEF\xBF\xBD!");
}

static void utf16_becomes_utf8(void **state)
{
    (void)state;
    UNITS("ab", 'a', 'b');
    UNITS("ab", 'a', 'b', 0, 'c');
    UNITS("\xC3\xBC\xE6\x96\x87", 0xFC, 0x6587);
    UNITS("\xC2\x80\xDF\xBF\xE0\xA0\x80\xEF\xBF\xBF", 0x80, 0x7FF, 0x800, 0xFFFF);
    UNITS("\xF0\x90\x80\x80\xF4\x8F\xBF\xBF", 0xD800, 0xDC00, 0xDBFF, 0xDFFF);
}

static void lone_surrogates_are_replaced(void **state)
{
    (void)state;
    UNITS("\xEF\xBF\xBD", 0xD83D);
    UNITS("\xEF\xBF\xBD", 0xDE42);
    UNITS("\xEF\xBF\xBD"
          "a",
          0xD83D, 'a');
    UNITS("\xEF\xBF\xBD"
          "\xEF\xBF\xBD"
          "a",
          0xDE42, 0xDE42, 'a');
    UNITS("\xEF\xBF\xBD\xF0\x9F\x99\x82", 0xD83D, 0xD83D, 0xDE42);
    UNITS("\xEF\xBF\xBD", 0xD83D, 0, 'a');
}

static void no_units_or_too_many_are_none(void **state)
{
    (void)state;
    static uint16_t units[READ_TEXT_UNITS + 1];
    char expected[READ_TEXT_UNITS * 3 + 1];
    UNITS(NULL, 0, 'a');
    for (size_t i = 0; i <= READ_TEXT_UNITS; i++) {
        units[i] = 0x6587;
    }
    for (size_t i = 0; i < READ_TEXT_UNITS; i++) {
        memcpy(expected + 3 * i, "\xE6\x96\x87", 4);
    }
    check_units(units, READ_TEXT_UNITS, expected);
    check_units(units, READ_TEXT_UNITS + 1, NULL);
    struct arena arena = {0};
    struct bytes bytes = {.data = (const uint8_t *)"a", .size = 2};
    assert_null(read_text_utf16(&arena, bytes, 0, 0));
    arena_done(&arena);
}

RUN_TESTS(cmocka_unit_test(a_text_ends_at_its_nul),
          cmocka_unit_test(a_text_without_a_nul_or_with_nothing_in_it_is_none),
          cmocka_unit_test(a_text_longer_than_the_limit_is_none),
          cmocka_unit_test(ill_formed_bytes_are_replaced), cmocka_unit_test(utf16_becomes_utf8),
          cmocka_unit_test(lone_surrogates_are_replaced),
          cmocka_unit_test(no_units_or_too_many_are_none))
