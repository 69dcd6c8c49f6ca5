#ifndef SERVICE_SHELL_H
#define SERVICE_SHELL_H

/* The two shells around the agent: Windows' service manager and console (shell_win32.c), systemd
   and the foreground (shell_posix.c); and what `cudnnd service VERB` does on each. */

#include "service/agent.h"

/* Runs the agent until it is asked to stop; the program's exit status. Finds out by itself whether
   a service manager started it. Reports its own failures (stderr, system log, service manager).
   Prints `listening on http://ADDRESS:PORT` and where to look on stdout when run by a person. */
int shell_run(const struct agent_options *options);

struct shell_install_options {
    const char *config_file; /* NULL = the platform's own */
    const char *account;     /* Windows: NULL = NT SERVICE\cudnnd, "LocalService", "LocalSystem" */
};

/* Each: 0, or an ERR_* with what to do. ERR_PERMISSION without administrator's rights. */
int shell_install(const struct shell_install_options *options, struct err *err);
int shell_uninstall(struct err *err); /* stops it first; settings and data stay */
int shell_start(struct err *err);     /* returns when it runs, or says why it does not */
int shell_stop(struct err *err);      /* returns when it has stopped */

enum shell_state {
    SHELL_NOT_INSTALLED,
    SHELL_STOPPED,
    SHELL_STARTING,
    SHELL_RUNNING,
    SHELL_STOPPING,
    SHELL_PAUSED
};
int shell_state(enum shell_state *out_state, struct err *err);
const char *shell_state_name(enum shell_state state);

#endif
