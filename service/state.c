#include "service/shell.h"

const char *shell_state_name(enum shell_state state)
{
    static const char *const names[] = {"not installed", "stopped",  "starting",
                                        "running",       "stopping", "paused"};
    return names[state];
}
