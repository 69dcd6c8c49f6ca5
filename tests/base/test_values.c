/* Errors, arenas, buffers, bytes, versions, times, hashes. */
#include "tests/test.h"

#include "base/arena.h"
#include "base/buf.h"
#include "base/bytes.h"
#include "base/clock_text.h"
#include "base/err.h"
#include "base/hash.h"
#include "base/text.h"
#include "base/version.h"

static void context_goes_in_front_and_the_reason_survives(void **state)
{
    (void)state;
    struct err err = {0};
    assert_int_equal(err_set(&err, ERR_FORMAT, "bad magic %d", 7), ERR_FORMAT);
    assert_int_equal(err_context(&err, "cannot read '%s'", "x.dll"), ERR_FORMAT);
    assert_string_equal(err.message, "cannot read 'x.dll': bad magic 7");
    char longer[2000];
    memset(longer, 'p', sizeof longer - 1);
    longer[sizeof longer - 1] = '\0';
    err_context(&err, "%s", longer);
    assert_true(strlen(err.message) < sizeof err.message);
    assert_true(text_has_suffix(err.message, ": cannot read 'x.dll': bad magic 7"));
    assert_int_equal(err_set(NULL, ERR_IO, "nobody listens"), ERR_IO);
}

static void an_error_longer_than_its_buffer_is_cut_between_characters(void **state)
{
    (void)state;
    struct err err;
    char longer[1200] = "";
    for (size_t i = 0; i + 4 < sizeof longer; i += 3) {
        memcpy(longer + i, "\xE6\xB5\x8B", 4);
    }
    err_set(&err, ERR_IO, "%s", longer);
    assert_true(text_has_suffix(err.message, "..."));
    assert_true(text_utf8_valid(err.message, strlen(err.message)));
}

static void every_code_has_a_name_of_its_own(void **state)
{
    (void)state;
    assert_string_equal(err_name(0), "ok");
    assert_string_equal(err_name(ERR_CANCELLED), "cancelled");
    assert_string_equal(err_name(-9999), "unknown");
}

static void an_arena_gives_zeroed_aligned_memory_of_any_size(void **state)
{
    (void)state;
    struct arena arena = {0};
    for (size_t size = 0; size < 300000; size = size * 3 + 1) {
        unsigned char *memory = arena_alloc(&arena, size);
        assert_int_equal((uintptr_t)memory % 16, 0);
        for (size_t i = 0; i < size; i++) {
            assert_int_equal(memory[i], 0);
        }
        memset(memory, 0xAA, size);
    }
    assert_null(arena_strdup(&arena, NULL));
    assert_string_equal(arena_printf(&arena, "%s-%d", "a", 5), "a-5");
    arena_done(&arena);
    assert_string_equal(arena_strdup(&arena, "again"), "again");
    arena_done(&arena);
}

static void an_array_in_an_arena_keeps_its_elements(void **state)
{
    (void)state;
    struct arena arena = {0};
    int *items = NULL;
    size_t count = 0, capacity = 0;
    for (int i = 0; i < 1000; i++) {
        *(int *)arena_push(&arena, &items, &count, &capacity, sizeof *items) = i;
    }
    assert_int_equal(count, 1000);
    for (int i = 0; i < 1000; i++) {
        assert_int_equal(items[i], i);
    }
    arena_done(&arena);
}

static void a_buffer_stops_at_its_ceiling_and_keeps_what_was_there(void **state)
{
    (void)state;
    struct buf buf;
    struct err err;
    buf_init(&buf, 10);
    assert_int_equal(buf_add_text(&buf, "12345678", &err), 0);
    assert_int_equal(buf_printf(&buf, &err, "%d", 901), ERR_LIMIT);
    assert_string_equal(buf.data, "12345678");
    assert_int_equal(buf_printf(&buf, &err, "%d", 90), 0);
    assert_int_equal(buf_add(&buf, "x", 1, &err), ERR_LIMIT);
    assert_string_equal(buf.data, "1234567890");
    char *taken = buf_take(&buf);
    assert_string_equal(taken, "1234567890");
    free(taken);
    assert_int_equal(buf.size, 0);
    buf_done(&buf);
}

static void bytes_are_never_read_outside(void **state)
{
    (void)state;
    const uint8_t data[] = {1, 2, 3, 4, 'a', 'b', 0, 'c'};
    struct bytes bytes = {data, sizeof data};
    uint32_t u32 = 0;
    uint64_t u64 = 0;
    assert_true(bytes_u32(bytes, 0, &u32) && u32 == 0x04030201);
    assert_false(bytes_u32(bytes, 5, &u32));
    assert_false(bytes_u32(bytes, UINT64_MAX, &u32));
    assert_true(bytes_u64(bytes, 0, &u64));
    assert_false(bytes_u64(bytes, 1, &u64));
    assert_false(bytes_has(bytes, 4, UINT64_MAX));
    const char *text;
    assert_true(bytes_text(bytes, 4, 10, &text));
    assert_string_equal(text, "ab");
    assert_false(bytes_text(bytes, 4, 1, &text));  /* longer than the limit */
    assert_false(bytes_text(bytes, 7, 10, &text)); /* no NUL before the end */
    assert_false(bytes_text(bytes, 8, 10, &text));
    uint64_t at = 0;
    assert_true(bytes_find(bytes, 0, "ab", 2, &at) && at == 4);
    assert_false(bytes_find(bytes, 5, "ab", 2, &at));
    assert_false(bytes_find(bytes, 0, "abcdefghij", 10, &at));
    assert_true(bytes_find(bytes, 0, "c", 1, &at) && at == 7);
}

static void cudnn_numbers_decode_by_generation(void **state)
{
    (void)state;
    char text[VERSION_TEXT_SIZE];
    static const struct {
        uint64_t number;
        const char *text;
    } known[] = {{90500, "9.5.0"}, {92801, "9.28.1"}, {8907, "8.9.7"},
                 {8500, "8.5.0"},  {7605, "7.6.5"},   {90100, "9.1.0"}};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        assert_string_equal(version_text(version_from_cudnn(known[i].number), 3, text),
                            known[i].text);
    }
    assert_string_equal(version_text(version_from_cuda(12060), 2, text), "12.6");
    assert_string_equal(version_text(version_from_cuda(13050), 2, text), "13.5");
    assert_false(version_known(version_from_cudnn(0)));
}

static void version_texts_are_read_as_far_as_they_are_numbers(void **state)
{
    (void)state;
    struct version version;
    char text[VERSION_TEXT_SIZE];
    assert_true(version_parse("9.5.0.50", &version));
    assert_int_equal(version.count, 4);
    assert_int_equal(version.part[3], 50);
    assert_true(version_parse("2.4.1+cu124", &version));
    assert_string_equal(version_text(version, 3, text), "2.4.1");
    assert_int_equal(version.count, 3);
    assert_true(version_parse("12", &version));
    assert_string_equal(version_text(version, 2, text), "12.0");
    assert_false(version_parse("v9", &version));
    assert_false(version_parse("", &version));
    assert_false(version_parse("99999999999.1", &version));
    struct version a, b;
    version_parse("560.35.03", &a);
    version_parse("560.35.3", &b);
    assert_int_equal(version_compare(a, b, 4), 0);
    version_parse("9.10.2", &a);
    version_parse("9.9.9", &b);
    assert_true(version_compare(a, b, 3) > 0);
}

static void times_go_there_and_back(void **state)
{
    (void)state;
    char text[CLOCK_TEXT_SIZE];
    int64_t ms;
    clock_text_format(0, text);
    assert_string_equal(text, "1970-01-01T00:00:00Z");
    clock_text_format(INT64_C(1709210096789), text);
    assert_string_equal(text, "2024-02-29T12:34:56.789Z");
    clock_text_format(-1, text);
    assert_string_equal(text, "1969-12-31T23:59:59.999Z");
    clock_text_format(INT64_MAX, text);
    assert_string_equal(text, "9999-12-31T23:59:59.999Z");
    for (int64_t at = -62167219200000; at < INT64_C(253402300800000); at += INT64_C(86399999999)) {
        clock_text_format(at, text);
        assert_true(clock_text_parse(text, &ms));
        assert_true(ms == at);
    }
    assert_true(clock_text_parse("2024-02-29T14:34:56.789+02:00", &ms));
    assert_true(ms == INT64_C(1709210096789));
    static const char *const wrong[] = {"2023-02-29T00:00:00Z",
                                        "2024-13-01T00:00:00Z",
                                        "2024-01-01 00:00:00Z",
                                        "2024-01-01T00:00:00",
                                        "2024-01-01T24:00:00Z",
                                        "2024-01-01T00:00:00Zx",
                                        "2024-01-01T00:00:00.Z",
                                        "",
                                        "2024"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        assert_false(clock_text_parse(wrong[i], &ms));
    }
}

static void hashes_are_those_of_fnv1a(void **state)
{
    (void)state;
    assert_true(hash_bytes(HASH_START, "", 0) == UINT64_C(0xcbf29ce484222325));
    assert_true(hash_bytes(HASH_START, "a", 1) == UINT64_C(0xaf63dc4c8601ec8c));
    assert_true(hash_bytes(HASH_START, "foobar", 6) == UINT64_C(0x85944171f73967e8));
    /* The final NUL keeps ("ab", "c") and ("a", "bc") apart. */
    assert_true(hash_text(hash_text(HASH_START, "ab"), "c") !=
                hash_text(hash_text(HASH_START, "a"), "bc"));
}

static void http_times_have_the_right_day_of_the_week(void **state)
{
    (void)state;
    static const struct {
        int64_t unix_ms;
        const char *text;
    } times[] = {
        {0, "Thu, 01 Jan 1970 00:00:00 GMT"},
        {-1, "Wed, 31 Dec 1969 23:59:59 GMT"},
        {INT64_C(784111777000), "Sun, 06 Nov 1994 08:49:37 GMT"}, /* RFC 9110's own example */
        {INT64_C(1769860800999), "Sat, 31 Jan 2026 12:00:00 GMT"},
        {INT64_C(1709208000000), "Thu, 29 Feb 2024 12:00:00 GMT"},
    };
    for (size_t i = 0; i < sizeof times / sizeof *times; i++) {
        char text[CLOCK_TEXT_SIZE];
        clock_text_format_http(times[i].unix_ms, text);
        assert_string_equal(text, times[i].text);
    }
}

RUN_TESTS(cmocka_unit_test(http_times_have_the_right_day_of_the_week),
          cmocka_unit_test(context_goes_in_front_and_the_reason_survives),
          cmocka_unit_test(an_error_longer_than_its_buffer_is_cut_between_characters),
          cmocka_unit_test(every_code_has_a_name_of_its_own),
          cmocka_unit_test(an_arena_gives_zeroed_aligned_memory_of_any_size),
          cmocka_unit_test(an_array_in_an_arena_keeps_its_elements),
          cmocka_unit_test(a_buffer_stops_at_its_ceiling_and_keeps_what_was_there),
          cmocka_unit_test(bytes_are_never_read_outside),
          cmocka_unit_test(cudnn_numbers_decode_by_generation),
          cmocka_unit_test(version_texts_are_read_as_far_as_they_are_numbers),
          cmocka_unit_test(times_go_there_and_back), cmocka_unit_test(hashes_are_those_of_fnv1a))
