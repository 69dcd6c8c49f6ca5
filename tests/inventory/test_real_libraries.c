/* NVIDIA's own files, as scripts/fetch_cudnn unpacked them under CUDNND_TEST_WHEELS. What is
   expected was read with other tools than this project's: objdump -p, readelf, strings -el. */
#include "inventory/identify.h"

#include "os/file.h"
#include "os/path.h"
#include "tests/test.h"

struct expected {
    const char *file;
    const char *version; /* "" = it says none */
    int source;          /* enum version_source */
    int cuda_major;      /* 0 = it names no CUDA library */
    const char *imports; /* the cuDNN libraries among them, in order */
};

enum {
    RESOURCE = VERSION_SOURCE_RESOURCE,
    SYMBOL = VERSION_SOURCE_EXPORT,
    NONE = VERSION_SOURCE_NONE
};

/* The directory of the wheel's libraries; the test is skipped when there is none. */
static char *wheel(struct arena *arena, const char *name, const char *directory)
{
    const char *wheels = getenv("CUDNND_TEST_WHEELS");
    struct os_file_info info;
    if (wheels == NULL || wheels[0] == '\0') {
        skip();
    }
    char *path = os_path_join(arena, wheels, name);
    path = os_path_join(arena, path, "nvidia");
    path = os_path_join(arena, path, "cudnn");
    path = os_path_join(arena, path, directory);
    if (os_file_stat(path, &info, NULL) != 0) {
        arena_done(arena);
        skip();
    }
    return path;
}

static const char *cudnn_imports(struct arena *arena, const struct identity *identity)
{
    const char *all = "";
    for (size_t i = 0; i < identity->import_count; i++) {
        if (strstr(identity->imports[i], "cudnn") != NULL) {
            all =
                arena_printf(arena, "%s%s%s", all, all[0] == '\0' ? "" : " ", identity->imports[i]);
        }
    }
    return all;
}

static void check_file(struct arena *arena, const char *directory, const struct expected *expected)
{
    struct identity identity;
    struct err err = {0};
    char version[VERSION_TEXT_SIZE];
    const char *path = os_path_join(arena, directory, expected->file);
    print_message("%s\n", expected->file);
    assert_int_equal(identify_library(arena, NULL, path, expected->file, &identity, &err), 0);
    assert_null(identity.problem);
    assert_true(identity.is_library);
    assert_int_equal(identity.arch, ARCH_X86_64);
    version_text(identity.version, identity.version.count, version);
    assert_string_equal(version, expected->version);
    assert_int_equal(identity.version_source, expected->source);
    assert_non_null(identity.internal_name);
    assert_string_equal(identity.internal_name, expected->file);
    assert_int_equal(identity.cuda_major, expected->cuda_major);
    assert_string_equal(cudnn_imports(arena, &identity), expected->imports);
}

/* Every library of the wheel, and no other one is there. */
static void check_wheel(const char *name, const char *directory, const struct expected *expected,
                        size_t count)
{
    struct arena arena = {0};
    const char *path = wheel(&arena, name, directory);
    struct os_dir_list list;
    size_t libraries = 0;
    assert_int_equal(os_dir_read(&arena, path, 1000, &list, NULL), 0);
    for (size_t i = 0; i < list.count; i++) {
        libraries += strstr(list.entries[i].name, "cudnn") != NULL ? 1 : 0;
    }
    assert_int_equal(libraries, count);
    for (size_t i = 0; i < count; i++) {
        check_file(&arena, path, &expected[i]);
    }
    arena_done(&arena);
}

static void windows_8_9_7_29_for_cuda_12(void **state)
{
    (void)state;
    static const struct expected files[] = {
        {"cudnn64_8.dll", "8.9.7.29", RESOURCE, 0, ""},
        {"cudnn_adv_infer64_8.dll", "8.9.7.29", RESOURCE, 0, "cudnn_ops_infer64_8.dll"},
        {"cudnn_adv_train64_8.dll", "8.9.7.29", RESOURCE, 0,
         "cudnn_ops_infer64_8.dll cudnn_ops_train64_8.dll cudnn_adv_infer64_8.dll"},
        {"cudnn_cnn_infer64_8.dll", "8.9.7.29", RESOURCE, 0, "cudnn_ops_infer64_8.dll"},
        {"cudnn_cnn_train64_8.dll", "8.9.7.29", RESOURCE, 0,
         "cudnn_ops_infer64_8.dll cudnn_ops_train64_8.dll cudnn_cnn_infer64_8.dll"},
        {"cudnn_ops_infer64_8.dll", "8.9.7.29", RESOURCE, 12, ""},
        {"cudnn_ops_train64_8.dll", "8.9.7.29", RESOURCE, 0, "cudnn_ops_infer64_8.dll"},
    };
    check_wheel("nvidia-cudnn-cu12-8.9.7.29-win_amd64", "bin", files, sizeof files / sizeof *files);
}

static void windows_9_5_0_50_for_cuda_12(void **state)
{
    (void)state;
    static const struct expected files[] = {
        {"cudnn64_9.dll", "9.5.0.50", RESOURCE, 0, ""},
        {"cudnn_adv64_9.dll", "9.5.0.50", RESOURCE, 12, "cudnn_ops64_9.dll cudnn_graph64_9.dll"},
        {"cudnn_cnn64_9.dll", "9.5.0.50", RESOURCE, 0, "cudnn_ops64_9.dll cudnn_graph64_9.dll"},
        {"cudnn_engines_precompiled64_9.dll", "9.5.0.50", RESOURCE, 12, "cudnn_graph64_9.dll"},
        {"cudnn_engines_runtime_compiled64_9.dll", "9.5.0.50", RESOURCE, 0, "cudnn_graph64_9.dll"},
        {"cudnn_graph64_9.dll", "9.5.0", SYMBOL, 0, ""},
        {"cudnn_heuristic64_9.dll", "", NONE, 0, "cudnn_graph64_9.dll"},
        {"cudnn_ops64_9.dll", "9.5.0.50", RESOURCE, 0, "cudnn_graph64_9.dll"},
    };
    check_wheel("nvidia-cudnn-cu12-9.5.0.50-win_amd64", "bin", files, sizeof files / sizeof *files);
}

static void windows_9_28_1_4_for_cuda_13(void **state)
{
    (void)state;
    static const struct expected files[] = {
        {"cudnn64_9.dll", "9.28.1.4", RESOURCE, 0, ""},
        {"cudnn_adv64_9.dll", "9.28.1.4", RESOURCE, 13, "cudnn_ops64_9.dll cudnn_graph64_9.dll"},
        {"cudnn_cnn64_9.dll", "9.28.1.4", RESOURCE, 0, "cudnn_ops64_9.dll cudnn_graph64_9.dll"},
        {"cudnn_engines_precompiled64_9.dll", "9.28.1.4", RESOURCE, 13, "cudnn_graph64_9.dll"},
        {"cudnn_engines_runtime_compiled64_9.dll", "9.28.1.4", RESOURCE, 0, "cudnn_graph64_9.dll"},
        {"cudnn_engines_tensor_ir64_9.dll", "", NONE, 0, "cudnn_graph64_9.dll"},
        {"cudnn_ext64_9.dll", "9.28.1.4", RESOURCE, 0, ""},
        {"cudnn_graph64_9.dll", "9.28.1", SYMBOL, 0, ""},
        {"cudnn_heuristic64_9.dll", "", NONE, 0, "cudnn_graph64_9.dll"},
        {"cudnn_ops64_9.dll", "9.28.1.4", RESOURCE, 0, "cudnn_graph64_9.dll"},
    };
    check_wheel("nvidia-cudnn-cu13-9.28.1.4-win_amd64", "bin", files, sizeof files / sizeof *files);
}

static void linux_9_5_0_50_for_cuda_12(void **state)
{
    (void)state;
    static const struct expected files[] = {
        {"libcudnn.so.9", "", NONE, 0, ""},
        {"libcudnn_adv.so.9", "9.5.0", SYMBOL, 12, "libcudnn_ops.so.9 libcudnn_graph.so.9"},
        {"libcudnn_cnn.so.9", "", NONE, 0, "libcudnn_ops.so.9 libcudnn_graph.so.9"},
        {"libcudnn_engines_precompiled.so.9", "", NONE, 12, "libcudnn_graph.so.9"},
        {"libcudnn_engines_runtime_compiled.so.9", "", NONE, 0, "libcudnn_graph.so.9"},
        {"libcudnn_graph.so.9", "9.5.0", SYMBOL, 0, ""},
        {"libcudnn_heuristic.so.9", "", NONE, 0, "libcudnn_graph.so.9"},
        {"libcudnn_ops.so.9", "9.5.0", SYMBOL, 0, "libcudnn_graph.so.9"},
    };
    check_wheel("nvidia-cudnn-cu12-9.5.0.50-linux_x86_64", "lib", files,
                sizeof files / sizeof *files);
}

/* Mapped, so that nothing of the 250 MB but what is looked at is read. */
static int read_symbol_under(struct bytes bytes, const struct os_file_info *info, void *context,
                             struct err *err)
{
    struct arena *arena = context;
    struct identity identity;
    (void)info;
    (void)err;
    identify_bytes_named(arena, bytes, "cudnn64_9.dll", &identity);
    assert_true(identity.is_library);
    assert_string_equal(identity.internal_name, "cudnn_graph64_9.dll");
    assert_int_equal(identity.version_source, VERSION_SOURCE_EXPORT);
    bytes.size -= 1024 * 1024;
    identify_bytes_named(arena, bytes, "cudnn_graph64_9.dll", &identity);
    assert_false(identity.is_library);
    assert_non_null(strstr(identity.problem, "ends before section "));
    assert_false(version_known(identity.version));
    return 0;
}

static void a_renamed_or_cut_graph_library_is_told(void **state)
{
    (void)state;
    struct arena arena = {0};
    const char *path = wheel(&arena, "nvidia-cudnn-cu12-9.5.0.50-win_amd64", "bin");
    path = os_path_join(&arena, path, "cudnn_graph64_9.dll");
    assert_int_equal(os_file_with_map(path, read_symbol_under, &arena, NULL), 0);
    arena_done(&arena);
}

static void check_header(const char *name, const char *file, const char *expected)
{
    struct arena arena = {0};
    char *text;
    size_t size;
    struct version version;
    char said[VERSION_TEXT_SIZE];
    const char *path = os_path_join(&arena, wheel(&arena, name, "include"), file);
    assert_int_equal(os_file_read(&arena, path, 1024 * 1024, &text, &size, NULL), 0);
    assert_true(identify_header(text, size, &version));
    assert_string_equal(version_text(version, 3, said), expected);
    arena_done(&arena);
}

static void the_header_of_8_9_7(void **state)
{
    (void)state;
    check_header("nvidia-cudnn-cu12-8.9.7.29-win_amd64", "cudnn_version.h", "8.9.7");
}

static void the_header_of_9_5_0(void **state)
{
    (void)state;
    check_header("nvidia-cudnn-cu12-9.5.0.50-win_amd64", "cudnn_version.h", "9.5.0");
}

static void the_header_of_9_28_1(void **state)
{
    (void)state;
    check_header("nvidia-cudnn-cu13-9.28.1.4-win_amd64", "cudnn_version.h", "9.28.1");
}

RUN_TESTS(cmocka_unit_test(windows_8_9_7_29_for_cuda_12),
          cmocka_unit_test(windows_9_5_0_50_for_cuda_12),
          cmocka_unit_test(windows_9_28_1_4_for_cuda_13),
          cmocka_unit_test(linux_9_5_0_50_for_cuda_12),
          cmocka_unit_test(a_renamed_or_cut_graph_library_is_told),
          cmocka_unit_test(the_header_of_8_9_7), cmocka_unit_test(the_header_of_9_5_0),
          cmocka_unit_test(the_header_of_9_28_1))
