#ifndef OS_WATCH_H
#define OS_WATCH_H

/* Tells when something changes in directories, without looking at them again and again: inotify,
   ReadDirectoryChangesW. Only tells that something did, never what: whoever wants to know looks.
   Best effort: a directory that cannot be watched (a limit, a network drive, no permission) is left
   out, events that were lost count as a change. */

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"

struct os_watch_directory {
    const char *path;
    bool files; /* files with the word in their name: made, written and closed, renamed, gone */
    bool directories; /* directories directly in it, of any name: made, renamed, gone */
};

struct os_watch;

/* On a thread of the watch's own; must not call back into it. */
typedef void os_watch_changed(void *context);

/* Watches nothing yet. `word`: of file names, case ignored ("cudnn"). */
int os_watch_start(const char *word, os_watch_changed *on_change, void *context,
                   struct os_watch **out_watch, struct err *err);

/* These directories from now on, in place of those of before; what is watched already stays so
   without a gap. Returns how many can be watched. Not thread-safe: one caller. */
size_t os_watch_set(struct os_watch *watch, const struct os_watch_directory *directories,
                    size_t count);

void os_watch_stop(struct os_watch *watch); /* no call after it; NULL is fine */

#endif
