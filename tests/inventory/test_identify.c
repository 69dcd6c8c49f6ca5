#include "inventory/identify.h"

#include "base/cleanup.h"
#include "os/file.h"
#include "os/path.h"
#include "os/secure.h"
#include "tests/inventory/library_bytes.h"
#include "tests/test.h"

/* As NVIDIA's ops library is: resource and symbol. */
static const struct pe_parts pe_ops = {
    .version = {9, 5, 0, 50},
    .original_name = "cudnn_ops64_9.dll",
    .dll_name = "cudnn_ops64_9.dll",
    .exports = {{"cudnnActivationForward", 1}, {"cudnn_ops_infer_version", 0x00090500}},
    .imports = {"cudnn_graph64_9.dll", "KERNEL32.dll"},
    .delay_imports = {"nvcuda.dll"},
};

/* As the graph library is: only the symbol. */
static const struct pe_parts pe_graph = {
    .dll_name = "cudnn_graph64_9.dll",
    .exports = {{"cudnnCreate", 1}, {"cudnn_graph_version", 0x00091C01}},
    .imports = {"KERNEL32.dll"},
};

static const struct elf_parts elf_graph = {
    .soname = "libcudnn_graph.so.9",
    .run_path = "$ORIGIN",
    .symbols = {{"cudnnCreate", 1}, {"cudnn_graph_version", 0x00090500}},
    .needed = {"libz.so.1"},
};

struct expected {
    const char *version; /* "" = unknown */
    enum version_source source;
    const char *internal_name;
    int cuda_major;
    enum arch arch;
};

static void check(const struct library_bytes *library, const char *file_name,
                  struct expected expected)
{
    struct arena arena = {0};
    struct identity identity;
    char text[VERSION_TEXT_SIZE];
    identify_bytes_named(&arena, library_bytes_of(library), file_name, &identity);
    assert_true(identity.is_library);
    assert_null(identity.problem);
    assert_string_equal(version_text(identity.version, identity.version.count, text),
                        expected.version);
    assert_int_equal(identity.version_source, expected.source);
    if (expected.internal_name == NULL) {
        assert_null(identity.internal_name);
    } else {
        assert_non_null(identity.internal_name);
        assert_string_equal(identity.internal_name, expected.internal_name);
    }
    assert_int_equal(identity.cuda_major, expected.cuda_major);
    assert_int_equal(identity.arch, expected.arch);
    assert_int_equal(identity.size_bytes, library->size);
    arena_done(&arena);
}

static void check_problem(struct bytes bytes, const char *problem, enum arch arch)
{
    struct arena arena = {0};
    struct identity identity;
    identify_bytes_named(&arena, bytes, "cudnn_graph64_9.dll", &identity);
    assert_false(identity.is_library);
    assert_non_null(identity.problem);
    assert_string_equal(identity.problem, problem);
    assert_int_equal(identity.arch, arch);
    arena_done(&arena);
}

/* ---- PE ---- */

static void the_resource_has_the_word_before_the_symbol(void **state)
{
    (void)state;
    struct library_bytes library;
    struct pe_parts parts = pe_ops;
    parts.exports[1].value = 0x00090600;
    library_bytes_pe(&library, &parts);
    check(&library, "cudnn_ops64_9.dll",
          (struct expected){"9.5.0.50", VERSION_SOURCE_RESOURCE, "cudnn_ops64_9.dll", 0,
                            ARCH_X86_64});
}

static void without_a_resource_the_symbol_gives_three_numbers(void **state)
{
    (void)state;
    struct library_bytes library;
    library_bytes_pe(&library, &pe_graph);
    check(
        &library, "cudnn_graph64_9.dll",
        (struct expected){"9.28.1", VERSION_SOURCE_EXPORT, "cudnn_graph64_9.dll", 0, ARCH_X86_64});
    check(
        &library, "CUDNN_GRAPH64_9.DLL",
        (struct expected){"9.28.1", VERSION_SOURCE_EXPORT, "cudnn_graph64_9.dll", 0, ARCH_X86_64});
}

static void a_renamed_copy_is_asked_for_its_own_symbol(void **state)
{
    (void)state;
    static const char *const names[] = {"cudnn64_9.dll", "cudnn_ops64_9.dll", "cudnn64_7.dll",
                                        "anything.dll"};
    struct library_bytes library;
    library_bytes_pe(&library, &pe_graph);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        check(&library, names[i],
              (struct expected){"9.28.1", VERSION_SOURCE_EXPORT, "cudnn_graph64_9.dll", 0,
                                ARCH_X86_64});
    }
}

static void the_original_name_goes_before_the_export_directorys(void **state)
{
    (void)state;
    struct library_bytes library;
    struct pe_parts parts = pe_ops;
    parts.original_name = "cudnn_adv64_9.dll";
    library_bytes_pe(&library, &parts);
    check(&library, "cudnn_ops64_9.dll",
          (struct expected){"9.5.0.50", VERSION_SOURCE_RESOURCE, "cudnn_adv64_9.dll", 0,
                            ARCH_X86_64});
    parts.original_name = NULL;
    library_bytes_pe(&library, &parts);
    check(&library, "cudnn_ops64_9.dll",
          (struct expected){"9.5.0.50", VERSION_SOURCE_RESOURCE, "cudnn_ops64_9.dll", 0,
                            ARCH_X86_64});
}

static void a_symbol_that_is_no_version_is_not_taken_for_one(void **state)
{
    (void)state;
    static const uint32_t values[] = {0, 0x00060500, 0x00640000, 0x09050000, 0xCCCCCCCC};
    struct library_bytes library;
    struct pe_parts parts = pe_graph;
    for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
        parts.exports[1].value = values[i];
        library_bytes_pe(&library, &parts);
        check(&library, "cudnn_graph64_9.dll",
              (struct expected){"", VERSION_SOURCE_NONE, "cudnn_graph64_9.dll", 0, ARCH_X86_64});
    }
}

static void a_forwarded_or_missing_symbol_gives_no_version(void **state)
{
    (void)state;
    struct library_bytes library;
    const struct expected none = {"", VERSION_SOURCE_NONE, "cudnn_graph64_9.dll", 0, ARCH_X86_64};
    struct pe_parts parts = pe_graph;
    parts.exports[1].forward = "cudnn64_9.cudnn_graph_version";
    library_bytes_pe(&library, &parts);
    check(&library, "cudnn_graph64_9.dll", none);
    parts.exports[1] = (struct exported){NULL, 0, NULL, false};
    library_bytes_pe(&library, &parts);
    check(&library, "cudnn_graph64_9.dll", none);
}

/* A Windows name carries no version, however it looks. */
static void a_windows_name_is_no_source_of_a_version(void **state)
{
    (void)state;
    struct library_bytes library;
    const struct pe_parts parts = {.dll_name = "cudnn_heuristic64_9.dll"};
    library_bytes_pe(&library, &parts);
    check(&library, "libcudnn_heuristic.so.9.5.0",
          (struct expected){"", VERSION_SOURCE_NONE, "cudnn_heuristic64_9.dll", 0, ARCH_X86_64});
}

static void the_machine_of_a_windows_library_is_told(void **state)
{
    (void)state;
    static const struct {
        uint16_t machine;
        bool pe32;
        enum arch arch;
    } rows[] = {{0x8664, false, ARCH_X86_64},
                {0x14C, true, ARCH_X86},
                {0xAA64, false, ARCH_ARM64},
                {0x1C4, true, ARCH_OTHER}}; /* 32-bit ARM */
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct library_bytes library;
        struct pe_parts parts = pe_ops;
        parts.machine = rows[i].machine;
        parts.pe32 = rows[i].pe32;
        library_bytes_pe(&library, &parts);
        check(&library, "cudnn_ops64_9.dll",
              (struct expected){"9.5.0.50", VERSION_SOURCE_RESOURCE, "cudnn_ops64_9.dll", 0,
                                rows[i].arch});
    }
}

static void imports_are_listed_by_kind(void **state)
{
    (void)state;
    struct arena arena = {0};
    struct library_bytes library;
    struct identity identity;
    library_bytes_pe(&library, &pe_ops);
    identify_bytes(&arena, library_bytes_of(&library), NULL, &identity);
    assert_false(identity.is_elf);
    assert_int_equal(identity.import_count, 2);
    assert_string_equal(identity.imports[0], "cudnn_graph64_9.dll");
    assert_string_equal(identity.imports[1], "KERNEL32.dll");
    assert_int_equal(identity.delay_import_count, 1);
    assert_string_equal(identity.delay_imports[0], "nvcuda.dll");
    arena_done(&arena);
}

static void a_windows_program_is_no_library(void **state)
{
    (void)state;
    struct library_bytes library;
    struct pe_parts parts = pe_graph;
    parts.is_program = true;
    library_bytes_pe(&library, &parts);
    check_problem(library_bytes_of(&library), "is a program, not a library", ARCH_X86_64);
}

/* ---- which CUDA ---- */

static void cuda_is_read_where_the_table_says_that_it_is_named(void **state)
{
    (void)state;
    struct library_bytes library;
    const struct pe_parts parts = {.texts = {"nvrtc64_%d_0.dll", "cublasLt64_12.dll"}};
    library_bytes_pe(&library, &parts);
    const struct expected twelve = {"", VERSION_SOURCE_NONE, NULL, 12, ARCH_X86_64};
    const struct expected nothing = {"", VERSION_SOURCE_NONE, NULL, 0, ARCH_X86_64};
    check(&library, "cudnn_adv64_9.dll", twelve);
    check(&library, "cudnn_engines_precompiled64_9.dll", twelve);
    check(&library, "cudnn_newcomer64_9.dll", twelve); /* which the table does not know */
    check(&library, "cudnn_cnn64_9.dll", nothing);
    check(&library, "other.dll", nothing);
}

static void cuda_is_read_from_imports_of_any_library(void **state)
{
    (void)state;
    struct library_bytes library;
    const struct pe_parts imports = {.imports = {"cublas64_11.dll"}};
    const struct pe_parts delayed = {.delay_imports = {"cublasLt64_13.dll"}};
    library_bytes_pe(&library, &imports);
    check(&library, "cudnn_cnn64_9.dll",
          (struct expected){"", VERSION_SOURCE_NONE, NULL, 11, ARCH_X86_64});
    library_bytes_pe(&library, &delayed);
    check(&library, "cudnn_cnn64_9.dll",
          (struct expected){"", VERSION_SOURCE_NONE, NULL, 13, ARCH_X86_64});
}

static void names_that_disagree_say_nothing_of_cuda(void **state)
{
    (void)state;
    struct library_bytes library;
    const struct pe_parts parts = {.imports = {"cublas64_11.dll"}, .texts = {"cublasLt64_12.dll"}};
    library_bytes_pe(&library, &parts);
    check(&library, "cudnn_adv64_9.dll",
          (struct expected){"", VERSION_SOURCE_NONE, NULL, 0, ARCH_X86_64});
}

/* ---- ELF ---- */

static void the_symbol_of_a_linux_library_gives_its_version(void **state)
{
    (void)state;
    struct library_bytes library;
    struct elf_parts parts = elf_graph;
    const struct expected expected = {"9.5.0", VERSION_SOURCE_EXPORT, "libcudnn_graph.so.9", 0,
                                      ARCH_X86_64};
    library_bytes_elf(&library, &parts);
    check(&library, "libcudnn_graph.so.9", expected);
    check(&library, "libcudnn_graph.so.9.6.0", expected); /* and not its name */
    check(&library, "libcudnn_ops.so.9", expected);       /* a renamed copy */
    parts.sysv_hash = true;
    parts.no_gnu_hash = true;
    library_bytes_elf(&library, &parts);
    check(&library, "libcudnn_graph.so.9", expected);
}

static void a_linux_name_with_a_version_serves_when_nothing_else_does(void **state)
{
    (void)state;
    struct library_bytes library;
    const struct elf_parts parts = {.soname = "libcudnn_cnn.so.9", .texts = {"libcublasLt.so.12"}};
    library_bytes_elf(&library, &parts);
    check(
        &library, "libcudnn_cnn.so.9.5.0",
        (struct expected){"9.5.0", VERSION_SOURCE_FILE_NAME, "libcudnn_cnn.so.9", 0, ARCH_X86_64});
    check(&library, "libcudnn_cnn.so.9",
          (struct expected){"", VERSION_SOURCE_NONE, "libcudnn_cnn.so.9", 0, ARCH_X86_64});
    check(&library, "libother.so.9.5.0",
          (struct expected){"", VERSION_SOURCE_NONE, "libcudnn_cnn.so.9", 0, ARCH_X86_64});
    check(&library, "libcudnn_adv.so.9",
          (struct expected){"", VERSION_SOURCE_NONE, "libcudnn_cnn.so.9", 12, ARCH_X86_64});
}

static void without_section_headers_cuda_is_read_from_what_is_loaded_to_be_read_only(void **state)
{
    (void)state;
    struct library_bytes library;
    const struct elf_parts parts = {
        .soname = "libcudnn_adv.so.9", .no_sections = true, .texts = {"libcublasLt.so.12"}};
    struct expected expected = {"", VERSION_SOURCE_NONE, "libcudnn_adv.so.9", 12, ARCH_X86_64};
    library_bytes_elf(&library, &parts);
    check(&library, "libcudnn_adv.so.9", expected);
    expected.cuda_major = 0;
    check(&library, "libcudnn_cnn.so.9", expected);
    library_bytes_put(&library, library.elf.program_headers + 4, 4, 5); /* holds code too */
    check(&library, "libcudnn_adv.so.9", expected);
}

static void the_machine_of_a_linux_library_is_told(void **state)
{
    (void)state;
    static const struct {
        uint8_t class, order;
        uint16_t machine;
        enum arch arch;
    } rows[] = {
        {2, 1, 62, ARCH_X86_64},      {2, 1, 183, ARCH_ARM64},
        {2, 1, 21, ARCH_OTHER},       {1, 1, 3, ARCH_X86},
        {1, 1, 40, ARCH_OTHER},       {1, 1, 62, ARCH_OTHER}, /* x32: no 64-bit program loads it */
        {2, 2, 183 << 8, ARCH_OTHER}, {2, 2, 22 << 8, ARCH_OTHER},
        {1, 2, 3 << 8, ARCH_OTHER},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct arena arena = {0};
        struct library_bytes library;
        struct identity identity;
        library_bytes_elf(&library, &elf_graph);
        library_bytes_put(&library, 4, 1, rows[i].class);
        library_bytes_put(&library, 5, 1, rows[i].order);
        library_bytes_put(&library, 18, 2, rows[i].machine);
        identify_bytes_named(&arena, library_bytes_of(&library), "libcudnn_graph.so.9", &identity);
        assert_true(identity.is_elf);
        assert_true(identity.is_library);
        assert_null(identity.problem);
        assert_int_equal(identity.arch, rows[i].arch);
        arena_done(&arena);
    }
}

static void an_elf_header_of_no_known_class_says_no_machine(void **state)
{
    (void)state;
    struct library_bytes library;
    library_bytes_elf(&library, &elf_graph);
    library_bytes_put(&library, 4, 1, 9);
    check_problem(library_bytes_of(&library),
                  "has a damaged header: it says no known class, byte order or version of ELF",
                  ARCH_UNKNOWN);
}

static void elf_files_of_other_kinds_are_no_libraries(void **state)
{
    (void)state;
    static const struct {
        uint16_t type;
        const char *problem;
    } rows[] = {{1, "is an object file, not a library"},
                {2, "is a program, not a library"},
                {4, "is a memory dump, not a library"},
                {9, "has a damaged header: it says no known kind of ELF file"}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct library_bytes library;
        struct elf_parts parts = elf_graph;
        parts.type = rows[i].type;
        for (unsigned k = 0; k < 2; k++) {
            parts.no_dynamic = k == 1;
            library_bytes_elf(&library, &parts);
            check_problem(library_bytes_of(&library), rows[i].problem, ARCH_X86_64);
        }
    }
    struct library_bytes library;
    struct elf_parts parts = elf_graph;
    parts.no_dynamic = true;
    library_bytes_elf(&library, &parts);
    check_problem(library_bytes_of(&library), "has no dynamic section, so that nothing can load it",
                  ARCH_X86_64);
}

static void what_a_linux_library_needs_is_listed(void **state)
{
    (void)state;
    struct arena arena = {0};
    struct library_bytes library;
    struct identity identity;
    library_bytes_elf(&library, &elf_graph);
    identify_bytes(&arena, library_bytes_of(&library), "cudnn_graph_version", &identity);
    assert_int_equal(identity.import_count, 1);
    assert_string_equal(identity.imports[0], "libz.so.1");
    assert_int_equal(identity.delay_import_count, 0);
    assert_string_equal(identity.run_path, "$ORIGIN");
    assert_int_equal(identity.version.part[0], 9);
    arena_done(&arena);
}

/* ---- cut and foreign files ---- */

/* Under a name that has a version itself, which a damaged file must not be given. */
static void check_truncations(const struct library_bytes *library, const char *file_name)
{
    for (size_t size = 0; size < library->size; size++) {
        struct arena arena = {0};
        struct bytes cut = library_bytes_cut(library, size);
        struct identity identity;
        identify_bytes_named(&arena, cut, file_name, &identity);
        assert_false(identity.is_library);
        assert_non_null(identity.problem);
        assert_false(version_known(identity.version));
        assert_int_equal(identity.version_source, VERSION_SOURCE_NONE);
        assert_int_equal(identity.cuda_major, 0);
        assert_int_equal(identity.size_bytes, size);
        assert_true(identity.arch == ARCH_UNKNOWN || identity.arch == ARCH_X86_64);
        arena_done(&arena);
        free((void *)(uintptr_t)cut.data);
    }
}

static void a_library_cut_anywhere_has_a_problem_and_no_version(void **state)
{
    (void)state;
    struct library_bytes library;
    struct pe_parts pe = pe_ops;
    struct elf_parts elf = elf_graph;
    pe.texts[0] = "cublasLt64_12.dll";
    library_bytes_pe(&library, &pe);
    check_truncations(&library, "cudnn_adv64_9.dll");
    library_bytes_pe(&library, &pe_graph);
    check_truncations(&library, "cudnn_graph64_9.dll");
    elf.texts[0] = "libcublasLt.so.12";
    library_bytes_elf(&library, &elf);
    check_truncations(&library, "libcudnn_graph.so.9.5.0");
    check_truncations(&library, "libcudnn_adv.so.9.5.0");
}

static void a_file_of_another_kind_is_told_under_any_name(void **state)
{
    (void)state;
    static const char page[] = "<!DOCTYPE html><title>404</title>";
    check_problem((struct bytes){.data = NULL, .size = 0}, "is empty", ARCH_UNKNOWN);
    check_problem((struct bytes){.data = (const uint8_t *)page, .size = sizeof page - 1},
                  "is a web page, not a library", ARCH_UNKNOWN);
    check_problem((struct bytes){.data = (const uint8_t *)"MZ", .size = 2},
                  "ends before its header does (2 of 64 bytes)", ARCH_UNKNOWN);
    check_problem((struct bytes){.data = (const uint8_t *)"\x7F"
                                                          "ELF",
                                 .size = 4},
                  "ends before its header does (4 of 64 bytes)", ARCH_UNKNOWN);
}

/* ---- files ---- */

struct file {
    struct arena arena;
    char *path;
};

static struct file file_make(const void *data, size_t size)
{
    struct file file = {0};
    const char *directory = getenv("TMPDIR");
    uint64_t random;
    os_secure_random(&random, sizeof random);
    if (directory == NULL || directory[0] == '\0') {
        directory = os_path_separator == '/' ? "/tmp" : getenv("TEMP");
    }
    char *name = arena_printf(&file.arena, "cudnnd-%016llx", (unsigned long long)random);
    file.path = os_path_join(&file.arena, directory, name);
    assert_int_equal(os_file_write(file.path, data, size, false, NULL), 0);
    return file;
}

static void file_done(struct file *file)
{
    os_file_remove(file->path, NULL);
    arena_done(&file->arena);
}

static void a_file_is_read_once_and_then_known(void **state)
{
    (void)state;
    struct library_bytes library;
    library_bytes_pe(&library, &pe_ops);
    CLEANUP(file_done) struct file file = file_make(library.data, library.size);
    struct inventory_cache *cache = inventory_cache_new();
    for (unsigned i = 0; i < 2; i++) {
        struct identity identity;
        assert_int_equal(
            identify_library(&file.arena, cache, file.path, "cudnn_ops64_9.dll", &identity, NULL),
            0);
        assert_true(identity.is_library);
        assert_int_equal(identity.from_cache, i == 1);
        assert_int_equal(identity.size_bytes, library.size);
        assert_true(identity.modified_at_ms > 0);
        assert_int_equal(identity.version.part[3], 50);
        assert_string_equal(identity.internal_name, "cudnn_ops64_9.dll");
    }
    inventory_cache_free(cache);
}

static void a_file_that_changed_is_read_again(void **state)
{
    (void)state;
    struct library_bytes library;
    library_bytes_pe(&library, &pe_ops);
    CLEANUP(file_done) struct file file = file_make(library.data, library.size);
    struct inventory_cache *cache = inventory_cache_new();
    struct identity identity;
    identify_library(&file.arena, cache, file.path, "cudnn_ops64_9.dll", &identity, NULL);
    assert_int_equal(os_file_write(file.path, "half", 4, false, NULL), 0);
    assert_int_equal(
        identify_library(&file.arena, cache, file.path, "cudnn_ops64_9.dll", &identity, NULL), 0);
    assert_false(identity.from_cache);
    assert_false(identity.is_library);
    assert_string_equal(identity.problem, "is a text, not a library");
    inventory_cache_free(cache);
}

static void an_empty_file_is_a_result_and_no_error(void **state)
{
    (void)state;
    CLEANUP(file_done) struct file file = file_make("", 0);
    struct identity identity;
    assert_int_equal(
        identify_library(&file.arena, NULL, file.path, "cudnn64_9.dll", &identity, NULL), 0);
    assert_false(identity.is_library);
    assert_string_equal(identity.problem, "is empty");
}

static void what_cannot_be_read_is_an_error(void **state)
{
    (void)state;
    CLEANUP(file_done) struct file file = file_make("x", 1);
    struct identity identity;
    struct err err = {0};
    char *missing = arena_printf(&file.arena, "%s-missing", file.path);
    assert_int_equal(identify_library(&file.arena, NULL, missing, "cudnn64_9.dll", &identity, &err),
                     ERR_NOT_FOUND);
    char *directory = os_path_parent(&file.arena, file.path);
    assert_int_equal(
        identify_library(&file.arena, NULL, directory, "cudnn64_9.dll", &identity, &err),
        ERR_FORMAT);
    assert_non_null(strstr(err.message, "is not a regular file"));
}

RUN_TESTS(
    cmocka_unit_test(the_resource_has_the_word_before_the_symbol),
    cmocka_unit_test(without_a_resource_the_symbol_gives_three_numbers),
    cmocka_unit_test(a_renamed_copy_is_asked_for_its_own_symbol),
    cmocka_unit_test(the_original_name_goes_before_the_export_directorys),
    cmocka_unit_test(a_symbol_that_is_no_version_is_not_taken_for_one),
    cmocka_unit_test(a_forwarded_or_missing_symbol_gives_no_version),
    cmocka_unit_test(a_windows_name_is_no_source_of_a_version),
    cmocka_unit_test(the_machine_of_a_windows_library_is_told),
    cmocka_unit_test(imports_are_listed_by_kind), cmocka_unit_test(a_windows_program_is_no_library),
    cmocka_unit_test(cuda_is_read_where_the_table_says_that_it_is_named),
    cmocka_unit_test(cuda_is_read_from_imports_of_any_library),
    cmocka_unit_test(names_that_disagree_say_nothing_of_cuda),
    cmocka_unit_test(the_symbol_of_a_linux_library_gives_its_version),
    cmocka_unit_test(a_linux_name_with_a_version_serves_when_nothing_else_does),
    cmocka_unit_test(without_section_headers_cuda_is_read_from_what_is_loaded_to_be_read_only),
    cmocka_unit_test(the_machine_of_a_linux_library_is_told),
    cmocka_unit_test(an_elf_header_of_no_known_class_says_no_machine),
    cmocka_unit_test(elf_files_of_other_kinds_are_no_libraries),
    cmocka_unit_test(what_a_linux_library_needs_is_listed),
    cmocka_unit_test(a_library_cut_anywhere_has_a_problem_and_no_version),
    cmocka_unit_test(a_file_of_another_kind_is_told_under_any_name),
    cmocka_unit_test(a_file_is_read_once_and_then_known),
    cmocka_unit_test(a_file_that_changed_is_read_again),
    cmocka_unit_test(an_empty_file_is_a_result_and_no_error),
    cmocka_unit_test(what_cannot_be_read_is_an_error))
