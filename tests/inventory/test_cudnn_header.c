#include "inventory/identify.h"

#include "tests/test.h"

/* In a block of exactly its size, so that a sanitizer sees a read behind it. */
static bool read_header(const char *text, struct version *out_version)
{
    size_t size = strlen(text);
    char *copy = malloc(size == 0 ? 1 : size);
    assert_non_null(copy);
    memcpy(copy, text, size);
    bool done = identify_header(copy, size, out_version);
    free(copy);
    return done;
}

static void check(const char *text, const char *expected)
{
    struct version version = {0};
    char said[VERSION_TEXT_SIZE];
    assert_true(read_header(text, &version));
    assert_int_equal(version.count, 3);
    assert_string_equal(version_text(version, 3, said), expected);
}

static void check_none(const char *text)
{
    struct version version = {.part = {1, 2, 3, 4}, .count = 4};
    assert_false(read_header(text, &version));
    assert_int_equal(version.count, 4); /* written only on success */
}

/* As in NVIDIA's cudnn_version.h of 9.5. */
static const char version_9[] = "/**\n"
                                " * \\file: The master cuDNN version file.\n"
                                " */\n"
                                "\n"
                                "#ifndef CUDNN_VERSION_H_\n"
                                "#define CUDNN_VERSION_H_\n"
                                "\n"
                                "#define CUDNN_MAJOR 9\n"
                                "#define CUDNN_MINOR 5\n"
                                "#define CUDNN_PATCHLEVEL 0\n"
                                "\n"
                                "#define CUDNN_VERSION (CUDNN_MAJOR * 10000 + CUDNN_MINOR * 100 "
                                "+ CUDNN_PATCHLEVEL)\n"
                                "\n"
                                "/* cannot use constexpr here since this is a C-only file */\n"
                                "/* Below is the max SM version this cuDNN library is aware of */\n"
                                "#define CUDNN_MAX_SM_MAJOR_NUMBER 9\n"
                                "#define CUDNN_MAX_SM_MINOR_NUMBER 0\n"
                                "#endif /* CUDNN_VERSION_H_ */\n";

static void version_9_is_read_from_cudnn_version_h(void **state)
{
    (void)state;
    check(version_9, "9.5.0");
}

static void version_8_is_read_from_cudnn_version_h(void **state)
{
    (void)state;
    check("#define CUDNN_MAJOR 8\n#define CUDNN_MINOR 9\n#define CUDNN_PATCHLEVEL 7\n\n"
          "#define CUDNN_VERSION (CUDNN_MAJOR * 1000 + CUDNN_MINOR * 100 + CUDNN_PATCHLEVEL)\n",
          "8.9.7");
}

static void version_7_is_read_from_cudnn_h(void **state)
{
    (void)state;
    check("#if !defined(CUDNN_H_)\n#define CUDNN_H_\n\n#define CUDNN_MAJOR 7\n"
          "#define CUDNN_MINOR 6\n#define CUDNN_PATCHLEVEL 5\n\n"
          "#define CUDNN_VERSION (CUDNN_MAJOR * 1000 + CUDNN_MINOR * 100 + CUDNN_PATCHLEVEL)\n\n"
          "#include \"driver_types.h\"\n#include <cuda_runtime.h>\n",
          "7.6.5");
}

static void lines_may_end_in_crlf(void **state)
{
    (void)state;
    check("#define CUDNN_MAJOR 9\r\n#define CUDNN_MINOR 28 \r\n#define CUDNN_PATCHLEVEL 1\r\n",
          "9.28.1");
}

static void the_last_line_needs_no_end(void **state)
{
    (void)state;
    check("#define CUDNN_MAJOR 9\n#define CUDNN_MINOR 28\n#define CUDNN_PATCHLEVEL 14", "9.28.14");
    check("#define CUDNN_MAJOR 9\n#define CUDNN_MINOR 28\n#define CUDNN_PATCHLEVEL 14\r",
          "9.28.14");
}

static void blanks_and_comments_are_allowed_where_c_has_them(void **state)
{
    (void)state;
    check("  #  define\tCUDNN_MAJOR\t 9 /* nine */\n#define CUDNN_MINOR 5// five\n"
          "#define CUDNN_PATCHLEVEL 2/* two */\n",
          "9.5.2");
}

static void definitions_may_come_in_any_order(void **state)
{
    (void)state;
    check("#define CUDNN_PATCHLEVEL 3\n#define CUDNN_MAJOR 9\n#define CUDNN_MINOR 2\n", "9.2.3");
}

static void the_first_definition_counts(void **state)
{
    (void)state;
    check("#define CUDNN_MAJOR 9\n#define CUDNN_MINOR 5\n#define CUDNN_PATCHLEVEL 0\n"
          "#define CUDNN_MAJOR 8\n",
          "9.5.0");
}

static void what_is_not_a_plain_number_is_refused(void **state)
{
    (void)state;
    static const char *const majors[] = {"(9)",   "8 + 1", "8+1",  "18/2",  "18 / 2",     "9u",
                                         "0x9",   "-9",    "9.0",  "",      "NINE",       "9 \\",
                                         "\"9\"", "9 9",   "9\r9", "10000", "99999999999"};
    for (size_t i = 0; i < sizeof majors / sizeof *majors; i++) {
        char text[256];
        snprintf(text, sizeof text,
                 "#define CUDNN_MAJOR %s\n#define CUDNN_MINOR 5\n#define CUDNN_PATCHLEVEL 0\n",
                 majors[i]);
        check_none(text);
    }
}

static void other_names_and_lines_define_nothing(void **state)
{
    (void)state;
    static const char *const lines[] = {
        "#define CUDNN_MAJOR_X 9",   "#define XCUDNN_MAJOR 9",      "#defineCUDNN_MAJOR 9",
        "// #define CUDNN_MAJOR 9",  "/* #define CUDNN_MAJOR 9 */", "#undef CUDNN_MAJOR 9",
        "#define CUDNN_MAJOR(x) 9",  "#define CUDNN_MAJOR9",        "CUDNN_MAJOR 9",
        "#define cudnn_major 9",     "#if CUDNN_MAJOR 9",           "\"#define CUDNN_MAJOR 9",
        "#define CUDNN_OPS_MAJOR 9",
    };
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        char text[256];
        snprintf(text, sizeof text, "%s\n#define CUDNN_MINOR 5\n#define CUDNN_PATCHLEVEL 0\n",
                 lines[i]);
        check_none(text);
    }
}

static void each_of_the_three_is_needed(void **state)
{
    (void)state;
    check_none("");
    check_none("#define CUDNN_MINOR 5\n#define CUDNN_PATCHLEVEL 0\n");
    check_none("#define CUDNN_MAJOR 9\n#define CUDNN_PATCHLEVEL 0\n");
    check_none("#define CUDNN_MAJOR 9\n#define CUDNN_MINOR 5\n");
}

/* The last line that counts ends where the patch level's digit is: before it nothing is known. */
static void a_header_cut_anywhere_says_its_version_or_nothing(void **state)
{
    (void)state;
    const char *last = strstr(version_9, "CUDNN_PATCHLEVEL 0");
    assert_non_null(last);
    size_t needed = (size_t)(last - version_9) + strlen("CUDNN_PATCHLEVEL 0");
    for (size_t size = 0; size < sizeof version_9; size++) {
        char text[sizeof version_9] = "";
        memcpy(text, version_9, size);
        if (size < needed) {
            check_none(text);
        } else {
            check(text, "9.5.0");
        }
    }
}

static void zero_bytes_are_read_over(void **state)
{
    (void)state;
    static const char text[] = "\0\0\n#define CUDNN_MAJOR 9\n\0#define CUDNN_MINOR 4\n"
                               "#define CUDNN_MINOR 5\n#define CUDNN_PATCHLEVEL 0\n\0";
    struct version version;
    assert_true(identify_header(text, sizeof text, &version));
    assert_int_equal(version.part[1], 5);
}

RUN_TESTS(cmocka_unit_test(version_9_is_read_from_cudnn_version_h),
          cmocka_unit_test(version_8_is_read_from_cudnn_version_h),
          cmocka_unit_test(version_7_is_read_from_cudnn_h), cmocka_unit_test(lines_may_end_in_crlf),
          cmocka_unit_test(the_last_line_needs_no_end),
          cmocka_unit_test(blanks_and_comments_are_allowed_where_c_has_them),
          cmocka_unit_test(definitions_may_come_in_any_order),
          cmocka_unit_test(the_first_definition_counts),
          cmocka_unit_test(what_is_not_a_plain_number_is_refused),
          cmocka_unit_test(other_names_and_lines_define_nothing),
          cmocka_unit_test(each_of_the_three_is_needed),
          cmocka_unit_test(a_header_cut_anywhere_says_its_version_or_nothing),
          cmocka_unit_test(zero_bytes_are_read_over))
