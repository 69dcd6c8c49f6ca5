#ifndef OS_WIN32_MAP_GUARD_H
#define OS_WIN32_MAP_GUARD_H

/* Calls the reader of a mapped view so that a page that cannot be read ends the call and not the
   process. Internal to os/win32. */

#include <stdbool.h>

#include "os/file.h"

struct map_guard_call {
    os_file_reader *reader;
    struct bytes view;
    const struct os_file_info *info;
    void *context;
    struct err *err;
    int result; /* what the reader returned */
};

/* False when a page could not be read: then the reader was left in the middle. */
bool map_guard_run(struct map_guard_call *call);

#endif
