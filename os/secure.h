#ifndef OS_SECURE_H
#define OS_SECURE_H

/* Who may change what: the product's own directory, and directories that libraries are loaded
   from. Loading a library runs its code, so the answer decides what a probe may touch. */

#include <stdbool.h>
#include <stddef.h>

#include "base/arena.h"
#include "base/err.h"

/* Makes sure that `path` is a directory of our own: created with a protected access list in one
   call (Windows: administrators, SYSTEM and the creating account, or, when an elevated
   administrator creates it, the service's account NT SERVICE\cudnnd; POSIX: 0700), or, where it is
   there already, that it is no link or junction and belongs to us or an administrator and nobody
   else can write to it; repaired where we may. ERR_PERMISSION says what is wrong and what to do. */
int os_secure_directory(const char *path, struct err *err);

/* Can anybody but administrators (root, SYSTEM, TrustedInstaller, Administrators) or the account
   this process runs as change what is loaded from `path` (an existing canonical file or directory)?
   Looks at it and at every directory up to the root: owner, mode bits or access list, on POSIX
   also ACLs that grant write; a sticky directory (/tmp) protects what we own in it.
   Returns true when nobody can; else false and, in the arena, one sentence that says which
   directory and who. What cannot be read counts as untrusted. */
bool os_secure_is_trusted(struct arena *arena, const char *path, const char **out_reason);

bool os_secure_is_administrator(void); /* root, or an elevated member of Administrators */

/* `size` unpredictable bytes from the system. Ends the process when there are none. */
void os_secure_random(void *out_data, size_t size);

#endif
