#ifndef INVENTORY_LD_CACHE_H
#define INVENTORY_LD_CACHE_H

/* /etc/ld.so.cache: which file Linux' loader opens for a bare name, as ldconfig wrote it down.
   Bytes in, nothing is opened; any bytes give a result or an error. */

#include <stddef.h>

#include "base/arena.h"
#include "base/bytes.h"
#include "base/err.h"

enum { LD_CACHE_DIRECTORIES_LIMIT = 4096, LD_CACHE_CUDNN_LIMIT = 4096 };

struct ld_cache_entry {
    const char *name; /* "libcudnn.so.9" */
    const char *path; /* "/usr/lib/x86_64-linux-gnu/libcudnn.so.9" */
};

struct ld_cache {
    const char **directories; /* that it serves anything from, once each, in its order */
    size_t directory_count;
    struct ld_cache_entry
        *cudnn; /* what it maps of cuDNN, in its order: the first of a name wins */
    size_t cudnn_count;
};

/* Texts are copied into the arena. ERR_FORMAT: not a cache of this byte order, or cut off;
   ERR_LIMIT: more directories than anybody has. */
int ld_cache_parse(struct arena *arena, struct bytes bytes, struct ld_cache *out_cache,
                   struct err *err);

#endif
