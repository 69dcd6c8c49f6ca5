#ifndef INVENTORY_LIBRARIES_H
#define INVENTORY_LIBRARIES_H

/* The cuDNN libraries of one directory: which a loader would find there, what each says of
   itself, which are missing. Fills in what an install owes to them and nothing else. */

#include <stdbool.h>
#include <stddef.h>

#include "inventory/look.h"

/* The names in a canonical directory that a loader opens as a cuDNN library, sorted. Linux: of
   libcudnn_ops.so.9 and libcudnn_ops.so.9.5.0 only the former, the latter only when it is alone.
   False, with NULL and 0, when there are none. */
bool libraries_names(struct look *look, const char *canonical, enum look_care care,
                     const char ***out_names, size_t *out_count);

/* For install->path: libraries (present ones by name, then missing ones by name), version, build,
   generation, cuda_major from the libraries' strings, arch, layout, complete. Counts files into
   inventory->files_*. False when the directory holds no cuDNN. */
bool libraries_read(struct look *look, struct inventory *inventory, struct install *install);

/* The entry library (or the single one of 7 and older) of the install's generation, whatever its
   state, unless it is missing; NULL. */
const struct library *libraries_entry(const struct install *install);

#endif
