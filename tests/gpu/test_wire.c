#include "tests/test.h"

#include "base/cleanup.h"
#include "gpu/wire.h"

static const char driver_text[] =
    "{\"task\":\"driver\",\"status\":\"ok\",\"source\":\"nvml\",\"version\":\"560.94\","
    "\"cuda_version\":\"12.6\",\"model\":\"wddm\",\"error\":null,\"gpus\":[{\"index\":0,"
    "\"name\":\"NVIDIA GeForce RTX 3060\",\"uuid\":\"GPU-1\",\"compute_capability\":\"8.6\","
    "\"memory_bytes\":12884901888,\"pci_bus_id\":\"00000000:01:00.0\",\"status\":\"ok\"}]}";

static const char probe_text[] =
    "{\"task\":\"probe\",\"status\":\"ok\",\"version\":90500,\"cudart_version\":12060,"
    "\"max_compute_capability\":900,\"checks\":{\"graph\":\"CUDNN_STATUS_SUCCESS\","
    "\"ops\":\"CUDNN_STATUS_SUCCESS\",\"cnn\":\"CUDNN_STATUS_SUCCESS\",\"adv\":null},"
    "\"create\":\"CUDNN_STATUS_NOT_INITIALIZED\",\"load_ms\":12,\"error\":null,\"loader_code\":0}";

static int read_driver(struct arena *arena, const char *text, struct driver *driver)
{
    return wire_read_driver(arena, text, strlen(text), driver, NULL);
}

static int read_probe(struct arena *arena, const char *text, struct probe *probe)
{
    return wire_read_probe(arena, text, strlen(text), probe, NULL);
}

static void every_field_of_a_driver_is_read(void **state)
{
    (void)state;
    CLEANUP(arena_done) struct arena arena = {0};
    struct driver driver;
    assert_int_equal(read_driver(&arena, driver_text, &driver), 0);
    assert_int_equal(driver.status, DRIVER_OK);
    assert_string_equal(driver.source, "nvml");
    assert_string_equal(driver.version, "560.94");
    assert_string_equal(driver.cuda_version, "12.6");
    assert_string_equal(driver.model, "wddm");
    assert_null(driver.error);
    assert_false(driver.hung);
    assert_int_equal(driver.gpu_count, 1);
    assert_int_equal(driver.gpus[0].index, 0);
    assert_string_equal(driver.gpus[0].name, "NVIDIA GeForce RTX 3060");
    assert_string_equal(driver.gpus[0].uuid, "GPU-1");
    assert_string_equal(driver.gpus[0].compute_capability, "8.6");
    assert_int_equal(driver.gpus[0].memory_bytes, INT64_C(12884901888));
    assert_string_equal(driver.gpus[0].pci_bus_id, "00000000:01:00.0");
    assert_string_equal(driver.gpus[0].status, "ok");
}

static void every_field_of_a_probe_is_read(void **state)
{
    (void)state;
    CLEANUP(arena_done) struct arena arena = {0};
    struct probe probe;
    assert_int_equal(read_probe(&arena, probe_text, &probe), 0);
    assert_int_equal(probe.status, PROBE_OK);
    assert_int_equal(probe.version, 90500);
    assert_int_equal(probe.cudart_version, 12060);
    assert_int_equal(probe.max_compute_capability, 900);
    assert_string_equal(probe.checks[PROBE_CHECK_GRAPH], "CUDNN_STATUS_SUCCESS");
    assert_string_equal(probe.checks[PROBE_CHECK_CNN], "CUDNN_STATUS_SUCCESS");
    assert_null(probe.checks[PROBE_CHECK_ADV]);
    assert_string_equal(probe.create, "CUDNN_STATUS_NOT_INITIALIZED");
    assert_int_equal(probe.load_ms, 12);
    assert_null(probe.error);
    assert_int_equal(probe.loader_code, 0);
}

static void what_is_read_is_written_the_same(void **state)
{
    (void)state;
    CLEANUP(arena_done) struct arena arena = {0};
    struct driver driver;
    struct probe probe;
    assert_int_equal(read_driver(&arena, driver_text, &driver), 0);
    assert_int_equal(read_probe(&arena, probe_text, &probe), 0);
    CLEANUP(cleanup_free) char *driver_again = wire_write_driver(&driver);
    CLEANUP(cleanup_free) char *probe_again = wire_write_probe(&probe);
    assert_string_equal(driver_again, driver_text);
    assert_string_equal(probe_again, probe_text);
}

static void what_is_unknown_is_null_in_the_document(void **state)
{
    (void)state;
    struct gpu gpu = {.index = 1, .memory_bytes = -1};
    struct driver driver = {.status = DRIVER_OK, .gpus = &gpu, .gpu_count = 1};
    struct probe probe = {.status = PROBE_FAILED, .load_ms = -1, .error = "no", .loader_code = 126};
    CLEANUP(cleanup_free) char *driver_written = wire_write_driver(&driver);
    CLEANUP(cleanup_free) char *probe_written = wire_write_probe(&probe);
    assert_string_equal(
        driver_written,
        "{\"task\":\"driver\",\"status\":\"ok\",\"source\":null,\"version\":null,"
        "\"cuda_version\":null,\"model\":null,\"error\":null,\"gpus\":[{\"index\":1,\"name\":null,"
        "\"uuid\":null,\"compute_capability\":null,\"memory_bytes\":null,\"pci_bus_id\":null,"
        "\"status\":null}]}");
    assert_string_equal(
        probe_written,
        "{\"task\":\"probe\",\"status\":\"failed\",\"version\":null,\"cudart_version\":null,"
        "\"max_compute_capability\":null,\"checks\":{\"graph\":null,\"ops\":null,\"cnn\":null,"
        "\"adv\":null},\"create\":null,\"load_ms\":null,\"error\":\"no\",\"loader_code\":126}");
    CLEANUP(arena_done) struct arena arena = {0};
    struct probe again;
    assert_int_equal(read_probe(&arena, probe_written, &again), 0);
    assert_int_equal(again.version, 0);
    assert_int_equal(again.load_ms, -1);
    struct driver driver_again;
    assert_int_equal(read_driver(&arena, driver_written, &driver_again), 0);
    assert_int_equal(driver_again.gpus[0].memory_bytes, -1);
    assert_null(driver_again.gpus[0].name);
}

static void keys_of_a_newer_worker_are_passed_over(void **state)
{
    (void)state;
    CLEANUP(arena_done) struct arena arena = {0};
    struct driver driver;
    assert_int_equal(read_driver(&arena,
                                 "{\"task\":\"driver\",\"new\":[{\"a\":1}],\"status\":\"missing\","
                                 "\"gpus\":[]}\n",
                                 &driver),
                     0);
    assert_int_equal(driver.status, DRIVER_MISSING);
    assert_int_equal(driver.gpu_count, 0);
}

static void a_driver_that_is_not_one_is_refused(void **state)
{
    (void)state;
    static const char *const texts[] = {
        "",
        "null",
        "[]",
        "{}",
        "{\"task\":\"driver\"}",
        "{\"task\":\"probe\",\"status\":\"ok\",\"gpus\":[]}",
        "{\"task\":1,\"status\":\"ok\",\"gpus\":[]}",
        "{\"task\":\"driver\",\"status\":\"fine\",\"gpus\":[]}",
        "{\"task\":\"driver\",\"status\":0,\"gpus\":[]}",
        "{\"task\":\"driver\",\"status\":\"ok\",\"gpus\":{}}",
        "{\"task\":\"driver\",\"status\":\"ok\",\"gpus\":[1]}",
        "{\"task\":\"driver\",\"status\":\"ok\",\"gpus\":[{}]}",
        "{\"task\":\"driver\",\"status\":\"ok\",\"gpus\":[],\"version\":560.94}",
        "{\"task\":\"driver\",\"status\":\"ok\",\"gpus\":[],\"model\":[]}",
        "{\"task\":\"driver\",\"status\":\"ok\",\"gpus\":[{\"index\":-1}]}",
        "{\"task\":\"driver\",\"status\":\"ok\",\"gpus\":[{\"index\":0.5}]}",
        "{\"task\":\"driver\",\"status\":\"ok\",\"gpus\":[{\"index\":\"0\"}]}",
        "{\"task\":\"driver\",\"status\":\"ok\",\"gpus\":[{\"index\":0,\"memory_bytes\":-1}]}",
        "{\"task\":\"driver\",\"status\":\"ok\",\"gpus\":[{\"index\":0,\"memory_bytes\":1e999}]}",
        "{\"task\":\"driver\",\"status\":\"ok\",\"gpus\":[{\"index\":0,\"name\":7}]}",
        "{\"task\":\"driver\",\"status\":\"error\",\"gpus\":[]}",
        "{\"task\":\"driver\",\"status\":\"error\",\"error\":\"\",\"gpus\":[]}",
        "{\"task\":\"driver\",\"status\":\"ok\",\"gpus\":[]} {}",
    };
    CLEANUP(arena_done) struct arena arena = {0};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        struct driver driver = {.gpu_count = 77};
        struct err err = {0};
        int code = wire_read_driver(&arena, texts[i], strlen(texts[i]), &driver, &err);
        if (code != ERR_FORMAT && code != ERR_LIMIT) {
            fail_msg("accepted: %s", texts[i]);
        }
        assert_int_not_equal(err.message[0], '\0');
        assert_int_equal(driver.gpu_count, 77); /* outputs are written only on success */
    }
}

static void a_probe_that_is_not_one_is_refused(void **state)
{
    (void)state;
    static const char *const texts[] = {
        "{\"task\":\"driver\",\"status\":\"ok\",\"checks\":{}}",
        "{\"task\":\"probe\",\"checks\":{}}",
        "{\"task\":\"probe\",\"status\":\"crashed\",\"checks\":{}}",
        "{\"task\":\"probe\",\"status\":\"skipped\",\"checks\":{}}",
        "{\"task\":\"probe\",\"status\":\"ok\",\"checks\":[]}",
        "{\"task\":\"probe\",\"status\":\"ok\",\"checks\":{\"ops\":0}}",
        "{\"task\":\"probe\",\"status\":\"ok\",\"checks\":{},\"version\":\"90500\"}",
        "{\"task\":\"probe\",\"status\":\"ok\",\"checks\":{},\"version\":1e300}",
        "{\"task\":\"probe\",\"status\":\"ok\",\"checks\":{},\"version\":-1}",
        "{\"task\":\"probe\",\"status\":\"ok\",\"checks\":{},\"version\":4294967296}",
        "{\"task\":\"probe\",\"status\":\"ok\",\"checks\":{},\"load_ms\":-1}",
        "{\"task\":\"probe\",\"status\":\"ok\",\"checks\":{},\"loader_code\":1.5}",
        "{\"task\":\"probe\",\"status\":\"ok\",\"checks\":{},\"create\":{}}",
        "{\"task\":\"probe\",\"status\":\"failed\",\"checks\":{}}",
    };
    CLEANUP(arena_done) struct arena arena = {0};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        struct probe probe = {.version = 77};
        if (read_probe(&arena, texts[i], &probe) == 0) {
            fail_msg("accepted: %s", texts[i]);
        }
        assert_int_equal(probe.version, 77);
    }
}

static void a_document_cut_anywhere_is_refused(void **state)
{
    (void)state;
    CLEANUP(arena_done) struct arena arena = {0};
    struct driver driver;
    struct probe probe;
    for (size_t size = 0; size < strlen(driver_text); size++) {
        assert_int_not_equal(wire_read_driver(&arena, driver_text, size, &driver, NULL), 0);
    }
    for (size_t size = 0; size < strlen(probe_text); size++) {
        assert_int_not_equal(wire_read_probe(&arena, probe_text, size, &probe, NULL), 0);
    }
}

static char *with_version_of(struct arena *arena, size_t length)
{
    char *version = arena_alloc(arena, length + 1);
    memset(version, '5', length);
    return arena_printf(arena,
                        "{\"task\":\"driver\",\"status\":\"ok\",\"gpus\":[],\"version\":"
                        "\"%s\"}",
                        version);
}

static void a_text_may_have_4096_bytes_and_not_one_more(void **state)
{
    (void)state;
    CLEANUP(arena_done) struct arena arena = {0};
    struct driver driver;
    assert_int_equal(read_driver(&arena, with_version_of(&arena, WIRE_TEXT_BYTES), &driver), 0);
    assert_int_equal(strlen(driver.version), WIRE_TEXT_BYTES);
    assert_int_equal(read_driver(&arena, with_version_of(&arena, WIRE_TEXT_BYTES + 1), &driver),
                     ERR_LIMIT);
}

static char *with_gpus(struct arena *arena, unsigned count)
{
    char *list = arena_strdup(arena, "");
    for (unsigned i = 0; i < count; i++) {
        list = arena_printf(arena, "%s%s{\"index\":%u}", list, i == 0 ? "" : ",", i);
    }
    return arena_printf(arena, "{\"task\":\"driver\",\"status\":\"ok\",\"gpus\":[%s]}", list);
}

static void there_may_be_256_gpus_and_not_one_more(void **state)
{
    (void)state;
    CLEANUP(arena_done) struct arena arena = {0};
    struct driver driver;
    assert_int_equal(read_driver(&arena, with_gpus(&arena, WIRE_GPUS), &driver), 0);
    assert_int_equal(driver.gpu_count, WIRE_GPUS);
    assert_int_equal(driver.gpus[WIRE_GPUS - 1].index, WIRE_GPUS - 1);
    assert_int_equal(read_driver(&arena, with_gpus(&arena, WIRE_GPUS + 1), &driver), ERR_LIMIT);
}

static void a_name_cannot_break_a_line_or_a_terminal(void **state)
{
    (void)state;
    CLEANUP(arena_done) struct arena arena = {0};
    struct driver driver;
    assert_int_equal(read_driver(&arena,
                                 "{\"task\":\"driver\",\"status\":\"ok\",\"gpus\":[{\"index\":0,"
                                 "\"name\":\"a\\nb\\u001b[31mc\\u007f\"}]}",
                                 &driver),
                     0);
    assert_string_equal(driver.gpus[0].name, "a b [31mc ");
}

static void text_that_is_not_utf_8_is_written_as_valid_json(void **state)
{
    (void)state;
    CLEANUP(arena_done) struct arena arena = {0};
    struct gpu gpu = {.name = "NVIDIA \xff\xfe", .memory_bytes = -1, .status = "ok"};
    struct driver driver = {.status = DRIVER_OK, .gpus = &gpu, .gpu_count = 1};
    CLEANUP(cleanup_free) char *text = wire_write_driver(&driver);
    struct driver again;
    assert_int_equal(read_driver(&arena, text, &again), 0);
    assert_string_equal(again.gpus[0].name, "NVIDIA \xef\xbf\xbd\xef\xbf\xbd");
}

RUN_TESTS(cmocka_unit_test(every_field_of_a_driver_is_read),
          cmocka_unit_test(every_field_of_a_probe_is_read),
          cmocka_unit_test(what_is_read_is_written_the_same),
          cmocka_unit_test(what_is_unknown_is_null_in_the_document),
          cmocka_unit_test(keys_of_a_newer_worker_are_passed_over),
          cmocka_unit_test(a_driver_that_is_not_one_is_refused),
          cmocka_unit_test(a_probe_that_is_not_one_is_refused),
          cmocka_unit_test(a_document_cut_anywhere_is_refused),
          cmocka_unit_test(a_text_may_have_4096_bytes_and_not_one_more),
          cmocka_unit_test(there_may_be_256_gpus_and_not_one_more),
          cmocka_unit_test(a_name_cannot_break_a_line_or_a_terminal),
          cmocka_unit_test(text_that_is_not_utf_8_is_written_as_valid_json))
