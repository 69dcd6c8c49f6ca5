#ifndef API_DOCS_H
#define API_DOCS_H

/* The reference pages of the HTTP interface, made from its tables: docs/api.md, docs/metrics.md.
   Markdown in the arena. */

#include "base/arena.h"

const char *api_print_docs(struct arena *arena);
const char *api_print_metrics_docs(struct arena *arena);

#endif
