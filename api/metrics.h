#ifndef API_METRICS_H
#define API_METRICS_H

/* The metric families: one table (name, type, labels, help, how its samples come), two formats:
   Prometheus text 0.0.4 and OpenMetrics 1.0. Families of a snapshot are written once when it is
   published; the live ones (counters, own process) each time the page is made. */

#include "api/state.h"
#include "base/buf.h"
#include "os/process.h"

enum { METRICS_CEILING = 4 * 1024 * 1024 };

/* What the live families are made from. */
struct metrics_live {
    const struct api_service *service;
    const struct api_state *state; /* counters of requests */
    struct db_stats store;
    struct os_process_usage process;
};

enum metrics_part { METRICS_OF_SNAPSHOT, METRICS_LIVE };

/* Appends a part's families; the value that the other part reads may be NULL. ERR_LIMIT: the page
   would be too large. */
int metrics_print(struct buf *page, enum api_format format, enum metrics_part part,
                  const struct snapshot *snapshot, const struct metrics_live *live,
                  struct err *err);

/* What ends a page. */
int metrics_print_end(struct buf *page, enum api_format format, struct err *err);

extern const char *const metrics_content_types[API_FORMATS];

#endif
