#ifndef INVENTORY_SEARCH_PATH_H
#define INVENTORY_SEARCH_PATH_H

/* The directories in which a loader looks for a bare library name, in its order, and the cuDNN
   names in each. Windows: PATH (the system's directories are in it). Linux: LD_LIBRARY_PATH, then
   those of ld.so.cache and of the loader's defaults that hold a cuDNN. What an individual program
   adds (its own directory, RUNPATH, os.add_dll_directory) is not known here. */

#include <stddef.h>

#include "inventory/look.h"

enum { SEARCH_PATH_LIMIT = 4096 };

struct search_path {
    struct search_entry *entries; /* in the scan's arena */
    size_t count, capacity;
    const char **served; /* directories that ld.so.cache serves anything from, as written there */
    size_t served_count;
};

void search_path_read(struct look *look, struct search_path *out_path);

/* Is a canonical directory one of the entries? */
bool search_path_has(const struct search_path *path, const char *canonical);

#endif
