#include "base/text.h"
#include "cli/command.h"
#include "service/shell.h"

static int finish(const struct command *command, int code, const char *said, const struct err *err)
{
    if (code != 0) {
        return cli_error(command, err);
    }
    printf("cudnnd: %s\n", said);
    return CLI_OK;
}

static int restart(struct err *err)
{
    enum shell_state state;
    int code = shell_state(&state, err);
    if (code == 0 && state != SHELL_STOPPED && state != SHELL_NOT_INSTALLED) {
        code = shell_stop(err);
    }
    return code != 0 ? code : shell_start(err);
}

static int print_state(const struct command *command)
{
    enum shell_state state;
    struct err err = {0};
    if (shell_state(&state, &err) != 0) {
        return cli_error(command, &err);
    }
    printf("cudnnd: %s\n", shell_state_name(state));
    return state == SHELL_RUNNING || state == SHELL_PAUSED ? CLI_OK : CLI_FAILED;
}

int cmd_service(const struct command *command, int argc, char **argv)
{
    static const struct {
        const char *verb;
        int (*act)(struct err *err);
        const char *said;
    } verbs[] = {
        {"uninstall", shell_uninstall, "uninstalled; configuration and data are left"},
        {"start", shell_start, "running"},
        {"stop", shell_stop, "stopped"},
        {"restart", restart, "running again"},
    };
    struct shell_install_options install = {0};
    const struct cli_option options[] = {
        {"config", NULL, &install.config_file},
        {"account", NULL, &install.account},
        {NULL, NULL, NULL},
    };
    int status = cli_options(command, options, &argc, argv);
    if (status >= 0) {
        return status;
    }
    if (argc != 2) {
        return cli_usage(command,
                         "say what to do: install, uninstall, start, stop, restart, status");
    }
    struct err err = {0};
    if (text_equal(argv[1], "install")) {
        int code = shell_install(&install, &err);
        return finish(command, code, "installed; `cudnnd service start` starts it", &err);
    }
    if (install.config_file != NULL || install.account != NULL) {
        return cli_usage(command, "--config and --account are for install");
    }
    if (text_equal(argv[1], "status")) {
        return print_state(command);
    }
    for (size_t i = 0; i < sizeof verbs / sizeof *verbs; i++) {
        if (text_equal(argv[1], verbs[i].verb)) {
            return finish(command, verbs[i].act(&err), verbs[i].said, &err);
        }
    }
    return cli_usage(command, "there is no 'service %s'", argv[1]);
}
