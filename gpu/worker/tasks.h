#ifndef GPU_WORKER_TASKS_H
#define GPU_WORKER_TASKS_H

/* The worker's tasks. Each loads vendor code, asks it, and fills a result; texts in the arena. What
   kills the process on the way is the parent's to tell. */

#include "gpu/gpu.h"
#include "os/library.h"

void worker_ask_driver(struct arena *arena, const char *root, struct driver *out_driver);
void worker_probe(struct arena *arena, const char *directory, const char *library,
                  struct probe *out_probe);

/* Fills a struct of function pointers: entry i goes into slot i. A name may have an older one to
   fall back to; false when a function that is required is missing. */
struct worker_function {
    const char *name, *older_name; /* older_name may be NULL */
    size_t offset;                 /* of the pointer in the struct */
    bool required;
};
bool worker_resolve(struct os_library *library, const struct worker_function *functions,
                    size_t count, void *out_api);

#endif
