#include "tests/test.h"

#include "base/log.h"
#include "base/text.h"
#include "config/config.h"
#include "config/value.h"

static struct arena arena;
static struct config config;
static struct err err;

static int parse(const char *text)
{
    err = (struct err){0};
    return config_parse(&arena, "c.yml", text, strlen(text), &config, &err);
}

static int forget(void **state)
{
    (void)state;
    arena_done(&arena);
    return 0;
}

static void an_empty_file_gives_the_defaults(void **state)
{
    (void)state;
    static const char *const empty[] = {"", "\n", "# only a comment\n", "---\n", "{}", "scan:\n"};
    for (size_t i = 0; i < sizeof empty / sizeof *empty; i++) {
        assert_int_equal(parse(empty[i]), 0);
        assert_int_equal(config.listen_port, 9877);
        assert_int_equal(config.scan_interval_ms, 15 * 60000);
        assert_int_equal(config.worker_memory_bytes, INT64_C(4) << 30);
        assert_int_equal(config.listen_addresses.count, 2);
        assert_string_equal(config.listen_addresses.items[1], "::1");
        assert_null(config.data_dir);
        assert_true(config.alerts_system_log);
    }
}

static void every_kind_of_option_is_read(void **state)
{
    (void)state;
    assert_int_equal(parse("listen:\n  addresses: [127.0.0.2]\n  port: 0\n  hosts: [gpu.example]\n"
                           "scan: {interval: 90s, jitter: 0s, probe: none}\n"
                           "worker: {memory: 512MiB, output: 4KiB}\n"
                           "alerts: {system_log: false}\n"
                           "log: {level: debug}\nretention: {history: 2y}\n"),
                     0);
    assert_string_equal(config.listen_addresses.items[0], "127.0.0.2");
    assert_int_equal(config.listen_port, 0);
    assert_string_equal(config.listen_hosts.items[0], "gpu.example");
    assert_int_equal(config.scan_interval_ms, 90000);
    assert_int_equal(config.scan_jitter_ms, 0);
    assert_int_equal(config.scan_probe, CONFIG_PROBE_NONE);
    assert_int_equal(config.worker_memory_bytes, INT64_C(512) << 20);
    assert_false(config.alerts_system_log);
    assert_int_equal(config.log_level, LOG_LEVEL_DEBUG);
    assert_int_equal(config.retention_history_ms, INT64_C(730) * 86400000);
}

/* The error of a wrong file, which must hold both texts. */
static void refused(const char *text, const char *place, const char *words)
{
    assert_int_equal(parse(text), ERR_CONFIG);
    if (strstr(err.message, place) == NULL || strstr(err.message, words) == NULL) {
        print_error("for:\n%s\ngot: %s\n", text, err.message);
        fail();
    }
}

static void wrong_files_are_refused_with_place_and_help(void **state)
{
    (void)state;
    refused("scan:\n  intervall: 5m\n", "c.yml:2:3", "did you mean 'scan.interval'");
    refused("interval: 5m\n", "c.yml:1:1", "scan.interval");
    refused("nonsense: 1\n", "c.yml:1:1", "no option 'nonsense'");
    refused("scan: {interval: 5}\n", "c.yml:1:18", "not a duration");
    refused("scan: {interval: 1ms}\n", "c.yml:1:18", "10s to 30d");
    refused("scan: {interval: 99999999999999999999y}\n", "c.yml", "out of range");
    refused("scan: {interval: -5m}\n", "c.yml", "not a duration");
    refused("scan: {probe: some}\n", "c.yml:1:15", "trusted, all, none");
    refused("listen: {addresses: [0.0.0.0]}\n", "c.yml:1:21", "not a loopback address");
    refused("listen: {addresses: [192.168.1.1]}\n", "c.yml", "not a loopback address");
    refused("listen: {addresses: [127.0.0.1.5]}\n", "c.yml", "not a loopback address");
    refused("listen: {addresses: [127.0.0.256]}\n", "c.yml", "not a loopback address");
    refused("listen: {addresses: []}\n", "c.yml", "at least one");
    refused("listen: {addresses: 127.0.0.1}\n", "c.yml", "wants a list");
    refused("listen: {port: 65536}\n", "c.yml:1:16", "0 to 65535");
    refused("listen: {port: [1]}\n", "c.yml", "wants one value");
    refused("listen: 5\n", "c.yml:1:9", "section");
    refused("listen: {port: 1, port: 2}\n", "c.yml", "twice");
    refused("data_dir: relative/path\n", "c.yml:1:11", "absolute");
    refused("log: {level: loud}\n", "c.yml", "error, warning, info, debug");
    refused("alerts: {system_log: maybe}\n", "c.yml", "true or false");
    refused("- a\n", "c.yml:1:1", "must hold options");
    refused("scan: {interval: 5m\n", "c.yml:2:1", "not valid YAML");
    refused("scan:\n\tinterval: 5m\n", "c.yml:2:1", "not valid YAML");
    refused("scan: {}\n---\nlog: {}\n", "c.yml", "more than one document");
    refused("\xFF\xFE", "c.yml", "UTF-8");
    refused("scan: {roots: [~]}\n", "c.yml", "list of texts");
    refused("listen: {hosts: [\"a b\"]}\n", "c.yml", "host name");
}

static void a_wrong_file_changes_nothing(void **state)
{
    (void)state;
    assert_int_equal(parse("scan: {interval: 20m}\n"), 0);
    struct config before = config;
    assert_int_equal(parse("scan: {interval: 30m, probe: some}\n"), ERR_CONFIG);
    assert_memory_equal(&before, &config, sizeof config);
}

static void every_default_is_in_its_range_and_printing_reads_back(void **state)
{
    (void)state;
    for (int comments = 0; comments < 2; comments++) {
        struct buf first, second;
        buf_init(&first, 100000);
        buf_init(&second, 100000);
        config_defaults(&arena, &config);
        assert_int_equal(config_print(&config, comments, &first, NULL), 0);
        assert_int_equal(parse(first.data), 0);
        assert_int_equal(config_print(&config, comments, &second, NULL), 0);
        assert_string_equal(first.data, second.data);
        buf_done(&first);
        buf_done(&second);
    }
}

static void texts_of_every_kind_are_quoted_so_that_they_read_back(void **state)
{
    (void)state;
    struct buf text;
    buf_init(&text, 100000);
    config_defaults(&arena, &config);
    config.data_dir = "/tmp/a \"b\" \\ \xE6\xB5\x8B # : {";
    assert_int_equal(config_print(&config, false, &text, NULL), 0);
#ifndef _WIN32
    assert_int_equal(parse(text.data), 0);
    assert_string_equal(config.data_dir, "/tmp/a \"b\" \\ \xE6\xB5\x8B # : {");
#endif
    buf_done(&text);
}

static void keys_are_unique_and_sections_hang_together(void **state)
{
    (void)state;
    for (size_t i = 0; i < config_option_count; i++) {
        for (size_t j = 0; j < i; j++) {
            assert_string_not_equal(config_options[i].key, config_options[j].key);
            assert_int_not_equal(config_options[i].offset, config_options[j].offset);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(an_empty_file_gives_the_defaults, forget),
        cmocka_unit_test_teardown(every_kind_of_option_is_read, forget),
        cmocka_unit_test_teardown(wrong_files_are_refused_with_place_and_help, forget),
        cmocka_unit_test_teardown(a_wrong_file_changes_nothing, forget),
        cmocka_unit_test_teardown(every_default_is_in_its_range_and_printing_reads_back, forget),
        cmocka_unit_test_teardown(texts_of_every_kind_are_quoted_so_that_they_read_back, forget),
        cmocka_unit_test_teardown(keys_are_unique_and_sections_hang_together, forget),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
