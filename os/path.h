#ifndef OS_PATH_H
#define OS_PATH_H

/* Paths as UTF-8 text with the system's own separator. On Windows lone surrogates of a file name
   are kept as three bytes (WTF-8), drive letters and both separators are understood, `\\?\` never
   leaves os/win32. Nothing here keeps memory: results live in the caller's arena. */

#include <stdbool.h>
#include <stddef.h>

#include "base/arena.h"
#include "base/err.h"

extern const char os_path_separator;      /* '/' or '\\' */
extern const char os_path_list_separator; /* ':' or ';' */

bool os_path_is_absolute(const char *path);
char *os_path_join(struct arena *arena, const char *directory, const char *name);
char *os_path_parent(struct arena *arena, const char *path); /* of a root: the root itself */
const char *os_path_name(const char *path);                  /* points into path */

/* Same text under the system's rules: Windows ignores case (full Unicode) and separator kind. */
bool os_path_equal(const char *a, const char *b);
/* True when path is `ancestor` or lies below it, by the same rules, on whole components. */
bool os_path_is_below(const char *path, const char *ancestor);

/* The canonical form of an existing path: links and junctions followed, `.` and `..` gone, on
   Windows the case that is on disk and no `\\?\`. `root`, POSIX only, NULL for the real machine:
   the path is meant inside that directory, absolute links too, and the result is without it.
   ERR_NOT_FOUND, ERR_PERMISSION, ERR_LIMIT for a link loop, ERR_IO. */
int os_path_resolve(struct arena *arena, const char *root, const char *path, char **out_path,
                    struct err *err);

/* Where a path inside `root` lies for the system's own calls (root NULL: the path itself). */
char *os_path_in_root(struct arena *arena, const char *root, const char *path);

/* True for what may hang for minutes: UNC paths, network drives, NFS/CIFS/FUSE mounts. Decided
   without touching the path itself (its text, the drive's type, the mount table). */
bool os_path_is_network(const char *path);

/* The entries of a PATH-like text in order: quotes removed, blanks around and empty entries
   dropped, at most 4096. On Windows %NAME% is not expanded here (os/env.h did). */
void os_path_list_split(struct arena *arena, const char *list, char ***out_items,
                        size_t *out_count);

#endif
