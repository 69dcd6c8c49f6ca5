#ifndef OS_WIN32_REGISTRY_RAW_H
#define OS_WIN32_REGISTRY_RAW_H

/* Registry values as they are stored, for the files of os/win32 that expand variables by rules of
   their own. Key paths as in os/registry.h. */

#include <stdbool.h>

#include "base/arena.h"

struct registry_value {
    const char *name;
    const char *text;
    bool expandable; /* REG_EXPAND_SZ: %NAME% stands for a variable */
};

/* False when there is no such text. */
bool registry_read(struct arena *arena, const char *key_path, const char *name,
                   struct registry_value *out_value);

/* The first text of a list of texts (REG_MULTI_SZ) that holds `part`, case ignored; NULL. */
const char *registry_find_in_list(struct arena *arena, const char *key_path, const char *name,
                                  const char *part);

/* Every text of a key, at most 4096, in the registry's order. */
void registry_read_all(struct arena *arena, const char *key_path, struct registry_value **out_items,
                       size_t *out_count);

/* Replaces %NAME% by what `lookup` answers, NULL: stays as it is. At most 64 KiB come out. */
typedef const char *registry_lookup(void *context, const char *name);
char *registry_expand(struct arena *arena, const char *text, registry_lookup *lookup,
                      void *context);

/* A variable of this process, NULL when it is not set. */
const char *registry_process_variable(struct arena *arena, const char *name);

#endif
