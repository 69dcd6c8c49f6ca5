#include "base/text.h"
#include "cli/command.h"
#include "os/dirs.h"
#include "os/file.h"
#include "os/secure.h"

enum { PAGE_BYTES = 1024 * 1024 };

static int print_config(const struct command *command, const struct config *config, bool comments)
{
    struct buf text;
    struct err err = {0};
    buf_init(&text, PAGE_BYTES);
    int code = config_print(config, comments, &text, &err);
    if (code == 0) {
        fputs(text.data, stdout);
    }
    buf_done(&text);
    return code == 0 ? CLI_OK : cli_error(command, &err);
}

static int check(const struct command *command, const char *file)
{
    struct arena arena = {0};
    struct config config;
    struct err err = {0};
    const char *path =
        file != NULL ? file : os_dirs_config_file(&arena, os_secure_is_administrator());
    struct os_file_info info;
    int status = CLI_OK;
    bool there = file != NULL || os_file_stat(path, &info, NULL) != ERR_NOT_FOUND;
    if (config_load(&arena, path, there, &config, &err) != 0) {
        status = cli_error(command, &err);
    } else if (there) {
        printf("%s: right\n", path);
    } else {
        printf("%s: not there, the defaults are in force (cudnnd config defaults)\n", path);
    }
    arena_done(&arena);
    return status;
}

static int show(const struct command *command, const char *file)
{
    struct arena arena = {0};
    struct config config;
    struct err err = {0};
    int status = cli_config(&arena, file, &config, &err) == 0
                     ? print_config(command, &config, false)
                     : cli_error(command, &err);
    arena_done(&arena);
    return status;
}

static int defaults(const struct command *command)
{
    struct arena arena = {0};
    struct config config;
    config_defaults(&arena, &config);
    int status = print_config(command, &config, true);
    arena_done(&arena);
    return status;
}

int cmd_config(const struct command *command, int argc, char **argv)
{
    const char *file = NULL;
    const struct cli_option options[] = {{"config", NULL, &file}, {NULL, NULL, NULL}};
    int status = cli_options(command, options, &argc, argv);
    if (status >= 0) {
        return status;
    }
    if (argc != 2) {
        return cli_usage(command, "say what to do: check, show or defaults");
    }
    if (text_equal(argv[1], "check")) {
        return check(command, file);
    }
    if (text_equal(argv[1], "show")) {
        return show(command, file);
    }
    if (text_equal(argv[1], "defaults")) {
        return file == NULL ? defaults(command) : cli_usage(command, "defaults reads no file");
    }
    return cli_usage(command, "there is no 'config %s'", argv[1]);
}
