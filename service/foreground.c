#include "service/foreground.h"

#include <stdio.h>
#include <string.h>

#include "os/path.h"
#include "os/signals.h"
#include "service/build_info.h"

static void on_stop(void *context)
{
    agent_stop(context);
}

static void on_reload(void *context)
{
    agent_reload(context);
}

static void print_where(const struct agent *agent)
{
    const char *address = agent_address(agent);
    bool v6 = strchr(address, ':') != NULL;
    char url[96];
    snprintf(url, sizeof url, "http://%s%s%s:%u", v6 ? "[" : "", address, v6 ? "]" : "",
             (unsigned)agent_port(agent));
    printf("cudnnd %s\n", build_version);
    printf("listening on %s\n", url);
    printf("  status     curl -s %s/status\n", url);
    printf("  metrics    %s/metrics\n", url);
    printf("  inventory  %s/api/v1/installs\n", url);
    printf("  data       %s\n", agent_data_dir(agent));
    printf("  scan now   curl -X POST -H \"Authorization: Bearer $(cat '%s%ctoken')\" "
           "%s/api/v1/scans\n",
           agent_data_dir(agent), os_path_separator, url);
    printf("Ctrl+C stops it.\n");
    fflush(stdout);
}

int foreground_run(const struct agent_options *options, void (*on_running)(struct agent *agent),
                   struct err *err)
{
    struct agent *agent = NULL;
    int code = agent_open(options, &agent, err);
    if (code != 0) {
        return code;
    }
    os_signals_start(on_stop, on_reload, agent);
    print_where(agent);
    if (on_running != NULL) {
        on_running(agent);
    }
    code = agent_run(agent, err);
    agent_close(agent);
    return code;
}
