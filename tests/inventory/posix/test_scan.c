/* The whole scan of a made-up machine: toolkits, the search path, problems, the order of things. */
#include "tests/inventory/cache_bytes.h"
#include "tests/inventory/posix/disk.h"

static const struct toolkit *find_toolkit(const struct disk *disk, const char *path)
{
    for (size_t i = 0; i < disk->inventory.toolkit_count; i++) {
        if (text_equal(disk->inventory.toolkits[i].path, path)) {
            return &disk->inventory.toolkits[i];
        }
    }
    fail_msg("no toolkit %s", path);
    return NULL;
}

static void an_empty_machine_has_nothing_and_no_problems(void **state)
{
    (void)state;
    struct disk disk = disk_make();
    disk_scan(&disk, "/not/there");
    assert_int_equal(disk.inventory.toolkit_count, 0);
    assert_int_equal(disk.inventory.install_count, 0);
    assert_int_equal(disk.inventory.search_count, 0);
    assert_int_equal(disk.inventory.problem_count, 0);
    disk_done(&disk);
}

static void toolkits_say_their_version_in_four_ways(void **state)
{
    (void)state;
    struct disk disk = disk_make();
    disk_toolkit(&disk, "/usr/local/cuda-12.6", "12.6.2");
    disk_text(&disk, "/usr/local/cuda-10.1/version.txt", "CUDA Version 10.1.243\n");
    disk_text(&disk, "/opt/cuda/include/cuda.h",
              "#define CUDA_VERSION_X 1\n#define CUDA_VERSION 11080\n");
    disk_text(&disk, "/usr/local/cuda-9.2/bin/nvcc", "");
    disk_text(&disk, "/usr/local/cuda-13.0/version.json", "{\"cuda\": 3}"); /* damaged */
    disk_text(&disk, "/usr/local/cuda-samples/README", "");
    disk_scan(&disk, NULL);
    assert_int_equal(disk.inventory.toolkit_count, 5);
    assert_version(find_toolkit(&disk, "/usr/local/cuda-12.6")->version, "12.6.2");
    assert_version(find_toolkit(&disk, "/usr/local/cuda-10.1")->version, "10.1.243");
    assert_version(find_toolkit(&disk, "/opt/cuda")->version, "11.8.0");
    assert_version(find_toolkit(&disk, "/usr/local/cuda-9.2")->version, "9.2.0");
    assert_version(find_toolkit(&disk, "/usr/local/cuda-13.0")->version, "13.0.0");
    for (size_t i = 1; i < disk.inventory.toolkit_count; i++) {
        assert_true(strcmp(disk.inventory.toolkits[i - 1].path, disk.inventory.toolkits[i].path) <
                    0);
    }
    disk_done(&disk);
}

static void the_link_says_which_toolkit_is_the_default_unless_a_variable_does(void **state)
{
    (void)state;
    struct disk disk = disk_make();
    disk_toolkit(&disk, "/usr/local/cuda-12.4", "12.4.0");
    disk_toolkit(&disk, "/usr/local/cuda-12.6", "12.6.0");
    disk_link(&disk, "/usr/local/cuda", "/etc/alternatives/cuda");
    disk_link(&disk, "/etc/alternatives/cuda", "/usr/local/cuda-12.6");
    disk_scan(&disk, NULL);
    assert_int_equal(disk.inventory.toolkit_count, 2);
    assert_true(find_toolkit(&disk, "/usr/local/cuda-12.6")->is_default);
    assert_int_equal(find_toolkit(&disk, "/usr/local/cuda-12.6")->sources,
                     TOOLKIT_FROM_LINK | TOOLKIT_FROM_DIRECTORY);
    assert_int_equal(find_toolkit(&disk, "/usr/local/cuda-12.4")->sources, TOOLKIT_FROM_DIRECTORY);

    disk_text(&disk, "/etc/environment", "CUDA_PATH=/usr/local/cuda-12.4\n");
    disk_scan(&disk, NULL);
    assert_true(find_toolkit(&disk, "/usr/local/cuda-12.4")->is_default);
    assert_int_equal(find_toolkit(&disk, "/usr/local/cuda-12.4")->sources,
                     TOOLKIT_FROM_ENV | TOOLKIT_FROM_DIRECTORY);
    assert_false(find_toolkit(&disk, "/usr/local/cuda-12.6")->is_default);

    disk_text(&disk, "/etc/environment", "CUDA_PATH=/usr/local/cuda-11.2\n"); /* left behind */
    disk_scan(&disk, NULL);
    assert_true(find_toolkit(&disk, "/usr/local/cuda-12.6")->is_default);
    disk_done(&disk);
}

static void the_search_path_keeps_its_order_and_what_is_useless_in_it(void **state)
{
    (void)state;
    struct disk disk = disk_make();
    disk_cudnn(&disk, "/opt/second", "9.5.0", 12);
    disk_cudnn(&disk, "/opt/first", "9.1.0", 12);
    disk_text(&disk, "/opt/file", "");
    disk_text(&disk, "/etc/environment",
              "LD_LIBRARY_PATH=\"/opt/none::/opt/file:/opt/first:relative:/opt/second/\"\n");
    disk_scan(&disk, NULL);
    const struct search_entry *entries = disk.inventory.search_path;
    static const struct {
        const char *directory, *canonical;
        bool exists, is_directory;
    } expected[] = {
        {"/opt/none", NULL, false, false},       {"", NULL, false, false},
        {"/opt/file", "/opt/file", true, false}, {"/opt/first", "/opt/first", true, true},
        {"relative", NULL, false, false},        {"/opt/second/", "/opt/second", true, true},
    };
    assert_int_equal(disk.inventory.search_count, 6);
    for (size_t i = 0; i < 6; i++) {
        assert_int_equal(entries[i].scope, SEARCH_MACHINE);
        assert_string_equal(entries[i].directory, expected[i].directory);
        assert_true(text_equal(entries[i].canonical, expected[i].canonical));
        assert_int_equal(entries[i].exists, expected[i].exists);
        assert_int_equal(entries[i].is_directory, expected[i].is_directory);
        assert_int_equal(entries[i].cudnn_count, expected[i].is_directory ? DISK_COMPONENTS : 0);
    }
    assert_string_equal(entries[3].cudnn[0], "libcudnn.so.9");
    assert_true(disk_install(&disk, "/opt/first")->on_search_path);
    assert_int_equal(disk_install(&disk, "/opt/first")->kind, INSTALL_OTHER);
    disk_done(&disk);
}

static void a_process_adds_only_what_it_did_not_inherit(void **state)
{
    (void)state;
    struct disk disk = disk_make();
    disk_text(&disk, "/etc/environment", "LD_LIBRARY_PATH=/opt/a:/opt/b\n");
    assert_int_equal(setenv("LD_LIBRARY_PATH", "/opt/c:/opt/b:/opt/c", 1), 0);
    disk_scan(&disk, NULL);
    assert_int_equal(disk.inventory.search_count, 2); /* a service does not look at its own */
    disk_scan_with(&disk, (struct inventory_request){.process_environment = true});
    unsetenv("LD_LIBRARY_PATH");
    assert_int_equal(disk.inventory.search_count, 4);
    assert_int_equal(disk.inventory.search_path[2].scope, SEARCH_PROCESS);
    assert_string_equal(disk.inventory.search_path[2].directory, "/opt/c");
    assert_string_equal(disk.inventory.search_path[3].directory, "/opt/c");
    disk_done(&disk);
}

static void the_loaders_cache_puts_on_the_path_what_it_maps(void **state)
{
    (void)state;
    struct disk disk = disk_make();
    static const struct cache_mapping mappings[] = {
        {"libcudnn.so.9", "/opt/mapped/libcudnn.so.9"},
        {"libcudnn_ops.so.9", "/opt/mapped/libcudnn_ops.so.9"},
        {"libcudnn.so.8", "/opt/gone/libcudnn.so.8"},
        {"libz.so.1", "/opt/later/libz.so.1"},
    };
    struct cache_bytes cache = {0};
    cache_add_new(&cache, mappings, 4);
    disk_bytes(&disk, "/etc/ld.so.cache", cache.data, cache.size);
    disk_cudnn(&disk, "/opt/mapped", "9.5.0", 12);
    disk_cudnn(&disk, "/opt/later", "9.8.0", 12); /* copied there after ldconfig ran */
    disk_scan(&disk, NULL);
    assert_int_equal(disk.inventory.search_count, 1);
    assert_string_equal(disk.inventory.search_path[0].directory, "/opt/mapped");
    assert_true(disk.inventory.search_path[0].from_loader_cache);
    assert_true(disk_install(&disk, "/opt/mapped")->on_search_path);
    assert_false(disk_install(&disk, "/opt/later")->on_search_path);
    assert_int_equal(disk.inventory.problem_count, 0);

    disk_text(&disk, "/etc/ld.so.cache", "glibc-ld.so.cache1.1");
    disk_scan(&disk, NULL);
    assert_true(disk_has_problem(&disk, PROBLEM_UNREADABLE, "/etc/ld.so.cache"));
    disk_done(&disk);
}

static void extra_roots_are_looked_at_where_libraries_lie(void **state)
{
    (void)state;
    static const char *const below[] = {"/x",     "/x/bin",   "/x/bin/x64",
                                        "/x/lib", "/x/lib64", "/x/lib/x64"};
    struct disk disk = disk_make();
    for (size_t i = 0; i < sizeof below / sizeof *below; i++) {
        disk_library(&disk, below[i], "", "9.5.0", 0);
    }
    disk_library(&disk, "/x/share", "", "9.5.0", 0);
    disk_scan(&disk, "/x");
    assert_int_equal(disk.inventory.install_count, 6);
    for (size_t i = 1; i < 6; i++) {
        assert_true(strcmp(disk.inventory.installs[i - 1].path, disk.inventory.installs[i].path) <
                    0);
    }
    disk_done(&disk);
}

static void only_libraries_make_an_install(void **state)
{
    (void)state;
    struct disk disk = disk_make();
    disk_text(&disk, "/x/libcudnn.so", "");
    disk_text(&disk, "/x/libcudnn_static.a", "");
    disk_text(&disk, "/x/cudnn64_9.dll", ""); /* another system's */
    disk_text(&disk, "/x/libcudnn.so.9.txt", "");
    disk_scan(&disk, "/x");
    assert_int_equal(disk.inventory.install_count, 0);
    disk_done(&disk);
}

static void closed_directories_are_problems(void **state)
{
    (void)state;
    if (geteuid() == 0) {
        skip(); /* root reads everything; tests/system does this as somebody else */
    }
    struct disk disk = disk_make();
    disk_cudnn(&disk, "/opt/closed", "9.5.0", 12);
    disk_directory(&disk, "/home/other");
    chmod(disk_path(&disk, "/opt/closed"), 0);
    chmod(disk_path(&disk, "/home/other"), 0);
    disk_scan(&disk, "/opt/closed");
    assert_true(disk_has_problem(&disk, PROBLEM_UNREADABLE, "/opt/closed"));
    assert_true(disk_has_problem(&disk, PROBLEM_SKIPPED, "/home/other")); /* said, no fault */
    chmod(disk_path(&disk, "/opt/closed"), 0700);
    chmod(disk_path(&disk, "/home/other"), 0700);
    disk_done(&disk);
}

static void a_second_scan_opens_nothing_that_did_not_change(void **state)
{
    (void)state;
    struct disk disk = disk_make();
    struct inventory_cache *cache = inventory_cache_new();
    const char *root = "/x";
    const struct inventory_request request = {
        .extra_roots = &root, .extra_root_count = 1, .cache = cache};
    disk_cudnn(&disk, "/x", "9.5.0", 12);
    disk_scan_with(&disk, request);
    assert_int_equal(disk.inventory.files_identified, DISK_COMPONENTS);
    disk_scan_with(&disk, request);
    assert_int_equal(disk.inventory.files_identified, 0);
    assert_int_equal(disk.inventory.files_cached, DISK_COMPONENTS);
    assert_version(disk_install(&disk, "/x")->version, "9.5.0");
    inventory_cache_free(cache);
    disk_done(&disk);
}

static void a_cancelled_scan_is_an_error_and_writes_nothing(void **state)
{
    (void)state;
    struct disk disk = disk_make();
    atomic_bool cancel = true;
    struct inventory untouched = {.install_count = 77};
    struct err err = {0};
    const struct inventory_request request = {.root = disk.root, .cancel = &cancel};
    assert_int_equal(inventory_scan(&disk.arena, &request, &untouched, &err), ERR_CANCELLED);
    assert_int_equal(untouched.install_count, 77);
    disk_done(&disk);
}

static const struct watched_directory *find_watched(const struct disk *disk, const char *path)
{
    for (size_t i = 0; i < disk->inventory.watched_count; i++) {
        if (text_equal(disk->inventory.watched[i].path, path)) {
            return &disk->inventory.watched[i];
        }
    }
    return NULL;
}

static void what_is_there_and_what_could_come_is_worth_watching(void **state)
{
    (void)state;
    struct disk disk = disk_make();
    static const char *const roots[] = {"/opt/here/lib", "/srv/a/b/c"};
    disk_cudnn(&disk, "/opt/here/lib", "9.5.0", 12);
    disk_directory(&disk, "/srv/a");
    disk_scan_with(&disk, (struct inventory_request){
                              .extra_roots = roots, .extra_root_count = 2, .list_watched = true});
    const struct watched_directory *here = find_watched(&disk, "/opt/here/lib");
    assert_non_null(here);
    assert_true(here->files && here->directories);
    const struct watched_directory *above = find_watched(&disk, "/srv/a");
    assert_non_null(above); /* the nearest of what is there */
    assert_true(above->directories);
    assert_null(find_watched(&disk, "/srv/a/b"));
    for (size_t i = 0; i < disk.inventory.watched_count; i++) { /* each once */
        assert_ptr_equal(find_watched(&disk, disk.inventory.watched[i].path),
                         &disk.inventory.watched[i]);
    }
    disk_scan(&disk, roots[0]);
    assert_int_equal(disk.inventory.watched_count, 0);
    disk_done(&disk);
}

RUN_TESTS(cmocka_unit_test(what_is_there_and_what_could_come_is_worth_watching),
          cmocka_unit_test(an_empty_machine_has_nothing_and_no_problems),
          cmocka_unit_test(toolkits_say_their_version_in_four_ways),
          cmocka_unit_test(the_link_says_which_toolkit_is_the_default_unless_a_variable_does),
          cmocka_unit_test(the_search_path_keeps_its_order_and_what_is_useless_in_it),
          cmocka_unit_test(a_process_adds_only_what_it_did_not_inherit),
          cmocka_unit_test(the_loaders_cache_puts_on_the_path_what_it_maps),
          cmocka_unit_test(extra_roots_are_looked_at_where_libraries_lie),
          cmocka_unit_test(only_libraries_make_an_install),
          cmocka_unit_test(closed_directories_are_problems),
          cmocka_unit_test(a_second_scan_opens_nothing_that_did_not_change),
          cmocka_unit_test(a_cancelled_scan_is_an_error_and_writes_nothing))
