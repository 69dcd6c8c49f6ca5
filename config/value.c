#include "config/value.h"

#include <inttypes.h>

#include "base/text.h"
#include "os/path.h"

struct unit {
    const char *name;
    int64_t factor;
};

/* Largest first: printing takes the first one that divides the value. */
static const struct unit duration_units[] = {
    {"y", INT64_C(365) * 86400000},
    {"d", INT64_C(86400000)},
    {"h", INT64_C(3600000)},
    {"m", INT64_C(60000)},
    {"s", INT64_C(1000)},
    {"ms", 1},
    {NULL, 0},
};
static const struct unit size_units[] = {
    {"TiB", INT64_C(1) << 40},
    {"GiB", INT64_C(1) << 30},
    {"MiB", INT64_C(1) << 20},
    {"KiB", INT64_C(1) << 10},
    {"B", 1},
    {NULL, 0},
};
static const struct unit plain_units[] = {{"", 1}, {NULL, 0}};

static const struct unit *units_of(enum config_type type)
{
    return type == CONFIG_DURATION ? duration_units
           : type == CONFIG_SIZE   ? size_units
                                   : plain_units;
}

static void *field(const struct config_option *option, struct config *config)
{
    return (char *)config + option->offset;
}

static const void *field_const(const struct config_option *option, const struct config *config)
{
    return (const char *)config + option->offset;
}

static int print_number(int64_t value, enum config_type type, struct buf *out, struct err *err)
{
    for (const struct unit *unit = units_of(type); unit->name != NULL; unit++) {
        if (value % unit->factor == 0 &&
            (value != 0 || unit[1].name == NULL || unit->factor == 1000)) {
            return buf_printf(out, err, "%" PRId64 "%s", value / unit->factor, unit->name);
        }
    }
    return buf_printf(out, err, "%" PRId64, value);
}

static int range_error(const struct config_option *option, struct err *err)
{
    struct buf range;
    buf_init(&range, 256);
    print_number(option->min, option->type, &range, NULL);
    buf_add_text(&range, " to ", NULL);
    print_number(option->max, option->type, &range, NULL);
    err_set(err, ERR_CONFIG, "is out of range, %s is allowed", range.data);
    buf_done(&range);
    return ERR_CONFIG;
}

static int set_number(const struct config_option *option, const char *text, struct config *config,
                      struct err *err)
{
    char digits[24];
    size_t length = strspn(text, "0123456789");
    const struct unit *unit = units_of(option->type);
    while (unit->name != NULL && !text_equal(unit->name, text + length)) {
        unit++;
    }
    uint64_t value = 0;
    if (length == 0 || length >= sizeof digits || unit->name == NULL) {
        const char *wanted = option->type == CONFIG_DURATION
                                 ? "a duration such as 30s, 15m, 12h or 400d"
                             : option->type == CONFIG_SIZE ? "a size such as 512KiB, 1MiB or 4GiB"
                                                           : "a whole number";
        return err_set(err, ERR_CONFIG, "'%.40s' is not %s", text, wanted);
    }
    memcpy(digits, text, length);
    digits[length] = '\0';
    if (!text_to_u64(digits, (uint64_t)(INT64_MAX / unit->factor), &value)) {
        return range_error(option, err);
    }
    int64_t scaled = (int64_t)value * unit->factor;
    if (scaled < option->min || scaled > option->max) {
        return range_error(option, err);
    }
    *(int64_t *)field(option, config) = scaled;
    return 0;
}

static int set_choice(const struct config_option *option, const char *text, struct config *config,
                      struct err *err)
{
    struct buf list;
    buf_init(&list, 256);
    for (int64_t i = 0; option->choices[i] != NULL; i++) {
        if (text_equal(option->choices[i], text)) {
            *(int64_t *)field(option, config) = i;
            buf_done(&list);
            return 0;
        }
        buf_printf(&list, NULL, "%s%s", i == 0 ? "" : ", ", option->choices[i]);
    }
    err_set(err, ERR_CONFIG, "'%.40s' is not one of %s", text, list.data);
    buf_done(&list);
    return ERR_CONFIG;
}

int value_set_scalar(struct arena *arena, const struct config_option *option, const char *text,
                     struct config *config, struct err *err)
{
    if (option->type == CONFIG_PATH) {
        if (text != NULL && !os_path_is_absolute(text)) {
            return err_set(err, ERR_CONFIG, "'%.200s' is not an absolute path", text);
        }
        *(const char **)field(option, config) = arena_strdup(arena, text);
        return 0;
    }
    if (text == NULL) {
        return err_set(err, ERR_CONFIG, "has no value");
    }
    if (option->type == CONFIG_BOOLEAN) {
        if (!text_equal(text, "true") && !text_equal(text, "false")) {
            return err_set(err, ERR_CONFIG, "'%.40s' is not true or false", text);
        }
        *(bool *)field(option, config) = text_equal(text, "true");
        return 0;
    }
    return option->type == CONFIG_CHOICE ? set_choice(option, text, config, err)
                                         : set_number(option, text, config, err);
}

bool value_is_list(enum config_type type)
{
    return type == CONFIG_ADDRESSES || type == CONFIG_NAMES || type == CONFIG_PATHS;
}

/* 127.0.0.0/8 and ::1 are the addresses that never leave the machine. */
static bool is_loopback(const char *text)
{
    if (text_equal(text, "::1")) {
        return true;
    }
    unsigned parts = 0;
    for (const char *at = text; parts < 4; parts++) {
        size_t digits = strspn(at, "0123456789");
        if (digits == 0 || digits > 3) {
            return false;
        }
        unsigned value = 0;
        for (size_t i = 0; i < digits; i++) {
            value = value * 10 + (unsigned)(at[i] - '0');
        }
        if (value > 255 || (parts == 0 && value != 127)) {
            return false;
        }
        at += digits;
        if (*at != (parts == 3 ? '\0' : '.')) {
            return false;
        }
        at++;
    }
    return true;
}

static bool is_host_name(const char *text)
{
    size_t length = strlen(text);
    return length > 0 && length <= 253 &&
           strspn(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-") ==
               length;
}

static int check_item(enum config_type type, const char *item, struct err *err)
{
    switch (type) {
    case CONFIG_ADDRESSES:
        return is_loopback(item)
                   ? 0
                   : err_set(err, ERR_CONFIG,
                             "'%.60s' is not a loopback address (127.0.0.1 or \"::1\"); put a "
                             "reverse proxy before it to reach it from elsewhere",
                             item);
    case CONFIG_NAMES:
        return is_host_name(item) ? 0
                                  : err_set(err, ERR_CONFIG, "'%.60s' is not a host name", item);
    default:
        return os_path_is_absolute(item)
                   ? 0
                   : err_set(err, ERR_CONFIG, "'%.200s' is not an absolute path", item);
    }
}

int value_set_list(struct arena *arena, const struct config_option *option,
                   const char *const *items, size_t count, struct config *config, struct err *err)
{
    enum { MOST = 256 };
    if (count > MOST) {
        return err_set(err, ERR_CONFIG, "has more than %d entries", MOST);
    }
    if (count == 0 && option->type == CONFIG_ADDRESSES) {
        return err_set(err, ERR_CONFIG, "needs at least one address");
    }
    struct config_list list = {.items = arena_alloc(arena, (count + 1) * sizeof(char *)),
                               .count = count};
    for (size_t i = 0; i < count; i++) {
        if (items[i] == NULL) {
            return err_set(err, ERR_CONFIG, "has an empty entry");
        }
        int code = check_item(option->type, items[i], err);
        if (code != 0) {
            return code;
        }
        list.items[i] = arena_strdup(arena, items[i]);
    }
    *(struct config_list *)field(option, config) = list;
    return 0;
}

/* Double-quoted YAML: always valid, whatever the text holds. */
static int print_quoted(const char *text, struct buf *out, struct err *err)
{
    int code = buf_add_text(out, "\"", err);
    for (; code == 0 && *text != '\0'; text++) {
        unsigned char c = (unsigned char)*text;
        if (c == '"' || c == '\\') {
            code = buf_printf(out, err, "\\%c", c);
        } else if (c < 0x20) {
            code = buf_printf(out, err, "\\x%02X", c);
        } else {
            code = buf_add(out, text, 1, err);
        }
    }
    return code != 0 ? code : buf_add_text(out, "\"", err);
}

static int print_list(const struct config_list *list, struct buf *out, struct err *err)
{
    int code = buf_add_text(out, "[", err);
    for (size_t i = 0; code == 0 && i < list->count; i++) {
        code = i == 0 ? 0 : buf_add_text(out, ", ", err);
        if (code == 0) {
            code = print_quoted(list->items[i], out, err);
        }
    }
    return code != 0 ? code : buf_add_text(out, "]", err);
}

int value_print(const struct config_option *option, const struct config *config, struct buf *out,
                struct err *err)
{
    const void *value = field_const(option, config);
    switch (option->type) {
    case CONFIG_DURATION:
    case CONFIG_SIZE:
    case CONFIG_INTEGER:
        return print_number(*(const int64_t *)value, option->type, out, err);
    case CONFIG_BOOLEAN:
        return buf_add_text(out, *(const bool *)value ? "true" : "false", err);
    case CONFIG_CHOICE:
        return buf_add_text(out, option->choices[*(const int64_t *)value], err);
    case CONFIG_PATH: {
        const char *path = *(const char *const *)value;
        return path == NULL ? buf_add_text(out, "null", err) : print_quoted(path, out, err);
    }
    default:
        return print_list(value, out, err);
    }
}

static int print_range(const struct config_option *option, struct buf *out, struct err *err)
{
    int code = buf_add_text(out, ", ", err);
    code = code != 0 ? code : print_number(option->min, option->type, out, err);
    code = code != 0 ? code : buf_add_text(out, " to ", err);
    return code != 0 ? code : print_number(option->max, option->type, out, err);
}

int value_print_type(const struct config_option *option, struct buf *out, struct err *err)
{
    static const char *const names[] = {
        [CONFIG_DURATION] = "duration (ms s m h d y)",
        [CONFIG_SIZE] = "size (B KiB MiB GiB TiB)",
        [CONFIG_INTEGER] = "whole number",
        [CONFIG_BOOLEAN] = "true or false",
        [CONFIG_CHOICE] = "one of",
        [CONFIG_PATH] = "absolute path or null",
        [CONFIG_ADDRESSES] = "list of loopback addresses",
        [CONFIG_NAMES] = "list of host names",
        [CONFIG_PATHS] = "list of absolute paths",
    };
    int code = buf_add_text(out, names[option->type], err);
    if (option->type == CONFIG_CHOICE) {
        for (size_t i = 0; code == 0 && option->choices[i] != NULL; i++) {
            code = buf_printf(out, err, "%s%s", i == 0 ? " " : ", ", option->choices[i]);
        }
    } else if (units_of(option->type) != plain_units || option->type == CONFIG_INTEGER) {
        code = code != 0 ? code : print_range(option, out, err);
    }
    return code;
}
