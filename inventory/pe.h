#ifndef INVENTORY_PE_H
#define INVENTORY_PE_H

/* Reads PE/COFF images (DLLs): Microsoft's "PE Format" document, sections named in pe.c. Bytes in,
   facts out; every offset is hostile. Texts are in the caller's arena. */

#include "base/bytes.h"
#include "inventory/identify.h"

bool pe_is(struct bytes bytes); /* begins like one */

/* Fills arch, version (resource, else the exported symbol), internal_name, imports, problem.
   `out_strings`: the read-only data where names of libraries loaded at run time stand; empty when
   there is none. */
void pe_identify(struct arena *arena, struct bytes bytes, const char *export_name,
                 struct identity *identity, struct bytes *out_strings);

#endif
