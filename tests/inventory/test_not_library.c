#include "inventory/not_library.h"

#include "tests/test.h"

static void check(const void *data, size_t size, enum format format, const char *problem)
{
    /* in a block of its own, so that a sanitizer sees a read behind it */
    uint8_t *copy = malloc(size == 0 ? 1 : size);
    assert_non_null(copy);
    memcpy(copy, data, size);
    struct bytes bytes = {.data = copy, .size = size};
    assert_int_equal(not_library_format(bytes), format);
    if (problem != NULL) {
        assert_string_equal(not_library_problem(bytes), problem);
    }
    free(copy);
}

#define CHECK(text, problem) check(text, sizeof text - 1, FORMAT_OTHER, problem)

static void libraries_are_known_by_their_first_bytes(void **state)
{
    (void)state;
    check("MZ", 2, FORMAT_PE, NULL);
    check("MZ\x90\0\3\0", 6, FORMAT_PE, NULL);
    check("\x7F"
          "ELF",
          4, FORMAT_ELF, NULL);
    check("M", 1, FORMAT_OTHER, "is a text, not a library");
    check("\x7F"
          "EL",
          3, FORMAT_OTHER, "is neither a Windows nor a Linux library");
    check("mz", 2, FORMAT_OTHER, "is a text, not a library");
}

static void an_empty_file_is_empty(void **state)
{
    (void)state;
    CHECK("", "is empty");
}

static void zeros_are_an_interrupted_copy(void **state)
{
    (void)state;
    static const uint8_t zeros[4096];
    const char *problem = "holds zeros instead of a library, as an interrupted copy does";
    check(zeros, 1, FORMAT_OTHER, problem);
    check(zeros, sizeof zeros, FORMAT_OTHER, problem);
    CHECK("\0\0\0\1", "is neither a Windows nor a Linux library");
}

static void web_pages_are_told(void **state)
{
    (void)state;
    const char *problem = "is a web page, not a library";
    CHECK("<!DOCTYPE html>\n<html>", problem);
    CHECK("<!doctype HTML>", problem);
    CHECK("<html lang=\"en\">", problem);
    CHECK("<HTML><HEAD>", problem);
    CHECK("\r\n  \t<!DOCTYPE html>", problem);
    CHECK("\xEF\xBB\xBF<!DOCTYPE html>", problem);
    CHECK("\xEF\xBB\xBF \n<html>", problem);
    CHECK("<head>", problem);
    CHECK("<!-- saved from url -->", problem);
    CHECK("<!DOCTYP", "is a text, not a library");
}

static void what_servers_answer_is_told(void **state)
{
    (void)state;
    CHECK("<?xml version=\"1.0\"?><Error><Code>AccessDenied</Code></Error>",
          "is an XML document, not a library");
    CHECK("{\"message\": \"Not Found\"}", "is a JSON document, not a library");
    CHECK("404: Not Found", "is a text, not a library");
}

static void git_lfs_pointers_are_told(void **state)
{
    (void)state;
    CHECK("version https://git-lfs.github.com/spec/v1\n"
          "oid sha256:4d7a214614ab2935c943f9e0ff69d22eadbb8f32b1258daaa5e2ca24d17e2393\n"
          "size 265256\n",
          "is a Git LFS pointer, not a library");
    CHECK("version https://git-lf", "is a text, not a library");
}

static void archives_are_told(void **state)
{
    (void)state;
    CHECK("PK\3\4\x14\0\0\0", "is a zip archive, not a library");
    CHECK("PK\3\4", "is a zip archive, not a library");
    CHECK("PK\5\6\0\0", "is an empty zip archive, not a library");
    CHECK("\x1F\x8B\x08\0", "is a gzip archive, not a library");
    CHECK("BZh91AY", "is a bzip2 archive, not a library");
    CHECK("\xFD"
          "7zXZ\0\0",
          "is an xz archive, not a library");
    CHECK("\x28\xB5\x2F\xFD\x04", "is a zstd archive, not a library");
    CHECK("7z\xBC\xAF\x27\x1C\0\4", "is a 7z archive, not a library");
    CHECK("MSCF\0\0\0\0", "is a cabinet archive, not a library");
    CHECK("\xD0\xCF\x11\xE0\xA1\xB1\x1A\xE1", "is an installer package, not a library");
    CHECK("PK", "is a text, not a library");
}

static void libraries_that_cannot_be_loaded_are_told(void **state)
{
    (void)state;
    CHECK("!<arch>\n/               ", "is a static or import library, not one that can be loaded");
    CHECK("!<thin>\n", "is a static library, not one that can be loaded");
    CHECK("\xCF\xFA\xED\xFE\x07\0\0\1", "is a macOS library");
    CHECK("\xCA\xFE\xBA\xBE\0\0\0\2", "is a macOS library");
    CHECK("/* GNU ld script\n*/\nGROUP ( libcudnn.so.9 )", "is a linker script, not a library");
    CHECK("INPUT(libcudnn.so.9)", "is a linker script, not a library");
}

static void texts_are_told_from_other_bytes(void **state)
{
    (void)state;
    const char *text = "is a text, not a library";
    const char *neither = "is neither a Windows nor a Linux library";
    CHECK("hello\r\n\tworld\f\n", text);
    CHECK("gr\xC3\xBC\xC3\x9F dich", text);
    CHECK("\xE6\x96\x87\xE4\xBB\xB6", text);
    CHECK("hello\0world", neither);
    CHECK("hello\x1Bworld", neither);
    CHECK("hello\x7Fworld", neither);
    CHECK("hello\xFF\xFEworld", neither);
    CHECK("\xC0\xAFhello", neither);
}

/* Only the first 512 bytes are looked at: a character that they cut is none of the text's faults,
   and what comes later does not matter. */
static void a_long_text_is_judged_by_its_start(void **state)
{
    (void)state;
    char data[700];
    for (size_t before = 508; before <= 512; before++) {
        memset(data, 'a', sizeof data);
        memcpy(data + before, "\xF0\x9F\x99\x82", 4);
        data[600] = '\0';
        check(data, sizeof data, FORMAT_OTHER, "is a text, not a library");
    }
    memset(data, 'a', sizeof data);
    data[511] = '\0';
    check(data, sizeof data, FORMAT_OTHER, "is neither a Windows nor a Linux library");
}

RUN_TESTS(cmocka_unit_test(libraries_are_known_by_their_first_bytes),
          cmocka_unit_test(an_empty_file_is_empty), cmocka_unit_test(zeros_are_an_interrupted_copy),
          cmocka_unit_test(web_pages_are_told), cmocka_unit_test(what_servers_answer_is_told),
          cmocka_unit_test(git_lfs_pointers_are_told), cmocka_unit_test(archives_are_told),
          cmocka_unit_test(libraries_that_cannot_be_loaded_are_told),
          cmocka_unit_test(texts_are_told_from_other_bytes),
          cmocka_unit_test(a_long_text_is_judged_by_its_start))
