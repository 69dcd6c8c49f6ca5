#ifndef SERVICE_AGENT_H
#define SERVICE_AGENT_H

/* The agent: the one life that runs in the console, under systemd and under Windows' service
   manager alike. Opens everything (configuration, data directory, lock, store, token, listener),
   then scans at once and again and again: at start, each interval, on request, after sleep.
   Requests of the outside (stop, reload, pause) only set flags and wake it: safe from any
   thread. */

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

struct agent;

struct agent_options {
    const char *config_file; /* NULL = the platform's own, which may be missing */
    const char *data_dir;    /* NULL = what the configuration says */
    int port;                /* -1 = what the configuration says */
    bool service;            /* run by a service manager: the machine's directories */
};

/* Everything that can go wrong at start goes wrong here, each with one clear sentence and what to
   do: ERR_CONFIG, ERR_PERMISSION, ERR_BUSY (port or data directory in use), ERR_IO, ... After it
   the listener answers and the store is open: that is "running". */
int agent_open(const struct agent_options *options, struct agent **out_agent, struct err *err);

uint16_t agent_port(const struct agent *agent);
const char *agent_address(const struct agent *agent); /* first one listened on */
const char *agent_data_dir(const struct agent *agent);

/* Scans and serves until agent_stop; 0, or an ERR_* that ends the service. */
int agent_run(struct agent *agent, struct err *err);

void agent_stop(struct agent *agent);               /* within 5 s, whatever it is doing */
void agent_reload(struct agent *agent);             /* reads the configuration again */
void agent_pause(struct agent *agent, bool paused); /* no scheduled scans; requests still work */
void agent_resumed(struct agent *agent);            /* the machine woke up: scan soon */

void agent_close(struct agent *agent); /* NULL is fine */

#endif
