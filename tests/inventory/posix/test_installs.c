/* One directory: its libraries, what is missing, damaged or of another kind, what belongs to it. */
#include "tests/inventory/posix/disk.h"

static const char lib[] = "/opt/x/lib";

static void a_whole_set_takes_its_version_from_the_links_targets(void **state)
{
    (void)state;
    struct disk disk = disk_make();
    disk_cudnn(&disk, lib, "9.5.0", 12);
    disk_scan(&disk, "/opt/x");
    assert_int_equal(disk.inventory.install_count, 1);
    const struct install *install = disk_install(&disk, lib);
    assert_version(install->version, "9.5.0");
    assert_int_equal(install->generation, 9);
    assert_int_equal(install->arch, ARCH_X86_64);
    assert_int_equal(install->cuda_major, 12);
    assert_string_equal(install->cuda_major_source, "strings");
    assert_int_equal(install->layout, INSTALL_LAYOUT_FULL);
    assert_true(install->complete);
    assert_int_equal(install->library_count, DISK_COMPONENTS);
    assert_int_equal(install->import_library_count, DISK_COMPONENTS); /* the linker's links */
    assert_int_equal(strlen(install->id), 16);
    const struct library *library = disk_find(install, "libcudnn_ops.so.9");
    assert_string_equal(library->component, "ops");
    assert_int_equal(library->version_source, VERSION_SOURCE_FILE_NAME);
    assert_string_equal(library->internal_name, "libcudnn_ops.so.9");
    assert_true(library->expected);
    disk_done(&disk);
}

static void a_library_that_is_not_there_is_listed_behind_those_that_are(void **state)
{
    (void)state;
    struct disk disk = disk_make();
    disk_cudnn(&disk, lib, "9.5.0", 12);
    disk_unlink(&disk, "/opt/x/lib/libcudnn_cnn.so.9");
    disk_unlink(&disk, "/opt/x/lib/libcudnn_cnn.so.9.5.0");
    disk_scan(&disk, lib);
    const struct install *install = disk_install(&disk, lib);
    assert_false(install->complete);
    assert_int_equal(install->library_count, DISK_COMPONENTS);
    const struct library *last = &install->libraries[DISK_COMPONENTS - 1];
    assert_string_equal(last->file, "libcudnn_cnn.so.9");
    assert_int_equal(last->state, LIBRARY_MISSING);
    disk_done(&disk);
}

static void a_file_without_the_loaders_link_is_listed_and_missing_all_the_same(void **state)
{
    (void)state;
    struct disk disk = disk_make();
    disk_cudnn(&disk, lib, "9.5.0", 12);
    disk_unlink(&disk, "/opt/x/lib/libcudnn_ops.so.9");
    disk_scan(&disk, lib);
    const struct install *install = disk_install(&disk, lib);
    assert_false(install->complete);
    assert_int_equal(disk_find(install, "libcudnn_ops.so.9.5.0")->state, LIBRARY_OK);
    assert_int_equal(disk_find(install, "libcudnn_ops.so.9")->state, LIBRARY_MISSING);
    disk_done(&disk);
}

static void of_two_releases_beside_each_other_the_links_decide(void **state)
{
    (void)state;
    struct disk disk = disk_make();
    disk_cudnn(&disk, lib, "9.5.0", 12);
    disk_elf(&disk, "/opt/x/lib/libcudnn_ops.so.9.8.0", "libcudnn_ops.so.9", DISK_X86_64, 0);
    disk_scan(&disk, lib);
    const struct install *install = disk_install(&disk, lib);
    assert_int_equal(install->library_count, DISK_COMPONENTS);
    assert_version(disk_find(install, "libcudnn_ops.so.9")->version, "9.5.0");
    disk_done(&disk);
}

static void what_is_no_file_is_damage_with_a_reason(void **state)
{
    (void)state;
    struct disk disk = disk_make();
    disk_cudnn(&disk, lib, NULL, 12);
    disk_unlink(&disk, "/opt/x/lib/libcudnn_ops.so.9");
    disk_directory(&disk, "/opt/x/lib/libcudnn_ops.so.9");
    disk_unlink(&disk, "/opt/x/lib/libcudnn_cnn.so.9");
    assert_int_equal(mkfifo(disk_path(&disk, "/opt/x/lib/libcudnn_cnn.so.9"), 0600), 0);
    disk_unlink(&disk, "/opt/x/lib/libcudnn_adv.so.9");
    disk_link(&disk, "/opt/x/lib/libcudnn_adv.so.9", "libcudnn_adv.so.9");
    disk_unlink(&disk, "/opt/x/lib/libcudnn_graph.so.9");
    disk_link(&disk, "/opt/x/lib/libcudnn_graph.so.9", "libcudnn_graph.so.9.5.0");
    disk_unlink(&disk, "/opt/x/lib/libcudnn_heuristic.so.9");
    disk_text(&disk, "/opt/x/lib/libcudnn_heuristic.so.9", "");
    disk_scan(&disk, lib);
    static const struct {
        const char *file, *problem;
    } expected[] = {
        {"libcudnn_ops.so.9", "is a directory"},
        {"libcudnn_cnn.so.9", "is a pipe or device"},
        {"libcudnn_adv.so.9", "is a link loop"},
        {"libcudnn_graph.so.9", "is a link to a file that is not there"},
        {"libcudnn_heuristic.so.9", "is empty"},
    };
    const struct install *install = disk_install(&disk, lib);
    assert_false(install->complete);
    for (size_t i = 0; i < sizeof expected / sizeof *expected; i++) {
        const struct library *library = disk_find(install, expected[i].file);
        assert_int_equal(library->state, LIBRARY_CORRUPT);
        assert_string_equal(library->problem, expected[i].problem);
    }
    assert_int_equal(disk.inventory.problem_count, 0);
    disk_done(&disk);
}

static void a_library_without_a_version_takes_the_others_when_they_agree(void **state)
{
    (void)state;
    struct disk disk = disk_make();
    disk_cudnn(&disk, lib, "9.5.0", 12);
    disk_unlink(&disk, "/opt/x/lib/libcudnn_heuristic.so.9");
    disk_library(&disk, lib, "_heuristic", NULL, 0);
    disk_scan(&disk, lib);
    const struct library *lent = disk_find(disk_install(&disk, lib), "libcudnn_heuristic.so.9");
    assert_version(lent->version, "9.5.0");
    assert_int_equal(lent->version_source, VERSION_SOURCE_SIBLING);

    disk_unlink(&disk, "/opt/x/lib/libcudnn_ops.so.9");
    disk_unlink(&disk, "/opt/x/lib/libcudnn_ops.so");
    disk_library(&disk, lib, "_ops", "9.8.0", 12);
    disk_scan(&disk, lib);
    const struct install *install = disk_install(&disk, lib);
    lent = disk_find(install, "libcudnn_heuristic.so.9");
    assert_false(version_known(lent->version));
    assert_version(install->version, "9.5.0"); /* the entry library's */
    disk_done(&disk);
}

static void nothing_is_said_where_no_library_says_anything(void **state)
{
    (void)state;
    struct disk disk = disk_make();
    disk_cudnn(&disk, lib, NULL, 0);
    disk_scan(&disk, lib);
    const struct install *install = disk_install(&disk, lib);
    assert_false(version_known(install->version));
    assert_null(install->build);
    assert_int_equal(install->cuda_major, 0);
    assert_null(install->cuda_major_source);
    assert_null(install->owner_type);
    assert_true(install->complete); /* what only newer releases have is not asked for */
    disk_done(&disk);
}

static void three_files_are_a_jit_layout(void **state)
{
    (void)state;
    struct disk disk = disk_make();
    disk_library(&disk, lib, "", "9.11.0", 0);
    disk_library(&disk, lib, "_graph", "9.11.0", 0);
    disk_library(&disk, lib, "_engines_runtime_compiled", "9.11.0", 0);
    disk_scan(&disk, lib);
    const struct install *install = disk_install(&disk, lib);
    assert_int_equal(install->layout, INSTALL_LAYOUT_JIT);
    assert_true(install->complete);
    assert_int_equal(install->library_count, 3);
    disk_unlink(&disk, "/opt/x/lib/libcudnn_graph.so.9");
    disk_scan(&disk, lib);
    install = disk_install(&disk, lib);
    assert_int_equal(install->layout, INSTALL_LAYOUT_FULL); /* neither one nor the other */
    assert_false(install->complete);
    disk_done(&disk);
}

static void a_library_that_a_release_has_from_some_version_on_is_missing_from_there_on(void **state)
{
    (void)state;
    struct disk disk = disk_make();
    disk_cudnn(&disk, "/opt/old/lib", "9.20.0", 13);
    disk_cudnn(&disk, "/opt/new/lib", "9.21.0", 13);
    const char *roots[] = {"/opt/old", "/opt/new"};
    disk_scan_with(&disk, (struct inventory_request){.extra_roots = roots, .extra_root_count = 2});
    assert_true(disk_install(&disk, "/opt/old/lib")->complete);
    const struct install *install = disk_install(&disk, "/opt/new/lib");
    assert_false(install->complete);
    assert_int_equal(disk_find(install, "libcudnn_engines_tensor_ir.so.9")->state, LIBRARY_MISSING);
    disk_done(&disk);
}

static void an_unknown_library_of_a_newer_release_is_part_of_the_set(void **state)
{
    (void)state;
    struct disk disk = disk_make();
    disk_cudnn(&disk, lib, "9.5.0", 12);
    disk_library(&disk, lib, "_something_new", "9.5.0", 12);
    disk_scan(&disk, lib);
    const struct install *install = disk_install(&disk, lib);
    const struct library *library = disk_find(install, "libcudnn_something_new.so.9");
    assert_int_equal(library->state, LIBRARY_OK);
    assert_string_equal(library->component, "unknown");
    assert_true(install->complete);
    disk_done(&disk);
}

static void a_library_for_another_processor_makes_the_set_incomplete(void **state)
{
    (void)state;
    struct disk disk = disk_make();
    disk_cudnn(&disk, lib, NULL, 12);
    disk_elf(&disk, "/opt/x/lib/libcudnn_cnn.so.9", "libcudnn_cnn.so.9", DISK_ARM64, 12);
    disk_scan(&disk, lib);
    const struct install *install = disk_install(&disk, lib);
    assert_int_equal(install->arch, ARCH_X86_64);
    assert_int_equal(disk_find(install, "libcudnn_cnn.so.9")->arch, ARCH_ARM64);
    assert_false(install->complete);
    disk_done(&disk);
}

static void headers_that_belong_to_it_are_read(void **state)
{
    (void)state;
    struct disk disk = disk_make();
    disk_cudnn(&disk, lib, "9.5.0", 12);
    disk_text(&disk, "/opt/x/include/cudnn.h", "#include \"cudnn_version.h\"\n");
    disk_text(&disk, "/opt/x/include/cudnn_frontend.h", "");
    disk_text(&disk, "/opt/x/include/cudnn_version.h",
              "#define CUDNN_MAJOR 9\n#define CUDNN_MINOR 1\n#define CUDNN_PATCHLEVEL 0\n");
    disk_scan(&disk, lib);
    const struct install *install = disk_install(&disk, lib);
    assert_version(install->header_version, "9.1.0");
    assert_string_equal(install->header_path, "/opt/x/include/cudnn_version.h");
    assert_int_equal(install->header_count, 2);
    disk_done(&disk);
}

static void debian_keeps_headers_two_levels_up(void **state)
{
    (void)state;
    struct disk disk = disk_make();
    disk_cudnn(&disk, "/usr/lib/x86_64-linux-gnu", "9.5.0", 12);
    disk_text(&disk, "/usr/include/x86_64-linux-gnu/cudnn_version_v9.h",
              "#define CUDNN_MAJOR 9\n#define CUDNN_MINOR 5\n#define CUDNN_PATCHLEVEL 0\n");
    disk_scan(&disk, NULL);
    const struct install *install = disk_install(&disk, "/usr/lib/x86_64-linux-gnu");
    assert_int_equal(install->kind, INSTALL_SYSTEM);
    assert_version(install->header_version, "9.5.0");
    assert_true(install->on_search_path); /* the loader looks there by itself */
    disk_done(&disk);
}

static void an_unpacked_archive_is_standalone(void **state)
{
    (void)state;
    struct disk disk = disk_make();
    static const char archive[] = "/data/cudnn-linux-x86_64-9.5.0.50_cuda12-archive";
    const char *directory = arena_printf(&disk.arena, "%s/lib", archive);
    disk_cudnn(&disk, directory, "9.5.0", 12);
    disk_directory(&disk, arena_printf(&disk.arena, "%s/include", archive));
    disk_cudnn(&disk, "/data/program/lib", "9.5.0", 12);
    const char *roots[] = {archive, "/data/program"};
    disk_scan_with(&disk, (struct inventory_request){.extra_roots = roots, .extra_root_count = 2});
    assert_int_equal(disk_install(&disk, directory)->kind, INSTALL_STANDALONE);
    assert_string_equal(disk_install(&disk, directory)->standalone_root, archive);
    assert_int_equal(disk_install(&disk, "/data/program/lib")->kind, INSTALL_OTHER);
    disk_done(&disk);
}

static void two_ways_to_one_directory_make_one_install(void **state)
{
    (void)state;
    struct disk disk = disk_make();
    disk_toolkit(&disk, "/usr/local/cuda-12.6", "12.6.0");
    disk_cudnn(&disk, "/usr/local/cuda-12.6/targets/x86_64-linux/lib", "9.5.0", 12);
    disk_link(&disk, "/usr/local/cuda-12.6/lib64", "targets/x86_64-linux/lib");
    disk_link(&disk, "/usr/local/cuda", "/usr/local/cuda-12.6");
    disk_scan(&disk, "/usr/local/cuda/lib64");
    assert_int_equal(disk.inventory.install_count, 1);
    const struct install *install = &disk.inventory.installs[0];
    assert_string_equal(install->path, "/usr/local/cuda-12.6/targets/x86_64-linux/lib");
    assert_int_equal(install->kind, INSTALL_TOOLKIT);
    assert_true(install->in_toolkit);
    assert_string_equal(install->owner_type, "toolkit");
    assert_string_equal(install->owner_name, "CUDA 12.6");
    const char *id = install->id;
    disk_scan(&disk, NULL);
    assert_string_equal(disk.inventory.installs[0].id, id);
    disk_done(&disk);
}

static void a_directory_that_others_can_write_to_is_not_trusted(void **state)
{
    (void)state;
    struct disk disk = disk_make();
    disk_cudnn(&disk, lib, "9.5.0", 12);
    disk_scan(&disk, lib);
    /* the disk itself lies below /tmp, which is sticky: what is ours in there is safe */
    assert_true(disk_install(&disk, lib)->trusted);
    assert_int_equal(chmod(disk_path(&disk, "/opt/x/lib"), 0777), 0);
    disk_scan(&disk, lib);
    assert_false(disk_install(&disk, lib)->trusted);
    assert_non_null(disk_install(&disk, lib)->trust_reason);
    disk_done(&disk);
}

RUN_TESTS(
    cmocka_unit_test(a_whole_set_takes_its_version_from_the_links_targets),
    cmocka_unit_test(a_library_that_is_not_there_is_listed_behind_those_that_are),
    cmocka_unit_test(a_file_without_the_loaders_link_is_listed_and_missing_all_the_same),
    cmocka_unit_test(of_two_releases_beside_each_other_the_links_decide),
    cmocka_unit_test(what_is_no_file_is_damage_with_a_reason),
    cmocka_unit_test(a_library_without_a_version_takes_the_others_when_they_agree),
    cmocka_unit_test(nothing_is_said_where_no_library_says_anything),
    cmocka_unit_test(three_files_are_a_jit_layout),
    cmocka_unit_test(a_library_that_a_release_has_from_some_version_on_is_missing_from_there_on),
    cmocka_unit_test(an_unknown_library_of_a_newer_release_is_part_of_the_set),
    cmocka_unit_test(a_library_for_another_processor_makes_the_set_incomplete),
    cmocka_unit_test(headers_that_belong_to_it_are_read),
    cmocka_unit_test(debian_keeps_headers_two_levels_up),
    cmocka_unit_test(an_unpacked_archive_is_standalone),
    cmocka_unit_test(two_ways_to_one_directory_make_one_install),
    cmocka_unit_test(a_directory_that_others_can_write_to_is_not_trusted))
