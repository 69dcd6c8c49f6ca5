#ifndef INVENTORY_ELF_H
#define INVENTORY_ELF_H

/* Reads ELF shared objects: System V ABI, chapters "Object Files" and "Dynamic Linking". Bytes in,
   facts out; every offset is hostile. Texts are in the caller's arena. */

#include "base/bytes.h"
#include "inventory/identify.h"

bool elf_is(struct bytes bytes); /* begins like one */

/* Fills arch, version (exported symbol), internal_name (SONAME), imports (NEEDED), run_path,
   problem. `out_strings` as in pe.h. */
void elf_identify(struct arena *arena, struct bytes bytes, const char *export_name,
                  struct identity *identity, struct bytes *out_strings);

#endif
