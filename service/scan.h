#ifndef SERVICE_SCAN_H
#define SERVICE_SCAN_H

/* One scan from end to end: host, inventory, driver, probes, judgement. The same for the service
   and for `cudnnd scan`. Bounded in time: a driver that hangs costs one worker time-out, and after
   a few hung probes the rest are skipped with the reason. Stores and publishes nothing. */

#include "config/config.h"
#include "rules/snapshot.h"

/* What a scan remembers for the next one: identified files, and answers of probes whose files and
   driver have not changed since. Not thread-safe. */
struct scan_memory;
struct scan_memory *scan_memory_new(void);
void scan_memory_free(struct scan_memory *memory);

struct scan_request {
    const struct config *config;
    const char *root; /* sysroot, NULL = this machine */
    enum scan_trigger trigger;
    bool probe;                 /* false: no library is loaded, probes are skipped */
    bool process_environment;   /* see inventory.h */
    bool list_watched;          /* see inventory.h */
    struct scan_memory *memory; /* NULL = none */
    const atomic_bool *cancel;  /* NULL = never */
    void (*progress)(void *context, const char *step); /* NULL = none; "inventory", "driver", ... */
    void *progress_context;
};

/* Fills out_snapshot, findings included, all in the arena. ERR_CANCELLED is the only error. */
int scan_run(struct arena *arena, const struct scan_request *request, struct snapshot *out_snapshot,
             struct err *err);

#endif
