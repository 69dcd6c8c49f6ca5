#ifndef SERVICE_FOREGROUND_H
#define SERVICE_FOREGROUND_H

/* The agent in the foreground, the part that both shells share. */

#include "service/agent.h"

/* Opens the agent, tells a person where to look, runs it until it is asked to stop.
   `on_running` (may be NULL) is called once the listener answers and the store is open. */
int foreground_run(const struct agent_options *options, void (*on_running)(struct agent *agent),
                   struct err *err);

#endif
