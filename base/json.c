#include "base/json.h"

#include <cJSON.h>
#include <float.h>
#include <inttypes.h>
#include <math.h>

#include "base/arena.h"
#include "base/clock_text.h"
#include "base/log.h"
#include "base/text.h"

#define EXACT_INT INT64_C(1000000000000000)

/* struct json is cJSON under another name, so that no other file can reach into it. */
static cJSON *inner(const struct json *value)
{
    return (cJSON *)(uintptr_t)value; /* NOLINT(performance-no-int-to-ptr): drops const */
}

static struct json *made(cJSON *value)
{
    if (value == NULL) {
        log_fatal("out of memory while building a JSON document");
    }
    return (struct json *)value;
}

struct json *json_object(void)
{
    return made(cJSON_CreateObject());
}

struct json *json_array(void)
{
    return made(cJSON_CreateArray());
}

struct json *json_text(const char *text)
{
    if (text == NULL) {
        return made(cJSON_CreateNull());
    }
    struct arena arena = {0};
    struct json *value = made(cJSON_CreateString(text_utf8_clean(&arena, text)));
    arena_done(&arena);
    return value;
}

void json_free(struct json *value)
{
    cJSON_Delete(inner(value));
}

void json_done(struct json **value)
{
    json_free(*value);
    *value = NULL;
}

void json_set(struct json *object, const char *key, struct json *child)
{
    if (!cJSON_AddItemToObject(inner(object), key, inner(child))) {
        log_fatal("out of memory while building a JSON document");
    }
}

void json_set_text(struct json *object, const char *key, const char *text)
{
    json_set(object, key, json_text(text));
}

void json_set_int(struct json *object, const char *key, int64_t value)
{
    /* cJSON prints 15 digits of a number; one with more is put in as the text it is. */
    if (value > -EXACT_INT && value < EXACT_INT) {
        json_set(object, key, made(cJSON_CreateNumber((double)value)));
    } else {
        char text[32];
        snprintf(text, sizeof text, "%" PRId64, value);
        json_set(object, key, made(cJSON_CreateRaw(text)));
    }
}

void json_set_number(struct json *object, const char *key, double value)
{
    json_set(object, key,
             made(fabs(value) <= DBL_MAX ? cJSON_CreateNumber(value) : cJSON_CreateNull()));
}

void json_set_bool(struct json *object, const char *key, bool value)
{
    json_set(object, key, made(cJSON_CreateBool(value)));
}

void json_set_time(struct json *object, const char *key, int64_t unix_ms)
{
    char text[CLOCK_TEXT_SIZE];
    if (unix_ms == 0) {
        json_set_null(object, key);
        return;
    }
    clock_text_format(unix_ms, text);
    json_set_text(object, key, text);
}

void json_set_null(struct json *object, const char *key)
{
    json_set(object, key, made(cJSON_CreateNull()));
}

struct json *json_set_object(struct json *object, const char *key)
{
    struct json *child = json_object();
    json_set(object, key, child);
    return child;
}

struct json *json_set_array(struct json *object, const char *key)
{
    struct json *child = json_array();
    json_set(object, key, child);
    return child;
}

void json_append(struct json *array, struct json *child)
{
    if (!cJSON_AddItemToArray(inner(array), inner(child))) {
        log_fatal("out of memory while building a JSON document");
    }
}

void json_append_text(struct json *array, const char *text)
{
    json_append(array, json_text(text));
}

struct json *json_copy(const struct json *value)
{
    return made(cJSON_Duplicate(inner(value), true));
}

void json_remove(struct json *object, const char *key)
{
    cJSON_DeleteItemFromObjectCaseSensitive(inner(object), key);
}

static char *printed(char *text)
{
    if (text == NULL) {
        log_fatal("out of memory while printing a JSON document");
    }
    return text;
}

char *json_print(const struct json *value)
{
    return printed(cJSON_PrintUnformatted(inner(value)));
}

/* cJSON indents and separates with tabs. There is no other tab in its text (within strings it is
   written as an escape), so that each can be replaced: two blanks a level, one behind a colon. */
char *json_print_pretty(const struct json *value)
{
    char *tabbed = printed(cJSON_Print(inner(value)));
    char *text = malloc(2 * strlen(tabbed) + 1);
    if (text == NULL) {
        log_fatal("out of memory: a JSON document");
    }
    char *to = text;
    for (const char *from = tabbed; *from != '\0'; from++) {
        if (*from != '\t') {
            *to++ = *from;
            continue;
        }
        *to++ = ' ';
        if (from[-1] != ':') {
            *to++ = ' ';
        }
    }
    *to = '\0';
    free(tabbed);
    return text;
}

struct json *json_parse(const char *text, size_t size, struct err *err)
{
    const char *end = NULL;
    if (!text_utf8_valid(text, size)) {
        err_set(err, ERR_FORMAT, "not valid UTF-8");
        return NULL;
    }
    cJSON *value = cJSON_ParseWithLengthOpts(text, size, &end, false);
    if (value == NULL) {
        size_t at = end != NULL && end >= text ? (size_t)(end - text) : 0;
        err_set(err, ERR_FORMAT, "not valid JSON at byte %zu", at);
        return NULL;
    }
    for (; (size_t)(end - text) < size; end++) {
        if (strchr(" \t\r\n", *end) == NULL || *end == '\0') {
            cJSON_Delete(value);
            err_set(err, ERR_FORMAT, "something follows the JSON document at byte %zu",
                    (size_t)(end - text));
            return NULL;
        }
    }
    return (struct json *)value;
}

const struct json *json_get(const struct json *object, const char *key)
{
    return (const struct json *)cJSON_GetObjectItemCaseSensitive(inner(object), key);
}

size_t json_count(const struct json *array)
{
    const cJSON *value = inner(array);
    return cJSON_IsArray(value) || cJSON_IsObject(value) ? (size_t)cJSON_GetArraySize(value) : 0;
}

const struct json *json_at(const struct json *array, size_t index)
{
    return index > INT32_MAX ? NULL
                             : (const struct json *)cJSON_GetArrayItem(inner(array), (int)index);
}

bool json_is_null(const struct json *value)
{
    return value == NULL || cJSON_IsNull(inner(value));
}

bool json_is_object(const struct json *value)
{
    return cJSON_IsObject(inner(value));
}

bool json_is_array(const struct json *value)
{
    return cJSON_IsArray(inner(value));
}

const char *json_as_text(const struct json *value)
{
    return cJSON_GetStringValue(inner(value));
}

int json_read_text(const struct json *object, const char *key, const char **out, struct err *err)
{
    const char *text = json_as_text(json_get(object, key));
    if (text == NULL) {
        return err_set(err, ERR_FORMAT, "'%s' is missing or not a text", key);
    }
    *out = text;
    return 0;
}

int json_read_text_or_null(const struct json *object, const char *key, const char **out,
                           struct err *err)
{
    if (json_is_null(json_get(object, key))) {
        *out = NULL;
        return 0;
    }
    return json_read_text(object, key, out, err);
}

int json_read_int(const struct json *object, const char *key, int64_t *out, struct err *err)
{
    const cJSON *value = inner(json_get(object, key));
    if (!cJSON_IsNumber(value) || value->valuedouble != floor(value->valuedouble) ||
        fabs(value->valuedouble) > 9007199254740992.0) {
        return err_set(err, ERR_FORMAT, "'%s' is missing or not a whole number", key);
    }
    *out = (int64_t)value->valuedouble;
    return 0;
}

int json_read_bool(const struct json *object, const char *key, bool *out, struct err *err)
{
    const cJSON *value = inner(json_get(object, key));
    if (!cJSON_IsBool(value)) {
        return err_set(err, ERR_FORMAT, "'%s' is missing or not true or false", key);
    }
    *out = cJSON_IsTrue(value);
    return 0;
}

int json_read_int_or(const struct json *object, const char *key, int64_t fallback, int64_t *out,
                     struct err *err)
{
    if (json_is_null(json_get(object, key))) {
        *out = fallback;
        return 0;
    }
    return json_read_int(object, key, out, err);
}
