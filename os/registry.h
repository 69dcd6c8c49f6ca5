#ifndef OS_REGISTRY_H
#define OS_REGISTRY_H

/* Reads texts from the Windows registry, 64-bit and 32-bit views as the path says
   ("HKLM\\SOFTWARE\\..." reads the 64-bit view, "HKLM32\\SOFTWARE\\..." the 32-bit one; HKCU, HKU
   likewise). On other systems there is no registry: nothing is ever found. */

#include <stddef.h>

#include "base/arena.h"

/* The text of a value ("" = the default value), REG_EXPAND_SZ expanded; NULL when it is absent,
   not a text or unreadable. */
const char *os_registry_text(struct arena *arena, const char *key_path, const char *value_name);

/* The names of the subkeys, at most 4096. */
void os_registry_subkeys(struct arena *arena, const char *key_path, char ***out_names,
                         size_t *out_count);

#endif
