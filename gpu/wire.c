#include "gpu/wire.h"

#include <string.h>

#include "base/cleanup.h"
#include "base/json.h"
#include "base/text.h"

/* ---- reading: what a worker says is not to be trusted, it ran somebody else's code ---- */

/* These texts go to terminals, logs and metrics: no line breaks, no escapes. */
static const char *one_line(struct arena *arena, const char *text)
{
    char *line = arena_strdup(arena, text);
    for (char *at = line; at != NULL && *at != '\0'; at++) {
        if ((unsigned char)*at < 0x20 || *at == 0x7f) {
            *at = ' ';
        }
    }
    return line;
}

static int read_text(struct arena *arena, const struct json *object, const char *key,
                     const char **out_text, struct err *err)
{
    const char *text;
    int code = json_read_text_or_null(object, key, &text, err);
    if (code == 0 && text != NULL && strlen(text) > WIRE_TEXT_BYTES) {
        code = err_set(err, ERR_LIMIT, "'%s' has more than %d bytes", key, WIRE_TEXT_BYTES);
    }
    if (code == 0) {
        *out_text = one_line(arena, text);
    }
    return code;
}

/* A number that is not negative; absent or null gives `unknown`. */
static int read_number(const struct json *object, const char *key, int64_t most, int64_t unknown,
                       int64_t *out_number, struct err *err)
{
    int64_t number = unknown;
    bool absent = json_is_null(json_get(object, key));
    int code = absent ? 0 : json_read_int(object, key, &number, err);
    if (code == 0 && !absent && (number < 0 || number > most)) {
        code = err_set(err, ERR_FORMAT, "'%s' is out of range", key);
    }
    if (code == 0) {
        *out_number = number;
    }
    return code;
}

/* What is wrong is said, or it cannot be told to anybody. */
static int need_error(bool wrong, const char *error, struct err *err)
{
    return wrong && (error == NULL || *error == '\0')
               ? err_set(err, ERR_FORMAT, "'error' does not say what is wrong")
               : 0;
}

/* The index of a text in a list of names. */
static int read_choice(const struct json *object, const char *key, const char *const *names,
                       int count, int *out_index, struct err *err)
{
    const char *text;
    int code = json_read_text(object, key, &text, err);
    for (int i = 0; code == 0 && i < count; i++) {
        if (text_equal(names[i], text)) {
            *out_index = i;
            return 0;
        }
    }
    return code != 0 ? code : err_set(err, ERR_FORMAT, "'%s' is '%.40s'", key, text);
}

static int read_root(const char *text, size_t size, const char *task, struct json **out_root,
                     struct err *err)
{
    struct json *root = json_parse(text, size, err);
    const char *named = NULL;
    if (root == NULL) {
        return ERR_FORMAT;
    }
    int code = json_is_object(root) ? json_read_text(root, "task", &named, err)
                                    : err_set(err, ERR_FORMAT, "not an object");
    if (code == 0 && !text_equal(named, task)) {
        code = err_set(err, ERR_FORMAT, "the document is of another task");
    }
    if (code != 0) {
        json_free(root);
        return code;
    }
    *out_root = root;
    return 0;
}

static int read_gpu(struct arena *arena, const struct json *object, struct gpu *out_gpu,
                    struct err *err)
{
    const struct {
        const char *key;
        const char **text;
    } texts[] = {
        {"name", &out_gpu->name},
        {"uuid", &out_gpu->uuid},
        {"compute_capability", &out_gpu->compute_capability},
        {"pci_bus_id", &out_gpu->pci_bus_id},
        {"status", &out_gpu->status},
    };
    int64_t index;
    int code = json_read_int(object, "index", &index, err);
    if (code == 0 && (index < 0 || index >= WIRE_GPUS)) {
        code = err_set(err, ERR_LIMIT, "'index' is out of range");
    }
    for (size_t i = 0; code == 0 && i < sizeof texts / sizeof *texts; i++) {
        code = read_text(arena, object, texts[i].key, texts[i].text, err);
    }
    if (code == 0) {
        out_gpu->index = (int)index;
        code = read_number(object, "memory_bytes", INT64_MAX, -1, &out_gpu->memory_bytes, err);
    }
    return code;
}

static int read_gpus(struct arena *arena, const struct json *root, struct driver *driver,
                     struct err *err)
{
    const struct json *list = json_get(root, "gpus");
    if (!json_is_array(list)) {
        return err_set(err, ERR_FORMAT, "'gpus' is missing or not a list");
    }
    size_t count = json_count(list);
    if (count > WIRE_GPUS) {
        return err_set(err, ERR_LIMIT, "more than %d GPUs", WIRE_GPUS);
    }
    driver->gpus = arena_alloc(arena, (count + 1) * sizeof *driver->gpus);
    driver->gpu_count = count;
    for (size_t i = 0; i < count; i++) {
        int code = read_gpu(arena, json_at(list, i), &driver->gpus[i], err);
        if (code != 0) {
            return code;
        }
    }
    return 0;
}

int wire_read_driver(struct arena *arena, const char *text, size_t size, struct driver *out_driver,
                     struct err *err)
{
    static const char *const statuses[] = {"ok", "missing", "error"};
    CLEANUP(json_done) struct json *root = NULL;
    struct driver driver = {0};
    int status = 0;
    int code = read_root(text, size, "driver", &root, err);
    code = code != 0 ? code : read_choice(root, "status", statuses, 3, &status, err);
    const struct {
        const char *key;
        const char **text;
    } texts[] = {
        {"source", &driver.source}, {"version", &driver.version},
        {"model", &driver.model},   {"cuda_version", &driver.cuda_version},
        {"error", &driver.error},
    };
    for (size_t i = 0; code == 0 && i < sizeof texts / sizeof *texts; i++) {
        code = read_text(arena, root, texts[i].key, texts[i].text, err);
    }
    code = code != 0 ? code : read_gpus(arena, root, &driver, err);
    code = code != 0 ? code : need_error(status == DRIVER_ERROR, driver.error, err);
    if (code == 0) {
        driver.status = (enum driver_status)status;
        *out_driver = driver;
    }
    return code;
}

int wire_read_probe(struct arena *arena, const char *text, size_t size, struct probe *out_probe,
                    struct err *err)
{
    static const char *const statuses[] = {"ok", "failed"};
    CLEANUP(json_done) struct json *root = NULL;
    struct probe probe = {0};
    int status = 0;
    int64_t loader_code = 0;
    int code = read_root(text, size, "probe", &root, err);
    code = code != 0 ? code : read_choice(root, "status", statuses, 2, &status, err);
    const struct {
        const char *key;
        int64_t fallback, *number;
    } numbers[] = {
        {"version", 0, &probe.version},
        {"cudart_version", 0, &probe.cudart_version},
        {"max_compute_capability", 0, &probe.max_compute_capability},
        {"load_ms", -1, &probe.load_ms},
        {"loader_code", 0, &loader_code},
    };
    for (size_t i = 0; code == 0 && i < sizeof numbers / sizeof *numbers; i++) {
        code = read_number(root, numbers[i].key, INT32_MAX, numbers[i].fallback, numbers[i].number,
                           err);
    }
    const struct json *checks = json_get(root, "checks");
    if (code == 0 && !json_is_object(checks)) {
        code = err_set(err, ERR_FORMAT, "'checks' is missing or not an object");
    }
    for (int i = 0; code == 0 && i < PROBE_CHECKS; i++) {
        code =
            read_text(arena, checks, probe_check_name((enum probe_check)i), &probe.checks[i], err);
    }
    code = code != 0 ? code : read_text(arena, root, "create", &probe.create, err);
    code = code != 0 ? code : read_text(arena, root, "error", &probe.error, err);
    code = code != 0 ? code : need_error(status == PROBE_FAILED, probe.error, err);
    if (code == 0) {
        probe.status = status == 0 ? PROBE_OK : PROBE_FAILED;
        probe.loader_code = (int)loader_code;
        *out_probe = probe;
    }
    return code;
}

/* ---- writing ---- */

static char *print_and_free(struct json *root)
{
    char *text = json_print(root);
    json_free(root);
    return text;
}

/* An unknown number is null. */
static void set_number(struct json *object, const char *key, int64_t number, int64_t unknown)
{
    if (number == unknown) {
        json_set_null(object, key);
    } else {
        json_set_int(object, key, number);
    }
}

char *wire_write_driver(const struct driver *driver)
{
    struct json *root = json_object();
    json_set_text(root, "task", "driver");
    json_set_text(root, "status", driver_status_name(driver->status));
    json_set_text(root, "source", driver->source);
    json_set_text(root, "version", driver->version);
    json_set_text(root, "cuda_version", driver->cuda_version);
    json_set_text(root, "model", driver->model);
    json_set_text(root, "error", driver->error);
    struct json *list = json_set_array(root, "gpus");
    for (size_t i = 0; i < driver->gpu_count; i++) {
        const struct gpu *gpu = &driver->gpus[i];
        struct json *object = json_object();
        json_set_int(object, "index", gpu->index);
        json_set_text(object, "name", gpu->name);
        json_set_text(object, "uuid", gpu->uuid);
        json_set_text(object, "compute_capability", gpu->compute_capability);
        set_number(object, "memory_bytes", gpu->memory_bytes, -1);
        json_set_text(object, "pci_bus_id", gpu->pci_bus_id);
        json_set_text(object, "status", gpu->status);
        json_append(list, object);
    }
    return print_and_free(root);
}

char *wire_write_probe(const struct probe *probe)
{
    struct json *root = json_object();
    json_set_text(root, "task", "probe");
    json_set_text(root, "status", probe_status_name(probe->status));
    set_number(root, "version", probe->version, 0);
    set_number(root, "cudart_version", probe->cudart_version, 0);
    set_number(root, "max_compute_capability", probe->max_compute_capability, 0);
    struct json *checks = json_set_object(root, "checks");
    for (int i = 0; i < PROBE_CHECKS; i++) {
        json_set_text(checks, probe_check_name((enum probe_check)i), probe->checks[i]);
    }
    json_set_text(root, "create", probe->create);
    set_number(root, "load_ms", probe->load_ms, -1);
    json_set_text(root, "error", probe->error);
    json_set_int(root, "loader_code", probe->loader_code);
    return print_and_free(root);
}
