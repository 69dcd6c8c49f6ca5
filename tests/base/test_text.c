#include "tests/test.h"

#include "base/arena.h"
#include "base/text.h"

static void copying_never_cuts_a_character_in_half(void **state)
{
    (void)state;
    char small[5];
    assert_false(text_copy(small, sizeof small, "abc\xC3\xA9")); /* abcé needs 6 */
    assert_string_equal(small, "abc");
    assert_true(text_copy(small, sizeof small, "ab\xC3\xA9"));
    assert_string_equal(small, "ab\xC3\xA9");
    assert_false(text_copy(small, sizeof small, "\xF0\x9F\x98\x80x"));
    assert_string_equal(small, "\xF0\x9F\x98\x80");
    char one[1];
    assert_false(text_copy(one, 1, "x"));
    assert_string_equal(one, "");
}

static void numbers_are_strict_and_bounded(void **state)
{
    (void)state;
    uint64_t value = 7;
    assert_true(text_to_u64("0", 10, &value) && value == 0);
    assert_true(text_to_u64("18446744073709551615", UINT64_MAX, &value) && value == UINT64_MAX);
    assert_false(text_to_u64("18446744073709551616", UINT64_MAX, &value));
    assert_false(text_to_u64("11", 10, &value));
    assert_false(text_to_u64("", 10, &value));
    assert_false(text_to_u64("-1", 10, &value));
    assert_false(text_to_u64(" 1", 10, &value));
    assert_false(text_to_u64("1 ", 10, &value));
    assert_false(text_to_u64("0x1", 10, &value));
}

static void ill_formed_utf8_is_recognised(void **state)
{
    (void)state;
    static const char *const good[] = {
        "", "a", "\xC3\xA9", "\xE6\xB5\x8B", "\xF0\x9F\x98\x80", "\xEF\xBF\xBD"};
    static const char *const bad[] = {
        "\x80", "\xC3",     "\xC0\x80",     "\xED\xA0\x80",    "\xF4\x90\x80\x80",
        "\xFF", "\xE6\xB5", "\xE0\x80\x80", "\xF0\x80\x80\x80"};
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        assert_true(text_utf8_valid(good[i], strlen(good[i])));
    }
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        assert_false(text_utf8_valid(bad[i], strlen(bad[i])));
    }
}

static void a_lone_surrogate_becomes_a_replacement_character(void **state)
{
    (void)state;
    struct arena arena = {0};
    const char *clean = text_utf8_clean(&arena, "a\xED\xA0\x80z");
    assert_string_equal(clean, "a\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBDz");
    assert_true(text_utf8_valid(clean, strlen(clean)));
    const char *same = "caf\xC3\xA9";
    assert_ptr_equal(text_utf8_clean(&arena, same), same);
    arena_done(&arena);
}

static void case_is_ignored_for_ascii_only(void **state)
{
    (void)state;
    assert_true(text_equal_nocase("CUDNN64_9.DLL", "cudnn64_9.dll"));
    assert_false(text_equal_nocase("\xC3\x84", "\xC3\xA4"));
    assert_true(text_has_suffix_nocase("x.DLL", ".dll"));
    assert_false(text_has_suffix_nocase("dll", ".dll"));
    assert_true(text_has_prefix("abc", "ab"));
    assert_false(text_has_prefix("a", "ab"));
    assert_true(text_equal(NULL, NULL));
    assert_false(text_equal(NULL, ""));
}

static void distance_counts_edits(void **state)
{
    (void)state;
    assert_int_equal(text_distance("", ""), 0);
    assert_int_equal(text_distance("intervall", "interval"), 1);
    assert_int_equal(text_distance("kitten", "sitting"), 3);
}

static void stripping_takes_blanks_at_both_ends(void **state)
{
    (void)state;
    char text[] = " \t a b \r\n";
    assert_string_equal(text_strip(text), "a b");
    char blank[] = "  ";
    assert_string_equal(text_strip(blank), "");
}

RUN_TESTS(cmocka_unit_test(copying_never_cuts_a_character_in_half),
          cmocka_unit_test(numbers_are_strict_and_bounded),
          cmocka_unit_test(ill_formed_utf8_is_recognised),
          cmocka_unit_test(a_lone_surrogate_becomes_a_replacement_character),
          cmocka_unit_test(case_is_ignored_for_ascii_only), cmocka_unit_test(distance_counts_edits),
          cmocka_unit_test(stripping_takes_blanks_at_both_ends))
