#ifndef BASE_JSON_H
#define BASE_JSON_H

/* JSON documents, in and out: typed, strict helpers over cJSON, which nothing else includes.
   Building: the parent owns what is put into it; only the root is freed. Text that is not
   well-formed UTF-8 is stored with U+FFFD in place of what is ill-formed, so that a document is
   always valid JSON. Running out of memory ends the process, as in an arena.
   Reading: a wrong type is an error that names the key, never a default. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

struct json; /* a value of any type */

struct json *json_object(void);
struct json *json_array(void);
struct json *json_text(const char *text); /* NULL -> JSON null */
void json_free(struct json *value);
void json_done(struct json **value); /* for CLEANUP */

/* Into an object. Keys are written in this order. A NULL text becomes null. */
void json_set_text(struct json *object, const char *key, const char *text);
void json_set_int(struct json *object, const char *key, int64_t value);
void json_set_number(struct json *object, const char *key, double value); /* NaN, inf -> null */
void json_set_bool(struct json *object, const char *key, bool value);
void json_set_time(struct json *object, const char *key, int64_t unix_ms); /* RFC 3339; 0 -> null */
void json_set_null(struct json *object, const char *key);
void json_set(struct json *object, const char *key, struct json *child); /* takes child */
struct json *json_set_object(struct json *object, const char *key);      /* a new child */
struct json *json_set_array(struct json *object, const char *key);       /* a new child */
void json_append(struct json *array, struct json *child);                /* takes child */
void json_append_text(struct json *array, const char *text);

struct json *json_copy(const struct json *value);
void json_remove(struct json *object, const char *key); /* nothing happens when it is absent */

/* Text of a value; free() it. Compact, or indented for people. */
char *json_print(const struct json *value);
char *json_print_pretty(const struct json *value);

/* Parses one whole document of at most `size` bytes: UTF-8, nothing after it, depth limited.
   NULL and err on failure. */
struct json *json_parse(const char *text, size_t size, struct err *err);

/* Reading. json_get answers NULL when the key is absent. */
const struct json *json_get(const struct json *object, const char *key);
size_t json_count(const struct json *array); /* 0 for anything but array, object */
const struct json *json_at(const struct json *array, size_t index);
bool json_is_null(const struct json *value); /* also true for NULL */
bool json_is_object(const struct json *value);
bool json_is_array(const struct json *value);
const char *json_as_text(const struct json *value); /* NULL unless it is a text */
int json_read_text(const struct json *object, const char *key, const char **out, struct err *err);
int json_read_text_or_null(const struct json *object, const char *key, const char **out,
                           struct err *err); /* absent counts as null */
int json_read_int(const struct json *object, const char *key, int64_t *out, struct err *err);
int json_read_bool(const struct json *object, const char *key, bool *out, struct err *err);
/* Absent or null gives `fallback`; another type is an error. */
int json_read_int_or(const struct json *object, const char *key, int64_t fallback, int64_t *out,
                     struct err *err);

#endif
