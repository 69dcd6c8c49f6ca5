#ifndef OS_POSIX_MOUNTS_H
#define OS_POSIX_MOUNTS_H

/* The kernel's mount table, proc_pid_mountinfo(5). Reading it touches no mounted file system, so
   it answers even while a server is gone. Included only inside os/posix/. */

#include <stdbool.h>

#include "base/arena.h"

struct posix_mount {
    const char *point;   /* where it is mounted, unescaped */
    const char *type;    /* "ext4", "nfs4", "fuse.sshfs" */
    const char *options; /* of the file system: "rw,user_id=1000" */
};

/* One line of the table. False when it is not well formed. Results live in the arena. */
bool posix_mount_parse(struct arena *arena, const char *line, struct posix_mount *out_mount);

/* The mount that an absolute path without "." and ".." lies in, by the text of the path alone.
   False when the table cannot be read. */
bool posix_mount_of(struct arena *arena, const char *path, struct posix_mount *out_mount);

/* True for the types whose answers come from somewhere else and may not come at all. */
bool posix_mount_is_remote(const struct posix_mount *mount);

#endif
