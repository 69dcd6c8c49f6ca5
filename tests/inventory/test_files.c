#include "inventory/files.h"

#include "base/text.h"
#include "tests/test.h"

static void check_name(const char *name, int generation, const char *component, const char *version,
                       bool windows)
{
    struct files_name parsed;
    char text[VERSION_TEXT_SIZE];
    assert_true(files_parse_name(name, &parsed));
    assert_int_equal(parsed.generation, generation);
    assert_string_equal(parsed.component, component);
    assert_string_equal(version_text(parsed.version, parsed.version.count, text), version);
    assert_int_equal(parsed.windows, windows);
}

static void windows_names_have_generation_and_component(void **state)
{
    (void)state;
    check_name("cudnn64_9.dll", 9, "shim", "", true);
    check_name("cudnn64_7.dll", 7, "shim", "", true);
    check_name("cudnn_ops_infer64_8.dll", 8, "ops_infer", "", true);
    check_name("cudnn_engines_precompiled64_9.dll", 9, "engines_precompiled", "", true);
    check_name("cudnn_newcomer64_10.dll", 10, "newcomer", "", true);
}

static void the_case_of_windows_names_does_not_matter(void **state)
{
    (void)state;
    check_name("CUDNN64_9.DLL", 9, "shim", "", true);
    check_name("CuDNN_Ops64_9.Dll", 9, "ops", "", true);
    assert_ptr_equal(files_find("CUDNN_OPS64_9.DLL"), files_find("cudnn_ops64_9.dll"));
    assert_non_null(files_find("CUDNN_OPS64_9.DLL"));
}

static void linux_names_have_a_version_when_it_is_more_than_the_major(void **state)
{
    (void)state;
    check_name("libcudnn.so.9", 9, "shim", "", false);
    check_name("libcudnn.so.9.5", 9, "shim", "9.5", false);
    check_name("libcudnn.so.9.5.0", 9, "shim", "9.5.0", false);
    check_name("libcudnn_ops.so.9.5.0.50", 9, "ops", "9.5.0.50", false);
    check_name("libcudnn_adv_infer.so.8.9.7", 8, "adv_infer", "8.9.7", false);
}

static void the_case_of_linux_names_matters(void **state)
{
    (void)state;
    struct files_name parsed;
    assert_false(files_parse_name("libCUDNN.so.9", &parsed));
    assert_false(files_parse_name("libcudnn_Ops.so.9", &parsed));
    assert_false(files_parse_name("libcudnn.SO.9", &parsed));
}

static void other_names_are_none(void **state)
{
    (void)state;
    static const char *const names[] = {
        "",
        "cudnn",
        "cudnn.dll",
        "cudnn64_9",
        "cudnn64_.dll",
        "cudnn64_0.dll",
        "cudnn64_9.dll.bak",
        "cudnn64_9.5.dll",
        "cudnn64_9x.dll",
        "cudnn64_1000.dll",
        "cudnn64_99999999999999999999.dll",
        "cudnn32_9.dll",
        "cudnn_64_9.dll",
        "cudnnops64_9.dll",
        "cudnn-ops64_9.dll",
        "cudnn_ops-x64_9.dll",
        "xcudnn64_9.dll",
        "64_9.dll",
        "nn64_9.dll",
        ".dll",
        "libcudnn",
        "libcudnn.so",
        "libcudnn.so.",
        "libcudnn.so.x",
        "libcudnn.so.0",
        "libcudnn.so.9.",
        "libcudnn.so..9",
        "libcudnn.so.9.5.0.50.1",
        "libcudnn.so.9.so.9",
        "libcudnn.so.9.5.0-1",
        "libcudnn.so.4294967305",
        "libcudnnops.so.9",
        "libcudnn_.so.9",
        "libcudnn-ops.so.9",
        "cudnn.so.9",
        "libcublas.so.12",
        "cublas64_12.dll",
        "zlibwapi.dll",
    };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        struct files_name parsed = {.generation = 77};
        if (files_parse_name(names[i], &parsed)) {
            fail_msg("'%s' was taken for a cuDNN library", names[i]);
        }
        assert_int_equal(parsed.generation, 77);
        assert_null(files_find(names[i]));
    }
}

static void import_libraries_static_libraries_and_the_frontend_are_none(void **state)
{
    (void)state;
    static const char *const names[] = {
        "cudnn.lib",
        "cudnn64_9.lib",
        "cudnn_ops64_9.lib",
        "cudnn_static64_9.lib",
        "libcudnn_static.a",
        "libcudnn_ops_static_v9.a",
        "cudnn_frontend64_9.dll",
        "CUDNN_FRONTEND64_1.DLL",
        "libcudnn_frontend.so.1",
        "libcudnn_frontend_x.so.1.2.0",
        "cudnn-frontend64_9.dll",
        "libcudnn-frontend.so.1",
        "cudnn_frontend.h",
    };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        struct files_name parsed;
        if (files_parse_name(names[i], &parsed)) {
            fail_msg("'%s' was taken for a cuDNN library", names[i]);
        }
    }
}

static void a_component_is_as_long_as_there_is_room_for(void **state)
{
    (void)state;
    struct files_name parsed;
    char name[128];
    char component[64];
    memset(component, 'a', sizeof component);
    for (size_t length = 46; length <= 50; length++) {
        snprintf(name, sizeof name, "cudnn_%.*s64_9.dll", (int)length, component);
        assert_int_equal(files_parse_name(name, &parsed), length < sizeof parsed.component);
        snprintf(name, sizeof name, "libcudnn_%.*s.so.9", (int)length, component);
        assert_int_equal(files_parse_name(name, &parsed), length < sizeof parsed.component);
        if (length < sizeof parsed.component) {
            assert_int_equal(strlen(parsed.component), length);
        }
    }
}

/* ---- the table ---- */

static const struct cudnn_file *row_of(const char *name)
{
    const struct cudnn_file *row = files_find(name);
    if (row == NULL) {
        fail_msg("the table does not have '%s'", name);
    }
    return row;
}

static void a_linux_name_with_any_version_is_the_row_of_its_major(void **state)
{
    (void)state;
    const struct cudnn_file *ops = row_of("libcudnn_ops.so.9");
    assert_string_equal(ops->linux_name, "libcudnn_ops.so.9");
    assert_string_equal(ops->windows_name, "cudnn_ops64_9.dll");
    assert_ptr_equal(files_find("libcudnn_ops.so.9.5.0"), ops);
    assert_ptr_equal(files_find("cudnn_ops64_9.dll"), ops);
    assert_null(files_find("libcudnn_ops.so"));
    assert_null(files_find("libcudnn_ops.so.8"));
    assert_null(files_find("libcudnn_ops.so.95"));
    assert_null(files_find("cudnn_ops64_8.dll"));
    assert_null(files_find("cudnn_newcomer64_9.dll"));
}

static void every_row_is_found_by_both_of_its_names(void **state)
{
    (void)state;
    assert_int_equal(files_count(), 18);
    for (size_t i = 0; i < files_count(); i++) {
        const struct cudnn_file *row = files_at(i);
        struct files_name parsed;
        assert_ptr_equal(files_find(row->windows_name), row);
        assert_ptr_equal(files_find(row->linux_name), row);
        assert_true(files_parse_name(row->windows_name, &parsed));
        assert_int_equal(parsed.generation, row->generation);
        bool whole = text_equal(row->component, "all"); /* 7: one library, no shim */
        assert_string_equal(parsed.component, whole ? "shim" : row->component);
    }
    assert_null(files_at(files_count()));
}

static void the_rows_say_what_nvidias_files_are(void **state)
{
    (void)state;
    const struct cudnn_file *graph = row_of("cudnn_graph64_9.dll");
    assert_int_equal(graph->generation, 9);
    assert_string_equal(graph->component, "graph");
    assert_int_equal(graph->required, FILES_JIT);
    assert_false(graph->has_resource);
    assert_string_equal(graph->version_export, "cudnn_graph_version");
    assert_null(graph->imports);
    assert_false(graph->names_cuda);
    assert_false(version_known(graph->since));

    const struct cudnn_file *adv = row_of("cudnn_adv64_9.dll");
    assert_int_equal(adv->required, FILES_FULL);
    assert_true(adv->has_resource);
    assert_string_equal(adv->version_export, "cudnn_adv_infer_version");
    assert_string_equal(adv->imports, "ops+graph");
    assert_true(adv->names_cuda);

    const struct cudnn_file *tensor_ir = row_of("cudnn_engines_tensor_ir64_9.dll");
    assert_int_equal(tensor_ir->since.part[1], 21);
    assert_false(tensor_ir->has_resource);
    assert_null(tensor_ir->version_export);

    assert_int_equal(row_of("cudnn_ext64_9.dll")->required, FILES_OPTIONAL);
    assert_null(row_of("cudnn64_9.dll")->version_export);
}

RUN_TESTS(cmocka_unit_test(windows_names_have_generation_and_component),
          cmocka_unit_test(the_case_of_windows_names_does_not_matter),
          cmocka_unit_test(linux_names_have_a_version_when_it_is_more_than_the_major),
          cmocka_unit_test(the_case_of_linux_names_matters), cmocka_unit_test(other_names_are_none),
          cmocka_unit_test(import_libraries_static_libraries_and_the_frontend_are_none),
          cmocka_unit_test(a_component_is_as_long_as_there_is_room_for),
          cmocka_unit_test(a_linux_name_with_any_version_is_the_row_of_its_major),
          cmocka_unit_test(every_row_is_found_by_both_of_its_names),
          cmocka_unit_test(the_rows_say_what_nvidias_files_are))
