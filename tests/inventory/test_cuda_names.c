#include "inventory/cuda_names.h"

#include "tests/test.h"

enum { WINDOW = 64 * 1024 }; /* of the search */

struct row {
    const char *name;
    int major;
};

static void check_rows(const struct row *rows, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        int major = cuda_names_major(rows[i].name);
        if (major != rows[i].major) {
            fail_msg("'%s' gives %d instead of %d", rows[i].name, major, rows[i].major);
        }
    }
}

static void windows_names_say_the_major(void **state)
{
    (void)state;
    static const struct row rows[] = {
        {"cublasLt64_12.dll", 12}, {"cublasLt64_13.dll", 13}, {"cublas64_12.dll", 12},
        {"cublas64_11.dll", 11},   {"cublas64_10.dll", 10},   {"cublasLt64_10.dll", 10},
        {"CUBLASLT64_12.DLL", 12}, {"CublasLt64_12.Dll", 12},
    };
    check_rows(rows, sizeof rows / sizeof *rows);
}

/* Up to CUDA 10.0 the number was major and minor in one. */
static void old_windows_names_have_major_and_minor_in_one_number(void **state)
{
    (void)state;
    static const struct row rows[] = {
        {"cublas64_100.dll", 10}, {"cublas64_101.dll", 10}, {"cublas64_92.dll", 9},
        {"cublas64_90.dll", 9},   {"cublas64_80.dll", 8},   {"cublas64_75.dll", 7},
        {"cublas64_70.dll", 7},   {"cublas64_65.dll", 0},
    };
    check_rows(rows, sizeof rows / sizeof *rows);
}

static void nvrtc_always_has_major_and_minor_in_one_number(void **state)
{
    (void)state;
    static const struct row rows[] = {
        {"nvrtc64_112_0.dll", 11}, {"nvrtc64_120_0.dll", 12}, {"nvrtc64_130_0.dll", 13},
        {"nvrtc64_101_0.dll", 10}, {"nvrtc64_100_0.dll", 10}, {"nvrtc64_92.dll", 9},
        {"nvrtc64_80.dll", 8},     {"NVRTC64_112_0.DLL", 11},
    };
    check_rows(rows, sizeof rows / sizeof *rows);
}

static void linux_names_say_the_major_first(void **state)
{
    (void)state;
    static const struct row rows[] = {
        {"libcublasLt.so.13", 13},       {"libcublasLt.so.12", 12},
        {"libcublas.so.11", 11},         {"libcublas.so.10", 10},
        {"libcublas.so.10.2.1.243", 10}, {"libcublas.so.9.2", 9},
        {"libnvrtc.so.11.2", 11},        {"libnvrtc.so.12", 12},
        {"libnvrtc.so.10.1.243", 10},    {"libcublasLt.so.12.6.3.3", 12},
    };
    check_rows(rows, sizeof rows / sizeof *rows);
}

static void anything_else_says_nothing(void **state)
{
    (void)state;
    static const struct row rows[] = {
        {"", 0},
        {"cublas", 0},
        {"cublas64_", 0},
        {"cublas64_.dll", 0},
        {"cublas64_12", 0},
        {"cublas64_12.dl", 0},
        {"cublas64_12.dll.bak", 0},
        {"cublas64_12_0.dll", 0},
        {"cublas64_5.dll", 0},
        {"cublas64_0.dll", 0},
        {"cublas64_-12.dll", 0},
        {"cublas64_12345.dll", 0},
        {"cublas64_99999999999999999999.dll", 0},
        {"cublas32_12.dll", 0},
        {"libcublas64_12.dll", 0},
        {"xcublas64_12.dll", 0},
        {"nvrtc64_%d_0.dll", 0},
        {"nvrtc64_112_.dll", 0},
        {"nvrtc64_12.dll", 0}, /* 1.2 */
        {"nvrtc-builtins64_124.dll", 0},
        {"libcublas.so", 0},
        {"libcublas.so.", 0},
        {"libcublas.so.12.", 0},
        {"libcublas.so.12x", 0},
        {"libcublas.so.%d", 0},
        {"libcublas.so.6.5", 0},
        {"LIBCUBLAS.SO.12", 0},
        {"libnvrtc-builtins.so.12.4", 0},
        {"libcublas.so.12.dll", 0},
        {"cudart64_12.dll", 0}, /* carries a version, but cuDNN has it inside */
        {"zlibwapi.dll", 0},
        {"nvcuda.dll", 0},
    };
    check_rows(rows, sizeof rows / sizeof *rows);
}

/* ---- searching ---- */

static int search(const void *data, size_t size)
{
    struct cuda_names names = {0};
    uint8_t *copy = malloc(size == 0 ? 1 : size);
    assert_non_null(copy);
    memcpy(copy, data, size);
    cuda_names_search(&names, (struct bytes){.data = copy, .size = size});
    free(copy);
    return cuda_names_result(&names);
}

#define SEARCH(text) search(text, sizeof text)

static void whole_texts_and_ends_of_paths_are_found(void **state)
{
    (void)state;
    assert_int_equal(SEARCH("cublasLt64_12.dll"), 12);
    assert_int_equal(SEARCH("x\0cublasLt64_12.dll\0y"), 12);
    assert_int_equal(SEARCH("x\0libcublasLt.so.13\0y"), 13);
    assert_int_equal(SEARCH("\0/usr/lib/libcublas.so.11\0"), 11);
    assert_int_equal(SEARCH("\0C:\\cuda\\bin\\cublas64_100.dll\0"), 10);
    assert_int_equal(SEARCH("\0nvrtc64_112_0.dll\0"), 11);
    assert_int_equal(SEARCH("\0libnvrtc.so.12\0"), 12);
}

static void parts_of_longer_texts_are_not(void **state)
{
    (void)state;
    assert_int_equal(SEARCH("\0xcublasLt64_12.dll\0"), 0);
    assert_int_equal(SEARCH("\0cublasLt64_12.dll is missing\0"), 0);
    assert_int_equal(SEARCH("\0cannot load cublasLt64_12.dll\0"), 0);
    assert_int_equal(SEARCH("\0xlibcublas.so.12\0"), 0);
    assert_int_equal(SEARCH("\0cublasLtCreate\0cublas\0nvrtc\0"), 0);
    assert_int_equal(search("cublasLt64_12.dll", strlen("cublasLt64_12.dll")), 0); /* no NUL */
    assert_int_equal(search("", 0), 0);
}

static void names_that_agree_are_one_and_others_none(void **state)
{
    (void)state;
    assert_int_equal(SEARCH("cublasLt64_12.dll\0nvrtc64_%d_0.dll\0cublas64_12.dll"), 12);
    assert_int_equal(SEARCH("cublasLt64_13.dll\0nvrtc64_130_0.dll"), 13);
    assert_int_equal(SEARCH("cublasLt64_12.dll\0cublas64_11.dll"), 0);
    assert_int_equal(SEARCH("cublas64_11.dll\0cublasLt64_12.dll\0cublas64_11.dll"), 0);
}

static void names_are_added_one_by_one(void **state)
{
    (void)state;
    struct cuda_names names = {0};
    assert_int_equal(cuda_names_result(&names), 0);
    cuda_names_add(&names, "kernel32.dll");
    assert_int_equal(cuda_names_result(&names), 0);
    cuda_names_add(&names, "cublas64_12.dll");
    cuda_names_add(&names, "zlibwapi.dll");
    assert_int_equal(cuda_names_result(&names), 12);
    cuda_names_add(&names, "cublas64_11.dll");
    assert_int_equal(cuda_names_result(&names), 0);
}

/* Each name at each place around the border between two windows, so that it lies before, on and
   behind it. */
static void a_name_across_the_border_of_two_windows_is_found(void **state)
{
    (void)state;
    static const struct row rows[] = {
        {"cublasLt64_12.dll", 12}, {"libcublas.so.11", 11}, {"nvrtc64_130_0.dll", 13}};
    const size_t size = 2 * WINDOW + 64;
    uint8_t *data = malloc(size);
    assert_non_null(data);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        size_t length = strlen(rows[i].name);
        for (size_t border = WINDOW; border <= 2 * WINDOW; border += WINDOW) {
            for (size_t at = border - length - 1; at <= border + 1; at++) {
                struct cuda_names names = {0};
                memset(data, 0, size);
                memcpy(data + at, rows[i].name, length);
                cuda_names_search(&names, (struct bytes){.data = data, .size = size});
                assert_int_equal(cuda_names_result(&names), rows[i].major);
            }
        }
    }
    free(data);
}

static void a_name_at_the_very_end_is_found(void **state)
{
    (void)state;
    static const char name[] = "cublasLt64_12.dll";
    for (size_t before = WINDOW - sizeof name; before <= WINDOW; before++) {
        char *data = calloc(1, before + sizeof name);
        assert_non_null(data);
        memcpy(data + before, name, sizeof name);
        assert_int_equal(search(data, before + sizeof name), 12);
        assert_int_equal(search(data, before + sizeof name - 1), 0); /* without its NUL */
        free(data);
    }
}

RUN_TESTS(cmocka_unit_test(windows_names_say_the_major),
          cmocka_unit_test(old_windows_names_have_major_and_minor_in_one_number),
          cmocka_unit_test(nvrtc_always_has_major_and_minor_in_one_number),
          cmocka_unit_test(linux_names_say_the_major_first),
          cmocka_unit_test(anything_else_says_nothing),
          cmocka_unit_test(whole_texts_and_ends_of_paths_are_found),
          cmocka_unit_test(parts_of_longer_texts_are_not),
          cmocka_unit_test(names_that_agree_are_one_and_others_none),
          cmocka_unit_test(names_are_added_one_by_one),
          cmocka_unit_test(a_name_across_the_border_of_two_windows_is_found),
          cmocka_unit_test(a_name_at_the_very_end_is_found))
