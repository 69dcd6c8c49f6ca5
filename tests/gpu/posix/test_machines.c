#include "tests/test.h"

#include <stdio.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "os/file.h"
#include "os/path.h"
#include "tests/gpu/doubles.h"

/* The real worker on machines made of a sysroot with the doubles of NVML and the CUDA driver in it.
   What the doubles answer from: tests/doubles/driver_file.h. */

static const char healthy[] = "version=560.35.03\ncuda=12.6\ncount=2\n"
                              "gpu.0.name=NVIDIA H100 80GB HBM3\ngpu.0.compute=9.0\n"
                              "gpu.0.uuid=GPU-00000000-0000-4000-8000-00000000000a\n"
                              "gpu.0.pci=00000000:01:00.0\ngpu.0.memory_mib=81559\n"
                              "gpu.1.name=NVIDIA L4\n";

struct machine {
    struct arena arena;
    char *root;
    struct gpu_worker_options options;
};

static void write_file(const char *path, const char *data, size_t size)
{
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(data, 1, size, file), size);
    assert_int_equal(fclose(file), 0);
}

static void install(struct machine *machine, const char *directory, const char *name)
{
    const char *from = double_path(&machine->arena, name);
    FILE *file = fopen(from, "rb");
    assert_non_null(file);
    char *data = arena_alloc(&machine->arena, 1024 * 1024);
    size_t size = fread(data, 1, 1024 * 1024, file);
    fclose(file);
    assert_in_range(size, 1, 1024 * 1024 - 1);
    write_file(os_path_join(&machine->arena, directory, name), data, size);
}

/* `text` NULL: no driver behind the libraries. `libraries`: NULL-terminated names. */
static void make(struct machine *machine, const char *text, const char *const *libraries)
{
    *machine = (struct machine){0};
    machine->options = worker_options(&machine->arena);
    double_path(&machine->arena, "libcuda.so.1"); /* skips before there is anything to remove */
    char *root = arena_strdup(&machine->arena, "/tmp/cudnnd-machine-XXXXXX");
    assert_non_null(mkdtemp(root));
    machine->root = root;
    machine->options.root = root;
    static const char *const parts[] = {"usr", "usr/lib", "usr/lib/x86_64-linux-gnu"};
    char *directory = NULL;
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        directory = os_path_join(&machine->arena, root, parts[i]);
        assert_int_equal(os_dir_make(directory, NULL), 0);
    }
    for (; *libraries != NULL; libraries++) {
        install(machine, directory, *libraries);
    }
    char *file = os_path_join(&machine->arena, root, "driver");
    if (text != NULL) {
        write_file(file, text, strlen(text));
    }
    set_environment("CUDNND_TEST_DRIVER", file);
}

static void unmake(struct machine *machine)
{
    static const char *const parts[] = {"usr/lib/x86_64-linux-gnu/libnvidia-ml.so.1",
                                        "usr/lib/x86_64-linux-gnu/libcuda.so.1",
                                        "driver",
                                        "usr/lib/x86_64-linux-gnu",
                                        "usr/lib",
                                        "usr",
                                        "."};
    set_environment("CUDNND_TEST_DRIVER", NULL);
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        char *path = os_path_join(&machine->arena, machine->root, parts[i]);
        if (unlink(path) != 0) {
            rmdir(i + 1 == sizeof parts / sizeof *parts ? machine->root : path);
        }
    }
    arena_done(&machine->arena);
}

static const char *const both[] = {"libnvidia-ml.so.1", "libcuda.so.1", NULL};
static const char *const nvml_only[] = {"libnvidia-ml.so.1", NULL};
static const char *const cuda_only[] = {"libcuda.so.1", NULL};
static const char *const neither[] = {NULL};

static struct driver ask(struct machine *machine)
{
    struct driver driver;
    struct err err = {0};
    assert_int_equal(gpu_query_driver(&machine->arena, &machine->options, &driver, &err), 0);
    return driver;
}

static void assert_mentions(const char *text, const char *word)
{
    if (text == NULL || strstr(text, word) == NULL) {
        fail_msg("'%s' does not mention '%s'", text == NULL ? "(null)" : text, word);
    }
}

static void assert_first_gpu(const struct gpu *gpu)
{
    assert_int_equal(gpu->index, 0);
    assert_string_equal(gpu->name, "NVIDIA H100 80GB HBM3");
    assert_string_equal(gpu->uuid, "GPU-00000000-0000-4000-8000-00000000000a");
    assert_string_equal(gpu->compute_capability, "9.0");
    assert_string_equal(gpu->pci_bus_id, "00000000:01:00.0");
    assert_int_equal(gpu->memory_bytes, INT64_C(81559) << 20);
    assert_string_equal(gpu->status, "ok");
}

static void nvml_answers_and_what_it_does_not_know_is_null(void **state)
{
    (void)state;
    CLEANUP(unmake) struct machine machine;
    make(&machine, healthy, both);
    struct driver driver = ask(&machine);
    assert_int_equal(driver.status, DRIVER_OK);
    assert_string_equal(driver.source, "nvml");
    assert_string_equal(driver.version, "560.35.03");
    assert_string_equal(driver.cuda_version, "12.6");
    assert_null(driver.model);
    assert_null(driver.error);
    assert_int_equal(driver.gpu_count, 2);
    assert_first_gpu(&driver.gpus[0]);
    assert_string_equal(driver.gpus[1].name, "NVIDIA L4");
    assert_null(driver.gpus[1].uuid);
    assert_null(driver.gpus[1].compute_capability);
    assert_null(driver.gpus[1].pci_bus_id);
    assert_int_equal(driver.gpus[1].memory_bytes, -1);
    assert_string_equal(driver.gpus[1].status, "ok");
}

static void the_cuda_driver_answers_where_there_is_no_nvml(void **state)
{
    (void)state;
    CLEANUP(unmake) struct machine machine;
    make(&machine, healthy, cuda_only);
    struct driver driver = ask(&machine);
    assert_int_equal(driver.status, DRIVER_OK);
    assert_string_equal(driver.source, "cuda");
    assert_null(driver.version);
    assert_string_equal(driver.cuda_version, "12.6");
    assert_int_equal(driver.gpu_count, 2);
    assert_first_gpu(&driver.gpus[0]);
}

static void no_library_is_no_driver(void **state)
{
    (void)state;
    CLEANUP(unmake) struct machine machine;
    make(&machine, healthy, neither);
    struct driver driver = ask(&machine);
    assert_int_equal(driver.status, DRIVER_MISSING);
    assert_null(driver.source);
    assert_null(driver.error);
    assert_int_equal(driver.gpu_count, 0);
}

static void a_library_left_behind_is_no_driver(void **state)
{
    (void)state;
    static const struct {
        const char *const *libraries;
        const char *word;
    } leftovers[] = {{nvml_only, "not loaded"}, {both, "not loaded"}, {cuda_only, "no device"}};
    for (size_t i = 0; i < sizeof leftovers / sizeof *leftovers; i++) {
        CLEANUP(unmake) struct machine machine;
        make(&machine, NULL, leftovers[i].libraries);
        struct driver driver = ask(&machine);
        assert_int_equal(driver.status, DRIVER_MISSING);
        assert_null(driver.source);
        assert_mentions(driver.error, leftovers[i].word);
    }
}

static void a_driver_replaced_under_the_kernel_wants_a_reboot(void **state)
{
    (void)state;
    const char *const *const libraries[] = {both, nvml_only, cuda_only};
    for (size_t i = 0; i < sizeof libraries / sizeof *libraries; i++) {
        CLEANUP(unmake) struct machine machine;
        make(&machine, "version=560.35.03\ncount=1\nfault=library_mismatch\n", libraries[i]);
        struct driver driver = ask(&machine);
        assert_int_equal(driver.status, DRIVER_ERROR);
        assert_mentions(driver.error, "mismatch");
        assert_mentions(driver.error, "reboot");
    }
}

static void a_lost_gpu_is_named(void **state)
{
    (void)state;
    CLEANUP(unmake) struct machine machine;
    make(&machine, "version=560.35.03\ncuda=12.6\ncount=2\nfault=gpu_lost\n", both);
    struct driver driver = ask(&machine);
    assert_int_equal(driver.status, DRIVER_ERROR);
    assert_mentions(driver.error, "GPU 0");
    assert_mentions(driver.error, "GPU 1");
    assert_mentions(driver.error, "lost");
    assert_string_equal(driver.version, "560.35.03");
    assert_int_equal(driver.gpu_count, 2);
    assert_mentions(driver.gpus[0].status, "lost");
    assert_false(driver.hung);
}

static void a_driver_that_hangs_or_crashes_is_the_workers_trouble(void **state)
{
    (void)state;
    CLEANUP(unmake) struct machine machine;
    make(&machine, "version=560.35.03\nfault=hang\n", both);
    machine.options.timeout_ms = 1000;
    struct driver driver = ask(&machine);
    assert_int_equal(driver.status, DRIVER_ERROR);
    assert_true(driver.hung);
    assert_mentions(driver.error, "time");
    char *file = os_path_join(&machine.arena, machine.root, "driver");
    write_file(file, "fault=crash\n", strlen("fault=crash\n"));
    machine.options.timeout_ms = 60000;
    driver = ask(&machine);
    assert_int_equal(driver.status, DRIVER_ERROR);
    assert_mentions(driver.error, "signal 6");
}

RUN_TESTS(cmocka_unit_test(nvml_answers_and_what_it_does_not_know_is_null),
          cmocka_unit_test(the_cuda_driver_answers_where_there_is_no_nvml),
          cmocka_unit_test(no_library_is_no_driver),
          cmocka_unit_test(a_library_left_behind_is_no_driver),
          cmocka_unit_test(a_driver_replaced_under_the_kernel_wants_a_reboot),
          cmocka_unit_test(a_lost_gpu_is_named),
          cmocka_unit_test(a_driver_that_hangs_or_crashes_is_the_workers_trouble))
