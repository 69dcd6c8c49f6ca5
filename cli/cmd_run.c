#include "base/text.h"
#include "cli/command.h"
#include "service/shell.h"

int cmd_run(const struct command *command, int argc, char **argv)
{
    const char *port = NULL;
    struct agent_options run = {.port = -1};
    bool service = false;
    const struct cli_option options[] = {
        {"config", NULL, &run.config_file},
        {"data-dir", NULL, &run.data_dir},
        {"port", NULL, &port},
        {"service", &service, NULL}, /* put there by `service install` on Windows */
        {NULL, NULL, NULL},
    };
    int status = cli_options(command, options, &argc, argv);
    if (status >= 0) {
        return status;
    }
    if (argc > 1) {
        return cli_usage(command, "unexpected '%s'", argv[1]);
    }
    uint64_t number;
    if (port != NULL) {
        if (!text_to_u64(port, 65535, &number)) {
            return cli_usage(command, "--port wants a number from 0 to 65535, not '%s'", port);
        }
        run.port = (int)number;
    }
    run.service = service;
    return shell_run(&run);
}
