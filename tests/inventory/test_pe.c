#include "inventory/pe.h"

#include "tests/inventory/library_bytes.h"
#include "tests/test.h"

static const struct pe_parts usual = {
    .version = {9, 5, 0, 50},
    .original_name = "cudnn_ops64_9.dll",
    .dll_name = "own.dll",
    .exports = {{"a_first", 1},
                {"cudnn_ops_infer_version", 0x00090500},
                {"elsewhere", 2, "other.symbol"},
                {"z_last", 4}},
    .imports = {"cudnn_graph64_9.dll", "KERNEL32.dll"},
    .delay_imports = {"nvcuda.dll", "cublasLt64_12.dll"},
    .texts = {"some text"},
};

/* Opens what must open. */
static struct pe opened(struct arena *arena, const struct library_bytes *library)
{
    struct pe pe;
    const char *problem = pe_open(arena, library_bytes_of(library), &pe);
    assert_null(problem);
    return pe;
}

static void check_problem(const struct library_bytes *library, const char *problem)
{
    struct arena arena = {0};
    struct pe pe;
    const char *said = pe_open(&arena, library_bytes_of(library), &pe);
    assert_non_null(said);
    assert_string_equal(said, problem);
    arena_done(&arena);
}

static void check_export(const struct library_bytes *library, const char *name, bool there,
                         uint32_t value)
{
    struct arena arena = {0};
    struct pe pe = opened(&arena, library);
    uint32_t found = 0;
    assert_int_equal(pe_export_u32(&pe, name, &found), there);
    assert_int_equal(found, value);
    arena_done(&arena);
}

static void check_version(const struct library_bytes *library, bool there, uint32_t major,
                          const char *original_name)
{
    struct arena arena = {0};
    struct pe pe = opened(&arena, library);
    struct version version;
    const char *name;
    assert_int_equal(pe_version_resource(&arena, &pe, &version, &name), there);
    assert_int_equal(version.part[0], major);
    assert_int_equal(version.count, major == 0 ? 0 : 4);
    if (original_name == NULL) {
        assert_null(name);
    } else {
        assert_non_null(name);
        assert_string_equal(name, original_name);
    }
    arena_done(&arena);
}

/* ---- headers ---- */

static void a_library_opens_with_its_machine_and_sections(void **state)
{
    (void)state;
    struct arena arena = {0};
    struct library_bytes library;
    library_bytes_pe(&library, &usual);
    struct pe pe = opened(&arena, &library);
    assert_int_equal(pe.machine, PE_MACHINE_AMD64);
    assert_true(pe.is_dll);
    assert_int_equal(pe.section_count, 2);
    assert_int_equal(pe.directory_count, 16);
    struct pe_section section;
    assert_true(pe_section_at(&pe, 0, &section));
    assert_string_equal(section.name, ".rdata");
    assert_int_equal(section.rva, LIBRARY_BYTES_RDATA_RVA);
    assert_true(pe_section_at(&pe, 1, &section));
    assert_string_equal(section.name, ".rsrc");
    assert_false(pe_section_at(&pe, 2, &section));
    arena_done(&arena);
}

static void pe32_has_its_directories_sixteen_bytes_earlier(void **state)
{
    (void)state;
    struct library_bytes library;
    struct pe_parts parts = usual;
    parts.pe32 = true;
    parts.machine = PE_MACHINE_I386;
    library_bytes_pe(&library, &parts);
    struct arena arena = {0};
    assert_int_equal(opened(&arena, &library).machine, PE_MACHINE_I386);
    arena_done(&arena);
    check_version(&library, true, 9, "cudnn_ops64_9.dll");
    check_export(&library, "cudnn_ops_infer_version", true, 0x00090500);
}

/* The sections are read by the header's size, whatever the format says it has. */
static void pe32_that_says_it_is_pe32_plus_loses_its_directories(void **state)
{
    (void)state;
    struct library_bytes library;
    struct pe_parts parts = usual;
    parts.pe32 = true;
    library_bytes_pe(&library, &parts);
    library_bytes_put(&library, library.pe.optional, 2, 0x20B);
    check_version(&library, false, 0, NULL);
    check_export(&library, "cudnn_ops_infer_version", false, 0);
}

static void a_magic_of_neither_format_is_damage(void **state)
{
    (void)state;
    struct library_bytes library;
    library_bytes_pe(&library, &usual);
    library_bytes_put(&library, library.pe.optional, 2, 0x107);
    check_problem(&library, "has a damaged header: it is neither PE32 nor PE32+");
}

static void a_short_optional_header_has_fewer_directories_or_is_damage(void **state)
{
    (void)state;
    struct arena arena = {0};
    struct library_bytes library;
    library_bytes_pe(&library, &usual);
    /* Without sections, as those would be looked for behind the shorter header. */
    library_bytes_put(&library, library.pe.coff + 6, 2, 0);
    library_bytes_put(&library, library.pe.coff + 20, 2, 112 + 3 * 8);
    assert_int_equal(opened(&arena, &library).directory_count, 3);
    library_bytes_put(&library, library.pe.coff + 20, 2, 111);
    check_problem(&library, "has a damaged header: it is too short");
    library_bytes_put(&library, library.pe.coff + 20, 2, 0);
    check_problem(&library, "has a damaged header: it is neither PE32 nor PE32+");
    arena_done(&arena);
}

static void a_dos_program_is_told_from_a_library(void **state)
{
    (void)state;
    struct library_bytes library;
    library_bytes_pe(&library, &usual);
    library_bytes_put(&library, library.pe.coff, 2, 0x454E); /* "NE" */
    check_problem(&library, "is an MS-DOS program, not a library");
}

static void a_header_far_outside_is_told_with_its_place(void **state)
{
    (void)state;
    struct library_bytes library;
    library_bytes_pe(&library, &usual);
    library_bytes_put(&library, 0x3C, 4, 0xFFFFFFF0);
    char problem[80];
    snprintf(problem, sizeof problem, "ends before its header does (%zu of 4294967304 bytes)",
             library.size);
    check_problem(&library, problem);
}

static void a_section_table_beyond_the_end_is_told(void **state)
{
    (void)state;
    struct library_bytes library;
    library_bytes_pe(&library, &usual);
    library_bytes_put(&library, library.pe.coff + 6, 2, 96);
    library.size = library.pe.sections + 96 * 40 - 1;
    char problem[80];
    snprintf(problem, sizeof problem, "ends before its section table does (%zu of %zu bytes)",
             library.size, library.pe.sections + 96 * 40);
    check_problem(&library, problem);
}

static void more_sections_than_the_loader_takes_are_damage(void **state)
{
    (void)state;
    struct library_bytes library;
    library_bytes_pe(&library, &usual);
    library_bytes_put(&library, library.pe.coff + 6, 2, 97);
    check_problem(&library, "has a damaged header: it names 97 sections");
}

static void a_section_beyond_the_end_is_told_by_its_name(void **state)
{
    (void)state;
    struct library_bytes library;
    library_bytes_pe(&library, &usual);
    size_t whole = library.size;
    library.size = whole - 1;
    char problem[80];
    snprintf(problem, sizeof problem, "ends before section .rsrc does (%zu of %zu bytes)",
             whole - 1, whole);
    check_problem(&library, problem);
    library.size = whole;
    library_bytes_put(&library, library.pe.sections + 40, 1, 0x1B);
    library_bytes_put(&library, library.pe.sections + 40 + 20, 4, 0xFFFFFFFF);
    struct arena arena = {0};
    struct pe pe;
    const char *said = pe_open(&arena, library_bytes_of(&library), &pe);
    assert_non_null(said);
    assert_non_null(strstr(said, "section ?rsrc")); /* and with nothing that a terminal obeys */
    arena_done(&arena);
}

static void a_section_with_nothing_in_the_file_is_no_damage(void **state)
{
    (void)state;
    struct arena arena = {0};
    struct library_bytes library;
    library_bytes_pe(&library, &usual);
    library_bytes_put(&library, library.pe.sections + 40 + 16, 4, 0xFFFFFFFF);
    library_bytes_put(&library, library.pe.sections + 40 + 20, 4, 0);
    struct pe pe = opened(&arena, &library);
    struct pe_section section;
    struct bytes bytes;
    assert_true(pe_section_at(&pe, 1, &section));
    assert_false(pe_section_bytes(&pe, &section, &bytes));
    assert_false(pe_at(&pe, LIBRARY_BYTES_RSRC_RVA, &bytes));
    arena_done(&arena);
}

static void the_headers_lie_in_memory_as_in_the_file(void **state)
{
    (void)state;
    struct arena arena = {0};
    struct library_bytes library;
    struct bytes bytes;
    library_bytes_pe(&library, &usual);
    struct pe pe = opened(&arena, &library);
    assert_true(pe_at(&pe, 0, &bytes));
    assert_int_equal(bytes.size, 0x400);
    assert_memory_equal(bytes.data, "MZ", 2);
    assert_false(pe_at(&pe, 0x400, &bytes)); /* between them and the first section */
    library_bytes_put(&library, library.pe.optional + 60, 4, UINT32_MAX);
    pe = opened(&arena, &library);
    assert_true(pe_at(&pe, library.size - 1, &bytes));
    assert_int_equal(bytes.size, 1);
    assert_false(pe_at(&pe, library.size, &bytes));
    assert_false(pe_at(&pe, library.size + 1, &bytes));
    arena_done(&arena);
}

static void every_truncation_is_told_and_reads_nothing_outside(void **state)
{
    (void)state;
    struct library_bytes library;
    library_bytes_pe(&library, &usual);
    for (size_t size = 0; size < library.size; size++) {
        struct arena arena = {0};
        struct bytes cut = library_bytes_cut(&library, size);
        struct pe pe;
        const char *problem = pe_open(&arena, cut, &pe);
        assert_non_null(problem);
        assert_non_null(strstr(problem, "ends before"));
        arena_done(&arena);
        free((void *)(uintptr_t)cut.data);
    }
}

/* ---- exports ---- */

static void an_exported_symbol_is_found_wherever_it_stands(void **state)
{
    (void)state;
    struct library_bytes library;
    library_bytes_pe(&library, &usual);
    check_export(&library, "a_first", true, 1);
    check_export(&library, "cudnn_ops_infer_version", true, 0x00090500);
    check_export(&library, "z_last", true, 4);
}

static void what_is_not_exported_is_not_found(void **state)
{
    (void)state;
    struct library_bytes library;
    library_bytes_pe(&library, &usual);
    check_export(&library, "", false, 0);
    check_export(&library, "cudnn_ops_infer_versio", false, 0);
    check_export(&library, "cudnn_ops_infer_version_", false, 0);
    check_export(&library, "zz", false, 0);
}

static void a_forwarded_symbol_has_no_value_here(void **state)
{
    (void)state;
    struct library_bytes library;
    library_bytes_pe(&library, &usual);
    check_export(&library, "elsewhere", false, 0);
}

/* The loader searches by halves too: what it does not find is not exported. */
static void an_unsorted_table_hides_its_names(void **state)
{
    (void)state;
    struct library_bytes library;
    const struct pe_parts unsorted = {
        .dll_name = "own.dll",
        .exports = {{"z", 1}, {"m", 2}, {"a", 3}},
    };
    library_bytes_pe(&library, &unsorted);
    check_export(&library, "z", false, 0);
    check_export(&library, "m", true, 2);
    check_export(&library, "a", false, 0);
}

static void tables_that_lead_outside_export_nothing(void **state)
{
    (void)state;
    struct library_bytes library;
    for (size_t field = 28; field <= 36; field += 4) {
        library_bytes_pe(&library, &usual);
        library_bytes_put(&library, library.pe.export_directory + field, 4, 0x00700000);
        check_export(&library, "a_first", false, 0);
        struct arena arena = {0};
        struct pe pe = opened(&arena, &library);
        const char *name = pe_export_name(&arena, &pe);
        assert_non_null(name);
        assert_string_equal(name, "own.dll"); /* which is still good */
        arena_done(&arena);
    }
}

static void counts_larger_than_the_tables_are_survived(void **state)
{
    (void)state;
    struct library_bytes library;
    library_bytes_pe(&library, &usual);
    library_bytes_put(&library, library.pe.export_directory + 20, 4, UINT32_MAX);
    library_bytes_put(&library, library.pe.export_directory + 24, 4, UINT32_MAX);
    check_export(&library, "a_first", false, 0);
}

static void an_ordinal_beyond_the_functions_is_no_symbol(void **state)
{
    (void)state;
    struct library_bytes library;
    library_bytes_pe(&library, &usual);
    library_bytes_put(&library, library.pe.export_directory + 20, 4, 4); /* now 0 to 3 */
    check_export(&library, "a_first", false, 0);                         /* which is 4 */
    check_export(&library, "z_last", true, 4);
    library_bytes_put(&library, library.pe.export_ordinals, 2, UINT16_MAX);
    check_export(&library, "a_first", false, 0);
}

static void a_symbol_whose_data_is_not_in_the_file_has_no_value(void **state)
{
    (void)state;
    struct library_bytes library;
    library_bytes_pe(&library, &usual);
    size_t function = library.pe.export_functions + 4 * 4; /* that of "a_first" */
    library_bytes_put(&library, function, 4, 0x00700000);
    check_export(&library, "a_first", false, 0);
    size_t end = LIBRARY_BYTES_RSRC_RVA + library.size - library.pe.resources;
    library_bytes_put(&library, function, 4, end - 4);
    check_export(&library, "a_first", true, 0);
    library_bytes_put(&library, function, 4, end - 3);
    check_export(&library, "a_first", false, 0);
}

static void a_library_without_exports_has_no_name_of_its_own(void **state)
{
    (void)state;
    struct arena arena = {0};
    struct library_bytes library;
    const struct pe_parts parts = {.texts = {"x"}};
    library_bytes_pe(&library, &parts);
    struct pe pe = opened(&arena, &library);
    assert_null(pe_export_name(&arena, &pe));
    arena_done(&arena);
    check_export(&library, "a_first", false, 0);
}

/* ---- imports ---- */

static void check_imports(const struct library_bytes *library, enum pe_directory which,
                          size_t count, const char *first, const char *last)
{
    struct arena arena = {0};
    struct pe pe = opened(&arena, library);
    const char **names;
    size_t found;
    pe_imports(&arena, &pe, which, &names, &found);
    assert_int_equal(found, count);
    if (count > 0) {
        assert_string_equal(names[0], first);
        assert_string_equal(names[count - 1], last);
    }
    arena_done(&arena);
}

static void imports_are_told_from_delayed_ones(void **state)
{
    (void)state;
    struct library_bytes library;
    library_bytes_pe(&library, &usual);
    check_imports(&library, PE_DIRECTORY_IMPORT, 2, "cudnn_graph64_9.dll", "KERNEL32.dll");
    check_imports(&library, PE_DIRECTORY_DELAY_IMPORT, 2, "nvcuda.dll", "cublasLt64_12.dll");
}

static void imports_end_at_the_first_name_outside(void **state)
{
    (void)state;
    struct library_bytes library;
    library_bytes_pe(&library, &usual);
    library_bytes_put(&library, library.pe.imports + 20 + 12, 4, 0x00700000);
    check_imports(&library, PE_DIRECTORY_IMPORT, 1, "cudnn_graph64_9.dll", "cudnn_graph64_9.dll");
}

/* A table that never ends, every row of which names the same text. */
static void imports_without_an_end_are_bounded(void **state)
{
    (void)state;
    struct library_bytes library;
    library_bytes_pe(&library, &usual);
    size_t name = library_bytes_get(&library, library.pe.imports + 12, 4);
    size_t table = library.size;
    for (size_t row = 0; row < 600; row++) {
        library_bytes_put(&library, table + 20 * row + 12, 4, name);
    }
    library_bytes_put(&library, table + 20 * 600 - 1, 1, 0);
    library_bytes_put(&library, library.pe.sections + 40 + 16, 4,
                      library.size - library.pe.resources);
    size_t rva = LIBRARY_BYTES_RSRC_RVA + table - library.pe.resources;
    library_bytes_put(&library, library.pe.directories + 8, 4, rva);
    check_imports(&library, PE_DIRECTORY_IMPORT, 512, "cudnn_graph64_9.dll", "cudnn_graph64_9.dll");
}

/* ---- the version resource ---- */

static void the_resource_gives_the_files_version_and_name(void **state)
{
    (void)state;
    struct arena arena = {0};
    struct library_bytes library;
    library_bytes_pe(&library, &usual);
    struct pe pe = opened(&arena, &library);
    struct version version;
    const char *name;
    char text[VERSION_TEXT_SIZE];
    assert_true(pe_version_resource(&arena, &pe, &version, &name));
    assert_string_equal(version_text(version, 4, text), "9.5.0.50");
    assert_string_equal(name, "cudnn_ops64_9.dll");
    arena_done(&arena);
}

static void a_resource_without_a_name_has_a_version(void **state)
{
    (void)state;
    struct library_bytes library;
    const struct pe_parts parts = {.version = {8, 9, 7, 29}};
    library_bytes_pe(&library, &parts);
    check_version(&library, true, 8, NULL);
}

static void a_version_of_zeros_says_nothing(void **state)
{
    (void)state;
    struct library_bytes library;
    const struct pe_parts parts = {.original_name = "cudnn64_9.dll"};
    library_bytes_pe(&library, &parts);
    check_version(&library, true, 0, "cudnn64_9.dll");
}

static void a_wrong_signature_has_no_version(void **state)
{
    (void)state;
    struct library_bytes library;
    library_bytes_pe(&library, &usual);
    size_t fixed = library.pe.version_info + 40;
    assert_int_equal(library_bytes_get(&library, fixed, 4), 0xFEEF04BD);
    library_bytes_put(&library, fixed, 4, 0xFEEF04BC);
    check_version(&library, true, 0, "cudnn_ops64_9.dll");
}

static void a_block_longer_than_the_resource_is_no_version(void **state)
{
    (void)state;
    struct library_bytes library;
    library_bytes_pe(&library, &usual);
    library_bytes_put(&library, library.pe.version_info, 2, UINT16_MAX);
    check_version(&library, false, 0, NULL);
    library_bytes_put(&library, library.pe.version_info, 2, 5);
    check_version(&library, false, 0, NULL);
    library_bytes_put(&library, library.pe.version_info, 2, 0);
    check_version(&library, false, 0, NULL);
}

static void another_key_than_version_info_is_no_version(void **state)
{
    (void)state;
    struct library_bytes library;
    library_bytes_pe(&library, &usual);
    library_bytes_put(&library, library.pe.version_info + 6, 2, 'X');
    check_version(&library, false, 0, NULL);
}

/* Each level's entry points back to the first directory. */
static void directories_that_lead_in_a_circle_have_no_version(void **state)
{
    (void)state;
    struct library_bytes library;
    library_bytes_pe(&library, &usual);
    library_bytes_put(&library, library.pe.resources + 28, 4, 0x80000000);
    check_version(&library, false, 0, NULL);
}

static void a_leaf_in_place_of_a_directory_has_no_version(void **state)
{
    (void)state;
    struct library_bytes library;
    library_bytes_pe(&library, &usual);
    library_bytes_put(&library, library.pe.resources + 31, 1, 0);
    check_version(&library, false, 0, NULL);
}

static void a_directory_in_place_of_a_leaf_has_no_version(void **state)
{
    (void)state;
    struct library_bytes library;
    library_bytes_pe(&library, &usual);
    size_t language = library.pe.resources + 32 + 24 + 16;
    assert_int_equal(library_bytes_get(&library, language, 4), 0x409);
    library_bytes_put(&library, language + 7, 1, 0x80);
    check_version(&library, false, 0, NULL);
}

static void data_outside_the_file_is_no_version(void **state)
{
    (void)state;
    struct library_bytes library;
    library_bytes_pe(&library, &usual);
    size_t leaf = library.pe.resources + 32 + 24 + 24;
    library_bytes_put(&library, leaf, 4, 0x00700000);
    check_version(&library, false, 0, NULL);
}

static void a_name_keeps_its_characters_outside_ascii(void **state)
{
    (void)state;
    struct library_bytes library;
    const struct pe_parts parts = {.version = {9, 5, 0, 50}, .original_name = "ab.dll"};
    library_bytes_pe(&library, &parts);
    uint64_t at = 0;
    assert_true(bytes_find(library_bytes_of(&library), 0, "a\0b\0.\0d\0l\0l", 11, &at));
    library_bytes_put(&library, (size_t)at, 4, 0xDE42D83D); /* U+1F642 */
    check_version(&library, true, 9, "\xF0\x9F\x99\x82.dll");
    library_bytes_put(&library, (size_t)at, 4, 0x0062D83D); /* half of it, and b */
    check_version(&library, true, 9,
                  "\xEF\xBF\xBD"
                  "b.dll");
}

/* Whatever byte is damaged, reading goes on within the file. */
static void every_damaged_byte_is_survived(void **state)
{
    (void)state;
    static const uint8_t values[] = {0x00, 0x01, 0x7F, 0x80, 0xFF};
    struct library_bytes library;
    library_bytes_pe(&library, &usual);
    struct bytes copy = library_bytes_cut(&library, library.size);
    uint8_t *data = (uint8_t *)(uintptr_t)copy.data;
    for (size_t at = 0; at < library.size; at++) {
        for (size_t i = 0; i < sizeof values; i++) {
            struct arena arena = {0};
            struct pe pe;
            data[at] = values[i];
            if (pe_open(&arena, copy, &pe) == NULL) {
                struct version version;
                const char *name;
                const char **names;
                size_t count;
                uint32_t value;
                pe_version_resource(&arena, &pe, &version, &name);
                pe_export_u32(&pe, "cudnn_ops_infer_version", &value);
                pe_export_name(&arena, &pe);
                pe_imports(&arena, &pe, PE_DIRECTORY_IMPORT, &names, &count);
                pe_imports(&arena, &pe, PE_DIRECTORY_DELAY_IMPORT, &names, &count);
                assert_true(count <= 512);
            }
            arena_done(&arena);
        }
        data[at] = library.data[at];
    }
    free(data);
}

RUN_TESTS(cmocka_unit_test(a_library_opens_with_its_machine_and_sections),
          cmocka_unit_test(pe32_has_its_directories_sixteen_bytes_earlier),
          cmocka_unit_test(pe32_that_says_it_is_pe32_plus_loses_its_directories),
          cmocka_unit_test(a_magic_of_neither_format_is_damage),
          cmocka_unit_test(a_short_optional_header_has_fewer_directories_or_is_damage),
          cmocka_unit_test(a_dos_program_is_told_from_a_library),
          cmocka_unit_test(a_header_far_outside_is_told_with_its_place),
          cmocka_unit_test(a_section_table_beyond_the_end_is_told),
          cmocka_unit_test(more_sections_than_the_loader_takes_are_damage),
          cmocka_unit_test(a_section_beyond_the_end_is_told_by_its_name),
          cmocka_unit_test(a_section_with_nothing_in_the_file_is_no_damage),
          cmocka_unit_test(the_headers_lie_in_memory_as_in_the_file),
          cmocka_unit_test(every_truncation_is_told_and_reads_nothing_outside),
          cmocka_unit_test(an_exported_symbol_is_found_wherever_it_stands),
          cmocka_unit_test(what_is_not_exported_is_not_found),
          cmocka_unit_test(a_forwarded_symbol_has_no_value_here),
          cmocka_unit_test(an_unsorted_table_hides_its_names),
          cmocka_unit_test(tables_that_lead_outside_export_nothing),
          cmocka_unit_test(counts_larger_than_the_tables_are_survived),
          cmocka_unit_test(an_ordinal_beyond_the_functions_is_no_symbol),
          cmocka_unit_test(a_symbol_whose_data_is_not_in_the_file_has_no_value),
          cmocka_unit_test(a_library_without_exports_has_no_name_of_its_own),
          cmocka_unit_test(imports_are_told_from_delayed_ones),
          cmocka_unit_test(imports_end_at_the_first_name_outside),
          cmocka_unit_test(imports_without_an_end_are_bounded),
          cmocka_unit_test(the_resource_gives_the_files_version_and_name),
          cmocka_unit_test(a_resource_without_a_name_has_a_version),
          cmocka_unit_test(a_version_of_zeros_says_nothing),
          cmocka_unit_test(a_wrong_signature_has_no_version),
          cmocka_unit_test(a_block_longer_than_the_resource_is_no_version),
          cmocka_unit_test(another_key_than_version_info_is_no_version),
          cmocka_unit_test(directories_that_lead_in_a_circle_have_no_version),
          cmocka_unit_test(a_leaf_in_place_of_a_directory_has_no_version),
          cmocka_unit_test(a_directory_in_place_of_a_leaf_has_no_version),
          cmocka_unit_test(data_outside_the_file_is_no_version),
          cmocka_unit_test(a_name_keeps_its_characters_outside_ascii),
          cmocka_unit_test(every_damaged_byte_is_survived))
