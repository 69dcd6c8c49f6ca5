#include "base/log.h"
#include "base/text.h"
#include "config/config.h"
#include "config/value.h"

/* Defaults are written in the table as in a file and read by the same parser of values. */
static void set_default(struct arena *arena, const struct config_option *option,
                        struct config *config)
{
    struct err err = {0};
    int code;
    if (value_is_list(option->type)) {
        const char *items[8];
        size_t count = 0;
        char *text = arena_strdup(arena, option->fallback);
        for (char *at = text + strspn(text, "[ "); *at != ']';) {
            size_t length = strcspn(at, ",]");
            bool last = at[length] == ']';
            char *next = at + length + (last ? 0 : 1);
            at[length] = '\0';
            char *item = text_strip(at);
            size_t quoted = strlen(item);
            if (quoted > 1 && item[0] == '"') {
                item[quoted - 1] = '\0';
                item++;
            }
            items[count++] = item;
            if (last) {
                break;
            }
            at = next;
        }
        code = value_set_list(arena, option, items, count, config, &err);
    } else {
        bool none = text_equal(option->fallback, "null");
        code = value_set_scalar(arena, option, none ? NULL : option->fallback, config, &err);
    }
    if (code != 0) {
        log_fatal("the default of %s is wrong: %s", option->key, err.message);
    }
}

void config_defaults(struct arena *arena, struct config *out_config)
{
    *out_config = (struct config){0};
    for (size_t i = 0; i < config_option_count; i++) {
        set_default(arena, &config_options[i], out_config);
    }
}

static int print_comment(const struct config_option *option, const char *indent, struct buf *out,
                         struct err *err)
{
    int code = buf_printf(out, err, "%s# %s\n%s# ", indent, option->sentence, indent);
    code = code != 0 ? code : value_print_type(option, out, err);
    return code != 0 ? code : buf_printf(out, err, "; default %s\n", option->fallback);
}

int config_print(const struct config *config, bool comments, struct buf *out, struct err *err)
{
    char section[32] = "";
    int code = 0;
    for (size_t i = 0; code == 0 && i < config_option_count; i++) {
        const struct config_option *option = &config_options[i];
        const char *dot = strchr(option->key, '.');
        size_t length = dot == NULL ? 0 : (size_t)(dot - option->key);
        if (dot != NULL &&
            (strlen(section) != length || strncmp(section, option->key, length) != 0)) {
            code = buf_printf(out, err, "%.*s:\n", (int)length, option->key);
            snprintf(section, sizeof section, "%.*s", (int)length, option->key);
        }
        const char *indent = dot == NULL ? "" : "  ";
        if (code == 0 && comments) {
            code = print_comment(option, indent, out, err);
        }
        if (code == 0) {
            code = buf_printf(out, err, "%s%s: ", indent, dot == NULL ? option->key : dot + 1);
        }
        code = code != 0 ? code : value_print(option, config, out, err);
        code = code != 0 ? code : buf_add_text(out, "\n", err);
    }
    return code;
}

int config_print_docs(struct buf *out, struct err *err)
{
    int code = buf_add_text(
        out,
        "# Configuration\n\n"
        "Made from the option table (`config/options.c`) by `cudnnd config docs`; do not edit.\n\n"
        "The file is `cudnnd.yml`: `%ProgramData%\\cudnnd\\cudnnd.yml` on Windows, "
        "`/etc/cudnnd/cudnnd.yml` on Linux,\nfor an ordinary user `~/.config/cudnnd/cudnnd.yml` or "
        "`%LOCALAPPDATA%\\cudnnd\\cudnnd.yml`, or what `--config` names.\nEvery option has a "
        "default, "
        "so the file may be missing. Unknown keys and bad values are errors with file, line and "
        "column.\n`cudnnd config check` tells whether a file is right, `cudnnd config defaults` "
        "prints "
        "one with every option.\nA running service reads it again on SIGHUP or the service "
        "manager's "
        "parameter change and keeps the old one when the new one is wrong.\n\n"
        "| option | type | default | what it does |\n|---|---|---|---|\n",
        err);
    for (size_t i = 0; code == 0 && i < config_option_count; i++) {
        const struct config_option *option = &config_options[i];
        code = buf_printf(out, err, "| `%s` | ", option->key);
        code = code != 0 ? code : value_print_type(option, out, err);
        code = code != 0
                   ? code
                   : buf_printf(out, err, " | `%s` | %s |\n", option->fallback, option->sentence);
    }
    return code;
}
