#include "os/registry.h"

const char *os_registry_text(struct arena *arena, const char *key_path, const char *value_name)
{
    (void)arena;
    (void)key_path;
    (void)value_name;
    return NULL;
}

void os_registry_subkeys(struct arena *arena, const char *key_path, char ***out_names,
                         size_t *out_count)
{
    (void)arena;
    (void)key_path;
    *out_names = NULL;
    *out_count = 0;
}
