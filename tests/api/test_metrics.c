#include "tests/test.h"

#include "api/metrics.h"
#include "api/routes.h"
#include "base/text.h"
#include "tests/db/fixture.h"

static char *print(enum api_format format, enum metrics_part part, const struct snapshot *snapshot,
                   const struct metrics_live *live)
{
    struct buf page;
    struct err err = {0};
    buf_init(&page, METRICS_CEILING);
    assert_int_equal(metrics_print(&page, format, part, snapshot, live, &err), 0);
    return buf_take(&page);
}

static void assert_has(const char *page, const char *line)
{
    if (strstr(page, line) == NULL) {
        fail_msg("no '%s' in:\n%s", line, page);
    }
}

static void families_of_a_snapshot(void **state)
{
    struct arena arena = {0};
    struct snapshot *snapshot = fixture_snapshot(&arena, 7);
    (void)state;
    char *page = print(API_PROMETHEUS, METRICS_OF_SNAPSHOT, snapshot, NULL);
    assert_has(page, "# TYPE cudnnd_driver_info gauge\n");
    assert_has(page,
               "cudnnd_driver_info{version=\"560.94\",cuda_version=\"12.6\",model=\"wddm\"} 1\n");
    assert_has(page, "cudnnd_installs{kind=\"toolkit\"} 3\n");
    assert_has(page, "cudnnd_installs{kind=\"wheel\"} 0\n");
    assert_has(page, "path=\"C:\\\\Program Files\\\\NVIDIA GPU Computing Toolkit");
    free(page);
    arena_done(&arena);
}

static void open_metrics_names_families_without_their_suffix(void **state)
{
    struct arena arena = {0};
    struct snapshot *snapshot = fixture_snapshot(&arena, 7);
    static struct api_state counters;
    struct api_service service = {.version = "1", .revision = "2"};
    struct metrics_live live = {.service = &service, .state = &counters};
    (void)state;
    char *page = print(API_OPENMETRICS, METRICS_OF_SNAPSHOT, snapshot, NULL);
    assert_has(page, "# TYPE cudnnd_install info\n");
    assert_has(page, "\ncudnnd_install_info{");
    free(page);
    page = print(API_OPENMETRICS, METRICS_LIVE, NULL, &live);
    assert_has(page, "# TYPE cudnnd_scans counter\n");
    assert_has(page, "\ncudnnd_scans_total{trigger=\"startup\",result=\"ok\"} 0\n");
    free(page);
    arena_done(&arena);
}

static void a_family_without_samples_is_left_out(void **state)
{
    struct arena arena = {0};
    struct snapshot *snapshot = fixture_snapshot(&arena, 7);
    (void)state;
    snapshot->driver = (struct driver){.status = DRIVER_ERROR};
    char *page = print(API_PROMETHEUS, METRICS_OF_SNAPSHOT, snapshot, NULL);
    assert_null(strstr(page, "cudnnd_driver_info"));
    assert_null(strstr(page, "cudnnd_gpu_info"));
    free(page);
    arena_done(&arena);
}

static void label_values_are_escaped(void **state)
{
    static struct api_state counters;
    struct api_service service = {.version = "a\"b\\c\nd\xFF", .revision = NULL};
    struct metrics_live live = {.service = &service, .state = &counters};
    (void)state;
    char *page = print(API_PROMETHEUS, METRICS_LIVE, NULL, &live);
    assert_has(page,
               "cudnnd_build_info{version=\"a\\\"b\\\\c\\nd\xEF\xBF\xBD\",revision=\"\"} 1\n");
    free(page);
}

static void requests_are_counted_by_route_and_code(void **state)
{
    static struct api_state counters;
    struct api_service service = {.version = "1", .revision = "2"};
    struct metrics_live live = {.service = &service, .state = &counters};
    (void)state;
    api_state_count(&counters, 0, 200);
    api_state_count(&counters, 0, 200);
    api_state_count(&counters, routes_count, 404);
    char *page = print(API_PROMETHEUS, METRICS_LIVE, NULL, &live);
    assert_has(page,
               "cudnnd_http_requests_total{method=\"GET\",route=\"/status\",code=\"200\"} 2\n");
    assert_has(page, "cudnnd_http_requests_total{method=\"\",route=\"other\",code=\"404\"} 1\n");
    free(page);
}

/* DESIGN's ceiling: under 500 series on a machine with 40 installs, all of it counted. */
static void a_large_machine_stays_below_500_series(void **state)
{
    struct arena arena = {0};
    struct snapshot *snapshot = fixture_snapshot(&arena, 7);
    static struct api_state counters;
    struct api_service service = {.version = "1", .revision = "2"};
    struct metrics_live live = {.service = &service, .state = &counters};
    enum { INSTALLS = 40 };
    (void)state;
    struct install *installs = arena_alloc(&arena, INSTALLS * sizeof *installs);
    for (size_t i = 0; i < INSTALLS; i++) {
        installs[i] = snapshot->inventory.installs[i % FIXTURE_INSTALLS];
    }
    snapshot->inventory.installs = installs;
    snapshot->inventory.install_count = INSTALLS;
    for (size_t route = 0; route <= routes_count; route++) { /* three codes for every route */
        api_state_count(&counters, route, 200);
        api_state_count(&counters, route, 304);
        api_state_count(&counters, route, 503);
    }
    char *pages[] = {print(API_PROMETHEUS, METRICS_OF_SNAPSHOT, snapshot, NULL),
                     print(API_PROMETHEUS, METRICS_LIVE, NULL, &live)};
    size_t series = 0;
    for (size_t i = 0; i < 2; i++) {
        for (const char *line = pages[i]; *line != '\0'; line = strchr(line, '\n') + 1) {
            series += *line != '#' ? 1 : 0;
        }
        free(pages[i]);
    }
    assert_true(series > INSTALLS);
    assert_true(series < 500);
    arena_done(&arena);
}

RUN_TESTS(cmocka_unit_test(families_of_a_snapshot),
          cmocka_unit_test(open_metrics_names_families_without_their_suffix),
          cmocka_unit_test(a_family_without_samples_is_left_out),
          cmocka_unit_test(label_values_are_escaped),
          cmocka_unit_test(requests_are_counted_by_route_and_code),
          cmocka_unit_test(a_large_machine_stays_below_500_series))
