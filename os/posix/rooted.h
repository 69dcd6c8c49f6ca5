#ifndef OS_POSIX_ROOTED_H
#define OS_POSIX_ROOTED_H

/* Small texts of the system's own files, inside a root as in os/path.h: links are followed there,
   never out of it. Included only inside os/posix/. */

#include <stdbool.h>

#include "base/arena.h"

/* The file's content; NULL when it cannot be read, is no regular file or larger than 1 MiB. */
char *posix_rooted_read(struct arena *arena, const char *root, const char *path);

/* Where an existing path inside the root lies for the system's own calls; NULL when it does not
   exist. */
char *posix_rooted_path(struct arena *arena, const char *root, const char *path);

#endif
