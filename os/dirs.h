#ifndef OS_DIRS_H
#define OS_DIRS_H

/* Where the product's own files lie. Service: %ProgramData%\cudnnd, /etc/cudnnd, /var/lib/cudnnd.
   Ordinary user: the XDG directories; on Windows %LOCALAPPDATA%\cudnnd. */

#include <stdbool.h>

#include "base/arena.h"

/* `service`: run by the service manager, or by root / an elevated administrator. */
char *os_dirs_config_file(struct arena *arena, bool service); /* .../cudnnd.yml, may not exist */
char *os_dirs_data(struct arena *arena, bool service);
/* The user's home directories worth looking for environments in: every profile this process can
   list (/home/x, /root, C:\Users\x), inside `root` as in os/path.h. */
void os_dirs_homes(struct arena *arena, const char *root, char ***out_items, size_t *out_count);
/* "C:\Program Files" and the like, from the system, not from a constant. POSIX: NULL. */
char *os_dirs_program_files(struct arena *arena);
char *os_dirs_system(struct arena *arena); /* C:\Windows\System32; POSIX: NULL */

#endif
