#include "tests/test.h"

#include <math.h>

#include "base/cleanup.h"
#include "base/json.h"

static struct json *parse(const char *text)
{
    return json_parse(text, strlen(text), NULL);
}

static void what_is_built_is_printed_in_order(void **state)
{
    (void)state;
    CLEANUP(json_done) struct json *object = json_object();
    json_set_text(object, "b", "x");
    json_set_text(object, "a", NULL);
    json_set_int(object, "n", INT64_C(9007199254740991));
    json_set_number(object, "inf", INFINITY);
    json_set_bool(object, "t", true);
    json_append_text(json_set_array(object, "list"), "1");
    char *text = json_print(object);
    assert_string_equal(text, "{\"b\":\"x\",\"a\":null,\"n\":9007199254740991,\"inf\":null,"
                              "\"t\":true,\"list\":[\"1\"]}");
    free(text);
}

static void ill_formed_text_still_gives_a_valid_document(void **state)
{
    (void)state;
    CLEANUP(json_done) struct json *object = json_object();
    json_set_text(object, "path", "C:\\\xED\xA0\x80\"\n");
    char *text = json_print(object);
    CLEANUP(json_done) struct json *back = parse(text);
    assert_non_null(back);
    free(text);
}

static void only_one_whole_document_is_accepted(void **state)
{
    (void)state;
    static const char *const bad[] = {"",           "{",    "{} {}", "{}x",      "nul",
                                      "{\"a\":1,}", "\xFF", "[1 2]", "{\"a\" 1}"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct err err = {0};
        assert_null(json_parse(bad[i], strlen(bad[i]), &err));
        assert_int_equal(err.code, ERR_FORMAT);
    }
    CLEANUP(json_done) struct json *good = parse(" {\"a\": [1, 2]} \r\n");
    assert_int_equal(json_count(json_get(good, "a")), 2);
}

static void deep_nesting_is_refused_not_a_crash(void **state)
{
    (void)state;
    char *deep = malloc(200001);
    memset(deep, '[', 200000);
    deep[200000] = '\0';
    assert_null(json_parse(deep, 200000, NULL));
    free(deep);
}

static void a_wrong_type_is_an_error_that_names_the_key(void **state)
{
    (void)state;
    CLEANUP(json_done)
    struct json *object = parse("{\"s\":\"x\",\"i\":1,\"f\":1.5,\"z\":null,\"big\":1e300}");
    const char *text;
    int64_t number;
    bool flag;
    struct err err = {0};
    assert_int_equal(json_read_text(object, "s", &text, NULL), 0);
    assert_int_equal(json_read_text(object, "i", &text, &err), ERR_FORMAT);
    assert_non_null(strstr(err.message, "'i'"));
    assert_int_equal(json_read_text_or_null(object, "z", &text, NULL), 0);
    assert_null(text);
    assert_int_equal(json_read_text_or_null(object, "i", &text, NULL), ERR_FORMAT);
    assert_int_equal(json_read_int(object, "i", &number, NULL), 0);
    assert_int_equal(json_read_int(object, "f", &number, NULL), ERR_FORMAT);
    assert_int_equal(json_read_int(object, "big", &number, NULL), ERR_FORMAT);
    assert_int_equal(json_read_int_or(object, "z", 5, &number, NULL), 0);
    assert_int_equal(number, 5);
    assert_int_equal(json_read_bool(object, "i", &flag, NULL), ERR_FORMAT);
    assert_null(json_get(object, "S")); /* keys are case-sensitive */
}

RUN_TESTS(cmocka_unit_test(what_is_built_is_printed_in_order),
          cmocka_unit_test(ill_formed_text_still_gives_a_valid_document),
          cmocka_unit_test(only_one_whole_document_is_accepted),
          cmocka_unit_test(deep_nesting_is_refused_not_a_crash),
          cmocka_unit_test(a_wrong_type_is_an_error_that_names_the_key))
