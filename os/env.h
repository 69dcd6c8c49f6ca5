#ifndef OS_ENV_H
#define OS_ENV_H

/* Environment variables by scope. A service sees the machine's environment, a program that a
   person starts sees the machine's, the user's and what its shell added.
   Windows: machine = the registry's Session Manager\Environment, user = HKCU\Environment (for
   every loaded profile's own: os/registry.h), REG_EXPAND_SZ expanded. POSIX: machine is empty but
   for what /etc/environment sets, user is empty. Process = this process's own block. */

#include <stddef.h>

#include "base/arena.h"

enum os_env_scope { OS_ENV_MACHINE, OS_ENV_USER, OS_ENV_PROCESS };

struct os_env_variable {
    const char *name;
    const char *value;
};

/* NULL when not set. On Windows names ignore case. `root`: as in os/path.h (POSIX: the
   /etc/environment inside it; the process's own block is the same). */
const char *os_env_get(struct arena *arena, const char *root, enum os_env_scope scope,
                       const char *name);

/* Every variable whose name begins with `prefix` (Windows: case ignored), in name order. */
void os_env_list(struct arena *arena, const char *root, enum os_env_scope scope, const char *prefix,
                 struct os_env_variable **out_items, size_t *out_count);

#endif
