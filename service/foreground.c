#include "service/foreground.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "os/path.h"
#include "os/signals.h"
#include "service/build_info.h"

/* The agent while it can be told something. Signals are taken over before it is opened, as its
   threads must start with them blocked. */
struct foreground {
    pthread_mutex_t mutex;
    struct agent *agent; /* NULL: not opened yet, or closing */
    bool closing;
};

static void on_stop(void *context)
{
    struct foreground *foreground = context;
    pthread_mutex_lock(&foreground->mutex);
    if (foreground->agent != NULL) {
        agent_stop(foreground->agent);
    } else if (!foreground->closing) {
        _Exit(0); /* checking a large store may take long; what is in it outlives any end */
    }
    pthread_mutex_unlock(&foreground->mutex);
}

static void on_reload(void *context)
{
    struct foreground *foreground = context;
    pthread_mutex_lock(&foreground->mutex);
    if (foreground->agent != NULL) {
        agent_reload(foreground->agent);
    }
    pthread_mutex_unlock(&foreground->mutex);
}

static void set_agent(struct foreground *foreground, struct agent *agent)
{
    pthread_mutex_lock(&foreground->mutex);
    foreground->agent = agent;
    foreground->closing = agent == NULL;
    pthread_mutex_unlock(&foreground->mutex);
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
    static struct foreground foreground = {.mutex = PTHREAD_MUTEX_INITIALIZER};
    struct agent *agent = NULL;
    os_signals_start(on_stop, on_reload, &foreground);
    int code = agent_open(options, &agent, err);
    if (code != 0) {
        return code;
    }
    set_agent(&foreground, agent);
    print_where(agent);
    if (on_running != NULL) {
        on_running(agent);
    }
    code = agent_run(agent, err);
    set_agent(&foreground, NULL);
    agent_close(agent);
    return code;
}
