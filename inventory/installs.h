#ifndef INVENTORY_INSTALLS_H
#define INVENTORY_INSTALLS_H

/* Directories that may hold a cuDNN become installs: one a canonical directory, however many ways
   lead to it, with what each of these ways says about it. */

#include <stdbool.h>
#include <stddef.h>

#include "inventory/environments.h"
#include "inventory/look.h"
#include "inventory/places.h"
#include "inventory/search_path.h"

enum { INSTALLS_LIMIT = 4096 };

/* One way to a directory. */
struct source {
    const char *path;
    const char *root;          /* of the place: struct place_hit; NULL */
    const struct place *place; /* the row; NULL = the search path or the loader's cache */
    size_t toolkit;            /* PLACE_IN_TOOLKIT: which */
    const struct environment *environment; /* PLACE_IN_ENVIRONMENT, PLACE_IN_SITE: which */
    const struct site *site;               /* PLACE_IN_SITE: which */
};

/* A canonical directory with the ways to it. */
struct candidate {
    const char *path;
    uint64_t key;
    struct source best; /* the one that says most about what it is */
    bool in_toolkit;    /* `toolkit` is valid */
    size_t toolkit;
    const struct environment *environment; /* NULL = no environment holds it */
};

struct candidates {
    struct candidate *items; /* in the scan's arena */
    size_t count, capacity;
};

/* Adds a directory; one that is not there is none. */
void candidates_add(struct look *look, struct candidates *candidates, const struct source *source);

/* Fills inventory->installs, by path, from the candidates that hold a cuDNN. The inventory's
   toolkits are final. Stops early when the scan is cancelled. */
void installs_read(struct look *look, const struct candidates *candidates,
                   const struct search_path *search_path, struct inventory *inventory);

#endif
