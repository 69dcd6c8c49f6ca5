#ifndef INVENTORY_ENVIRONMENTS_H
#define INVENTORY_ENVIRONMENTS_H

/* Python and conda environments: where they are, what packages they say they have, and which of
   these a library directory belongs to. Reads names and small records, runs no interpreter. */

#include <stddef.h>

#include "inventory/look.h"
#include "inventory/places.h"

enum { ENVIRONMENTS_LIMIT = 4096 };

struct site {
    const char *path;       /* canonical site-packages */
    const char **dist_info; /* "nvidia_cudnn_cu12-9.5.0.50.dist-info", by name */
    size_t dist_info_count;
};

struct environment {
    const char *root; /* canonical */
    bool is_conda;    /* has a conda-meta */
    struct site *sites;
    size_t site_count;
};

struct environments {
    struct environment *items; /* in the order found, in the scan's arena */
    size_t count, capacity;
};

void environments_find(struct look *look, struct environments *out_environments);

/* Fills in the install's owner, and its CUDA major where its libraries do not say it, from the
   package's own record. `place` is the row that led to it, `root` its hit's root; `site` is NULL
   for a place that lies in the environment itself. */
void environments_own(struct look *look, const struct environment *environment,
                      const struct site *site, const struct place *place, const char *root,
                      struct install *install);

#endif
