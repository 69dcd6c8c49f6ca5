#include "cli/command.h"

#include <errno.h>
#include <stdarg.h>

#include "base/text.h"
#include "os/dirs.h"
#include "os/secure.h"
#include "os/terminal.h"

int cli_usage(const struct command *command, const char *format, ...)
{
    va_list arguments;
    fprintf(stderr, "cudnnd %s: ", command->verb);
    va_start(arguments, format);
    vfprintf(stderr, format, arguments);
    va_end(arguments);
    fprintf(stderr, " (see: cudnnd %s --help)\n", command->verb);
    return CLI_USAGE;
}

int cli_error(const struct command *command, const struct err *err)
{
    fprintf(stderr, "cudnnd %s: %s\n", command->verb, err->message);
    return err->code == ERR_USAGE || err->code == ERR_CONFIG ? CLI_USAGE : CLI_FAILED;
}

static const struct cli_option *find_option(const struct cli_option *options, const char *name,
                                            size_t length)
{
    for (; options->name != NULL; options++) {
        if (strlen(options->name) == length && strncmp(options->name, name, length) == 0) {
            return options;
        }
    }
    return NULL;
}

/* One word that begins with "--". *index moves on over a value in the next word. */
static int read_option(const struct command *command, const struct cli_option *options, int argc,
                       char **argv, int *index)
{
    const char *name = argv[*index] + 2;
    const char *equals = strchr(name, '=');
    size_t length = equals != NULL ? (size_t)(equals - name) : strlen(name);
    const struct cli_option *option = find_option(options, name, length);
    if (option == NULL) {
        return cli_usage(command, "there is no option '%s'", argv[*index]);
    }
    if (option->flag != NULL) {
        if (equals != NULL) {
            return cli_usage(command, "--%s takes no value", option->name);
        }
        *option->flag = true;
        return -1;
    }
    if (equals != NULL) {
        *option->value = equals + 1;
    } else if (*index + 1 < argc) {
        *option->value = argv[++*index];
    } else {
        return cli_usage(command, "--%s wants a value", option->name);
    }
    return **option->value != '\0' ? -1 : cli_usage(command, "--%s wants a value", option->name);
}

int cli_options(const struct command *command, const struct cli_option *options, int *argc,
                char **argv)
{
    int kept = 1;
    bool words_only = false;
    for (int i = 1; i < *argc; i++) {
        const char *word = argv[i];
        if (!words_only && (text_equal(word, "--help") || text_equal(word, "-h"))) {
            printf("%s\n", command->usage);
            return CLI_OK;
        }
        if (!words_only && text_equal(word, "--")) {
            words_only = true;
        } else if (!words_only && text_has_prefix(word, "--")) {
            int status = read_option(command, options, *argc, argv, &i);
            if (status >= 0) {
                return status;
            }
        } else if (!words_only && word[0] == '-' && word[1] != '\0') {
            return cli_usage(command, "there is no option '%s'", word);
        } else {
            argv[kept++] = argv[i];
        }
    }
    *argc = kept;
    argv[kept] = NULL;
    return -1;
}

void cli_print_json(struct json *document)
{
    char *text = json_print_pretty(document);
    json_free(document);
    puts(text); /* main() looks whether it was written */
    free(text);
}

int cli_config(struct arena *arena, const char *file, struct config *out_config, struct err *err)
{
    const char *path =
        file != NULL ? file : os_dirs_config_file(arena, os_secure_is_administrator());
    return config_load(arena, path, file != NULL, out_config, err);
}

const char *cli_colour(FILE *stream, const char *name)
{
    static const struct {
        const char *name, *code;
    } colours[] = {{"red", "\033[31m"},
                   {"yellow", "\033[33m"},
                   {"green", "\033[32m"},
                   {"bold", "\033[1m"},
                   {"off", "\033[0m"}};
    const char *no_color = getenv("NO_COLOR");
    if ((no_color != NULL && *no_color != '\0') || !os_terminal_is_interactive(stream)) {
        return "";
    }
    for (size_t i = 0; i < sizeof colours / sizeof *colours; i++) {
        if (text_equal(colours[i].name, name)) {
            return colours[i].code;
        }
    }
    return "";
}
