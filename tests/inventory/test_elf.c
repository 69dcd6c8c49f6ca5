#include "inventory/elf.h"

#include "tests/inventory/library_bytes.h"
#include "tests/test.h"

#define GRAPH_VERSION "cudnn_graph_version"

static const struct elf_parts usual = {
    .soname = "libcudnn_graph.so.9",
    .run_path = "$ORIGIN",
    .symbols = {{"cudnnCreate", 1},
                {GRAPH_VERSION, 0x00090500},
                {"memcpy", 2, .undefined = true},
                {"cudnnDestroy", 3},
                {"cudnn_b", 4},
                {"cudnn_c", 5},
                {"cudnn_d", 6}},
    .needed = {"libz.so.1", "libc.so.6"},
    .texts = {"some text"},
};

struct opened {
    struct arena arena;
    struct elf elf;
    struct elf_dynamic dynamic;
};

static void open_library(const struct library_bytes *library, struct opened *out)
{
    *out = (struct opened){0};
    assert_null(elf_open(&out->arena, library_bytes_of(library), &out->elf));
    assert_true(elf_dynamic(&out->arena, &out->elf, &out->dynamic));
}

static void check_symbol(const struct library_bytes *library, const char *name, bool there,
                         uint32_t value)
{
    struct opened opened;
    uint32_t found = 0;
    open_library(library, &opened);
    assert_int_equal(elf_symbol_u32(&opened.elf, &opened.dynamic, name, &found), there);
    if (there) {
        assert_int_equal(found, value);
    }
    arena_done(&opened.arena);
}

static void check_every_symbol(const struct library_bytes *library)
{
    check_symbol(library, "cudnnCreate", true, 1);
    check_symbol(library, GRAPH_VERSION, true, 0x00090500);
    check_symbol(library, "cudnnDestroy", true, 3);
    check_symbol(library, "cudnn_b", true, 4);
    check_symbol(library, "cudnn_c", true, 5);
    check_symbol(library, "cudnn_d", true, 6);
    check_symbol(library, "memcpy", false, 0); /* asked for, not defined */
    check_symbol(library, "cudnn_e", false, 0);
    check_symbol(library, "cudnn_graph_versio", false, 0);
    check_symbol(library, "", false, 0);
}

static void check_problem(const struct library_bytes *library, const char *problem)
{
    struct arena arena = {0};
    struct elf elf;
    const char *said = elf_open(&arena, library_bytes_of(library), &elf);
    assert_non_null(said);
    assert_string_equal(said, problem);
    arena_done(&arena);
}

/* The offset of the dynamic section's row with this tag. */
static size_t row_of(const struct library_bytes *library, uint64_t tag)
{
    size_t row = library->elf.dynamic;
    while (library_bytes_get(library, row, 8) != tag) {
        assert_int_not_equal(library_bytes_get(library, row, 8), 0);
        row += 16;
    }
    return row;
}

/* ---- header and segments ---- */

static void a_library_opens_with_its_machine_and_texts(void **state)
{
    (void)state;
    struct library_bytes library;
    struct opened opened;
    library_bytes_elf(&library, &usual);
    open_library(&library, &opened);
    assert_true(opened.elf.is_64);
    assert_true(opened.elf.is_little);
    assert_int_equal(opened.elf.type, ELF_TYPE_DYN);
    assert_int_equal(opened.elf.machine, ELF_MACHINE_X86_64);
    assert_string_equal(opened.dynamic.soname, "libcudnn_graph.so.9");
    assert_string_equal(opened.dynamic.run_path, "$ORIGIN");
    assert_int_equal(opened.dynamic.needed_count, 2);
    assert_string_equal(opened.dynamic.needed[0], "libz.so.1");
    assert_string_equal(opened.dynamic.needed[1], "libc.so.6");
    arena_done(&opened.arena);
}

static void a_32_bit_library_is_read_up_to_its_machine(void **state)
{
    (void)state;
    struct arena arena = {0};
    struct library_bytes library;
    struct elf elf;
    library_bytes_elf(&library, &usual);
    library_bytes_put(&library, 4, 1, 1);
    library_bytes_put(&library, 18, 2, ELF_MACHINE_386);
    library_bytes_put(&library, 32, 8, UINT64_MAX); /* would be an offset of program headers */
    assert_null(elf_open(&arena, library_bytes_of(&library), &elf));
    assert_false(elf.is_64);
    assert_int_equal(elf.machine, ELF_MACHINE_386);
    assert_int_equal(elf.program_count, 0);
    arena_done(&arena);
}

static void a_big_endian_library_is_read_up_to_its_machine_in_its_own_order(void **state)
{
    (void)state;
    struct arena arena = {0};
    struct library_bytes library;
    struct elf elf;
    library_bytes_elf(&library, &usual);
    library_bytes_put(&library, 5, 1, 2);
    library_bytes_put(&library, 18, 2, 0x3E00); /* 62 the other way round */
    assert_null(elf_open(&arena, library_bytes_of(&library), &elf));
    assert_false(elf.is_little);
    assert_int_equal(elf.machine, ELF_MACHINE_X86_64);
    arena_done(&arena);
}

static void an_unknown_class_order_or_version_is_damage(void **state)
{
    (void)state;
    static const struct {
        size_t at;
        uint8_t value;
    } damages[] = {{4, 0}, {4, 3}, {5, 0}, {5, 3}, {6, 0}, {6, 2}};
    for (size_t i = 0; i < sizeof damages / sizeof *damages; i++) {
        struct library_bytes library;
        library_bytes_elf(&library, &usual);
        library_bytes_put(&library, damages[i].at, 1, damages[i].value);
        check_problem(&library, "has a damaged header: it says no known class, byte order or "
                                "version of ELF");
    }
}

static void program_headers_beyond_the_end_are_told(void **state)
{
    (void)state;
    struct library_bytes library;
    char problem[96];
    library_bytes_elf(&library, &usual);
    library_bytes_put(&library, 56, 2, UINT16_MAX);
    snprintf(problem, sizeof problem, "ends before its program headers do (%zu of %zu bytes)",
             library.size, library.elf.program_headers + 56 * (size_t)UINT16_MAX);
    check_problem(&library, problem);
    library_bytes_elf(&library, &usual);
    library_bytes_put(&library, 32, 8, UINT64_MAX);
    snprintf(problem, sizeof problem,
             "ends before its program headers do (%zu of 18446744073709551615 bytes)",
             library.size);
    check_problem(&library, problem);
}

static void program_headers_that_are_too_short_are_damage(void **state)
{
    (void)state;
    struct library_bytes library;
    library_bytes_elf(&library, &usual);
    library_bytes_put(&library, 54, 2, 32);
    check_problem(&library, "has a damaged header: its program headers are too short");
}

static void a_segment_beyond_the_end_is_told_by_its_number(void **state)
{
    (void)state;
    struct library_bytes library;
    char problem[96];
    library_bytes_elf(&library, &usual);
    size_t segment = library.elf.program_headers + 56;
    uint64_t offset = library_bytes_get(&library, segment + 8, 8);
    library_bytes_put(&library, segment + 32, 8, library.size);
    snprintf(problem, sizeof problem, "ends before segment 1 does (%zu of %zu bytes)", library.size,
             library.size + (size_t)offset);
    check_problem(&library, problem);
    library_bytes_put(&library, segment + 32, 8, UINT64_MAX);
    snprintf(problem, sizeof problem,
             "ends before segment 1 does (%zu of 18446744073709551615 bytes)", library.size);
    check_problem(&library, problem);
}

static void a_section_table_beyond_the_end_is_told(void **state)
{
    (void)state;
    struct library_bytes library;
    char problem[96];
    library_bytes_elf(&library, &usual);
    size_t whole = library.size;
    library.size--;
    snprintf(problem, sizeof problem, "ends before its section headers do (%zu of %zu bytes)",
             library.size, whole);
    check_problem(&library, problem);
}

static void every_truncation_is_told_and_reads_nothing_outside(void **state)
{
    (void)state;
    struct library_bytes library;
    library_bytes_elf(&library, &usual);
    for (size_t size = 0; size < library.size; size++) {
        struct arena arena = {0};
        struct bytes cut = library_bytes_cut(&library, size);
        struct elf elf;
        const char *problem = elf_open(&arena, cut, &elf);
        assert_non_null(problem);
        assert_non_null(strstr(problem, "ends before"));
        arena_done(&arena);
        free((void *)(uintptr_t)cut.data);
    }
}

/* ---- the dynamic section ---- */

static void without_a_dynamic_section_nothing_can_load_it(void **state)
{
    (void)state;
    struct arena arena = {0};
    struct library_bytes library;
    struct elf_parts parts = usual;
    struct elf elf;
    struct elf_dynamic dynamic;
    parts.no_dynamic = true;
    library_bytes_elf(&library, &parts);
    assert_null(elf_open(&arena, library_bytes_of(&library), &elf));
    assert_false(elf_dynamic(&arena, &elf, &dynamic));
    arena_done(&arena);
}

static void check_run_path(const char *run_path, const char *rpath, const char *expected)
{
    struct library_bytes library;
    struct opened opened;
    const struct elf_parts parts = {.soname = "x", .run_path = run_path, .rpath = rpath};
    library_bytes_elf(&library, &parts);
    open_library(&library, &opened);
    if (expected == NULL) {
        assert_null(opened.dynamic.run_path);
    } else {
        assert_non_null(opened.dynamic.run_path);
        assert_string_equal(opened.dynamic.run_path, expected);
    }
    arena_done(&opened.arena);
}

static void runpath_hides_rpath(void **state)
{
    (void)state;
    check_run_path("/run", "/r", "/run");
    check_run_path("/run", NULL, "/run");
    check_run_path(NULL, "/r", "/r");
    check_run_path(NULL, NULL, NULL);
}

static void texts_outside_the_string_table_are_left_out(void **state)
{
    (void)state;
    struct library_bytes library;
    struct opened opened;
    library_bytes_elf(&library, &usual);
    library_bytes_put(&library, row_of(&library, 14) + 8, 8, UINT64_MAX);
    library_bytes_put(&library, row_of(&library, 29) + 8, 8, 0x4000);
    library_bytes_put(&library, row_of(&library, 1) + 8, 8, 0x4000);
    open_library(&library, &opened);
    assert_null(opened.dynamic.soname);
    assert_null(opened.dynamic.run_path);
    assert_int_equal(opened.dynamic.needed_count, 1);
    assert_string_equal(opened.dynamic.needed[0], "libc.so.6");
    arena_done(&opened.arena);
}

static void a_string_table_outside_the_file_has_no_texts(void **state)
{
    (void)state;
    struct library_bytes library;
    struct opened opened;
    library_bytes_elf(&library, &usual);
    library_bytes_put(&library, row_of(&library, 5) + 8, 8, 0x700000);
    open_library(&library, &opened);
    assert_null(opened.dynamic.soname);
    assert_int_equal(opened.dynamic.needed_count, 0);
    arena_done(&opened.arena);
    check_symbol(&library, GRAPH_VERSION, false, 0);
}

static void a_text_ends_where_the_string_table_does(void **state)
{
    (void)state;
    struct library_bytes library;
    struct opened opened;
    library_bytes_elf(&library, &usual);
    uint64_t soname = library_bytes_get(&library, row_of(&library, 14) + 8, 8);
    library_bytes_put(&library, row_of(&library, 10) + 8, 8, soname + 4); /* "libc", no NUL */
    open_library(&library, &opened);
    assert_null(opened.dynamic.soname);
    arena_done(&opened.arena);
}

static void what_stands_behind_the_end_of_the_dynamic_section_is_not_read(void **state)
{
    (void)state;
    struct library_bytes library;
    struct opened opened;
    library_bytes_elf(&library, &usual);
    size_t end = library.elf.dynamic;
    while (library_bytes_get(&library, end, 8) != 0) {
        end += 16;
    }
    uint64_t name = library_bytes_get(&library, row_of(&library, 1) + 8, 8);
    library_bytes_put(&library, end + 16, 8, 1);
    library_bytes_put(&library, end + 24, 8, name);
    open_library(&library, &opened);
    assert_int_equal(opened.dynamic.needed_count, 2);
    arena_done(&opened.arena);
}

static void a_dynamic_section_without_an_end_is_bounded_by_the_file(void **state)
{
    (void)state;
    struct library_bytes library;
    struct opened opened;
    library_bytes_elf(&library, &usual);
    uint64_t name = library_bytes_get(&library, row_of(&library, 1) + 8, 8);
    size_t table = library.size;
    for (size_t row = 0; row < 600; row++) {
        library_bytes_put(&library, table + 16 * row, 8, row < 590 ? 1 : 14);
        library_bytes_put(&library, table + 16 * row + 8, 8, name);
    }
    library_bytes_put(&library, table, 8, 5); /* the string table's address */
    library_bytes_put(&library, table + 8, 8,
                      library_bytes_get(&library, row_of(&library, 5) + 8, 8));
    library_bytes_put(&library, table + 16, 8, 10);
    library_bytes_put(&library, table + 24, 8, 0x1000);
    size_t dynamic = library.elf.program_headers + 2 * 56;
    library_bytes_put(&library, dynamic + 8, 8, table);
    library_bytes_put(&library, dynamic + 32, 8, library.size - table);
    open_library(&library, &opened);
    assert_int_equal(opened.dynamic.needed_count, 512);
    assert_string_equal(opened.dynamic.soname, "libz.so.1");
    arena_done(&opened.arena);
}

/* ---- symbols ---- */

static void the_gnu_hash_table_finds_every_symbol(void **state)
{
    (void)state;
    struct library_bytes library;
    library_bytes_elf(&library, &usual);
    assert_int_not_equal(library.elf.gnu_hash, 0);
    check_every_symbol(&library);
}

static void the_sysv_hash_table_finds_every_symbol(void **state)
{
    (void)state;
    struct library_bytes library;
    struct elf_parts parts = usual;
    parts.sysv_hash = true;
    parts.no_gnu_hash = true;
    library_bytes_elf(&library, &parts);
    assert_int_not_equal(library.elf.hash, 0);
    assert_int_equal(library.elf.gnu_hash, 0);
    check_every_symbol(&library);
}

static void the_sysv_table_serves_when_the_gnu_one_is_damaged(void **state)
{
    (void)state;
    struct library_bytes library;
    struct elf_parts parts = usual;
    parts.sysv_hash = true;
    library_bytes_elf(&library, &parts);
    library_bytes_put(&library, library.elf.gnu_hash, 4, 0); /* no buckets */
    check_symbol(&library, GRAPH_VERSION, true, 0x00090500);
}

static void without_a_hash_table_nothing_is_found(void **state)
{
    (void)state;
    struct library_bytes library;
    struct elf_parts parts = usual;
    parts.no_gnu_hash = true;
    library_bytes_elf(&library, &parts);
    check_symbol(&library, GRAPH_VERSION, false, 0);
}

static void sysv_chains_that_run_in_a_circle_end(void **state)
{
    (void)state;
    struct library_bytes library;
    struct elf_parts parts = usual;
    parts.sysv_hash = true;
    parts.no_gnu_hash = true;
    library_bytes_elf(&library, &parts);
    size_t chains = library.elf.hash + 8 + 4 * 3;
    for (size_t i = 1; i < library.elf.symbol_count; i++) {
        library_bytes_put(&library, chains + 4 * i, 4, i); /* each to itself */
    }
    check_symbol(&library, "cudnn_e", false, 0);
    library_bytes_put(&library, chains + 4, 4, UINT32_MAX);
    check_symbol(&library, "cudnn_e", false, 0);
}

static void gnu_chains_without_an_end_stop_at_the_files(void **state)
{
    (void)state;
    struct library_bytes library;
    library_bytes_elf(&library, &usual);
    size_t chains = library.elf.gnu_hash + 24 + 4 * 3;
    for (size_t i = 0; i + 2 < library.elf.symbol_count; i++) {
        uint64_t hash = library_bytes_get(&library, chains + 4 * i, 4);
        library_bytes_put(&library, chains + 4 * i, 4, hash & ~UINT64_C(1));
    }
    check_symbol(&library, "cudnn_e", false, 0);
    check_symbol(&library, GRAPH_VERSION, true, 0x00090500);
}

static void buckets_that_lead_outside_find_nothing(void **state)
{
    (void)state;
    static const uint32_t indexes[] = {0, 1, 0x7FFFFFFF, UINT32_MAX}; /* 1 is undefined */
    for (size_t i = 0; i < sizeof indexes / sizeof *indexes; i++) {
        struct library_bytes library;
        library_bytes_elf(&library, &usual);
        for (size_t bucket = 0; bucket < 3; bucket++) {
            library_bytes_put(&library, library.elf.gnu_hash + 24 + 4 * bucket, 4, indexes[i]);
        }
        check_symbol(&library, GRAPH_VERSION, false, 0);
    }
}

/* All buckets lead to the first chain: the others' symbols are not found, as that one ends. */
static void a_gnu_chain_ends_where_it_says(void **state)
{
    (void)state;
    static const char *const names[] = {"cudnnCreate", GRAPH_VERSION, "cudnnDestroy",
                                        "cudnn_b",     "cudnn_c",     "cudnn_d"};
    struct library_bytes library;
    struct opened opened;
    size_t found = 0;
    library_bytes_elf(&library, &usual);
    for (size_t bucket = 0; bucket < 3; bucket++) {
        library_bytes_put(&library, library.elf.gnu_hash + 24 + 4 * bucket, 4, 2);
    }
    open_library(&library, &opened);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        uint32_t value;
        found += elf_symbol_u32(&opened.elf, &opened.dynamic, names[i], &value) ? 1 : 0;
    }
    assert_in_range(found, 1, 5);
    arena_done(&opened.arena);
}

static void a_table_larger_than_the_file_finds_nothing(void **state)
{
    (void)state;
    struct library_bytes library;
    for (size_t field = 0; field <= 8; field += 8) { /* buckets, bloom words */
        library_bytes_elf(&library, &usual);
        library_bytes_put(&library, library.elf.gnu_hash + field, 4, UINT32_MAX);
        check_symbol(&library, GRAPH_VERSION, false, 0);
    }
    struct elf_parts parts = usual;
    parts.sysv_hash = true;
    parts.no_gnu_hash = true;
    library_bytes_elf(&library, &parts);
    library_bytes_put(&library, library.elf.hash, 4, UINT32_MAX);
    check_symbol(&library, GRAPH_VERSION, false, 0);
}

static void a_symbol_whose_data_is_not_in_the_file_has_no_value(void **state)
{
    (void)state;
    struct library_bytes library;
    library_bytes_elf(&library, &usual);
    for (size_t i = 1; i < library.elf.symbol_count; i++) {
        library_bytes_put(&library, library.elf.symbols + 24 * i + 8, 8, 0x700000);
    }
    check_symbol(&library, GRAPH_VERSION, false, 0);
    check_symbol(&library, "cudnnCreate", false, 0);
}

/* ---- sections ---- */

static void a_section_is_found_by_its_name(void **state)
{
    (void)state;
    struct arena arena = {0};
    struct library_bytes library;
    struct elf elf;
    struct bytes bytes;
    library_bytes_elf(&library, &usual);
    assert_null(elf_open(&arena, library_bytes_of(&library), &elf));
    assert_true(elf_section(&elf, ".rodata", &bytes));
    assert_int_equal(bytes.size, sizeof "first" + sizeof "some text");
    assert_memory_equal(bytes.data, "first\0some text", bytes.size);
    assert_false(elf_section(&elf, ".rodat", &bytes));
    assert_false(elf_section(&elf, ".data", &bytes));
    arena_done(&arena);
}

static void check_no_rodata(const struct library_bytes *library)
{
    struct arena arena = {0};
    struct elf elf;
    struct bytes bytes;
    assert_null(elf_open(&arena, library_bytes_of(library), &elf));
    assert_false(elf_section(&elf, ".rodata", &bytes));
    arena_done(&arena);
}

static void sections_outside_or_not_in_the_file_are_not_found(void **state)
{
    (void)state;
    struct library_bytes library;
    struct elf_parts parts = usual;
    library_bytes_elf(&library, &usual);
    library_bytes_put(&library, library.elf.section_headers + 64 + 4, 4, 8); /* NOBITS */
    check_no_rodata(&library);
    library_bytes_elf(&library, &usual);
    library_bytes_put(&library, library.elf.section_headers + 64 + 32, 8, UINT64_MAX);
    check_no_rodata(&library);
    library_bytes_elf(&library, &usual);
    library_bytes_put(&library, 62, 2, 7); /* names in a section that is not there */
    check_no_rodata(&library);
    library_bytes_elf(&library, &usual);
    library_bytes_put(&library, 58, 2, 40); /* headers of the 32-bit format's size */
    check_no_rodata(&library);
    parts.no_sections = true;
    library_bytes_elf(&library, &parts);
    check_no_rodata(&library);
}

static void every_damaged_byte_is_survived(void **state)
{
    (void)state;
    static const uint8_t values[] = {0x00, 0x01, 0x7F, 0x80, 0xFF};
    struct library_bytes library;
    struct elf_parts parts = usual;
    parts.sysv_hash = true;
    library_bytes_elf(&library, &parts);
    struct bytes copy = library_bytes_cut(&library, library.size);
    uint8_t *data = (uint8_t *)(uintptr_t)copy.data;
    for (size_t at = 0; at < library.size; at++) {
        for (size_t i = 0; i < sizeof values; i++) {
            struct arena arena = {0};
            struct elf elf;
            data[at] = values[i];
            if (elf_open(&arena, copy, &elf) == NULL) {
                struct elf_dynamic dynamic;
                struct bytes bytes;
                uint32_t value;
                elf_section(&elf, ".rodata", &bytes);
                if (elf_dynamic(&arena, &elf, &dynamic)) {
                    elf_symbol_u32(&elf, &dynamic, GRAPH_VERSION, &value);
                    elf_symbol_u32(&elf, &dynamic, "cudnn_e", &value);
                    assert_true(dynamic.needed_count <= 512);
                }
            }
            arena_done(&arena);
        }
        data[at] = library.data[at];
    }
    free(data);
}

RUN_TESTS(cmocka_unit_test(a_library_opens_with_its_machine_and_texts),
          cmocka_unit_test(a_32_bit_library_is_read_up_to_its_machine),
          cmocka_unit_test(a_big_endian_library_is_read_up_to_its_machine_in_its_own_order),
          cmocka_unit_test(an_unknown_class_order_or_version_is_damage),
          cmocka_unit_test(program_headers_beyond_the_end_are_told),
          cmocka_unit_test(program_headers_that_are_too_short_are_damage),
          cmocka_unit_test(a_segment_beyond_the_end_is_told_by_its_number),
          cmocka_unit_test(a_section_table_beyond_the_end_is_told),
          cmocka_unit_test(every_truncation_is_told_and_reads_nothing_outside),
          cmocka_unit_test(without_a_dynamic_section_nothing_can_load_it),
          cmocka_unit_test(runpath_hides_rpath),
          cmocka_unit_test(texts_outside_the_string_table_are_left_out),
          cmocka_unit_test(a_string_table_outside_the_file_has_no_texts),
          cmocka_unit_test(a_text_ends_where_the_string_table_does),
          cmocka_unit_test(what_stands_behind_the_end_of_the_dynamic_section_is_not_read),
          cmocka_unit_test(a_dynamic_section_without_an_end_is_bounded_by_the_file),
          cmocka_unit_test(the_gnu_hash_table_finds_every_symbol),
          cmocka_unit_test(the_sysv_hash_table_finds_every_symbol),
          cmocka_unit_test(the_sysv_table_serves_when_the_gnu_one_is_damaged),
          cmocka_unit_test(without_a_hash_table_nothing_is_found),
          cmocka_unit_test(sysv_chains_that_run_in_a_circle_end),
          cmocka_unit_test(gnu_chains_without_an_end_stop_at_the_files),
          cmocka_unit_test(buckets_that_lead_outside_find_nothing),
          cmocka_unit_test(a_gnu_chain_ends_where_it_says),
          cmocka_unit_test(a_table_larger_than_the_file_finds_nothing),
          cmocka_unit_test(a_symbol_whose_data_is_not_in_the_file_has_no_value),
          cmocka_unit_test(a_section_is_found_by_its_name),
          cmocka_unit_test(sections_outside_or_not_in_the_file_are_not_found),
          cmocka_unit_test(every_damaged_byte_is_survived))
