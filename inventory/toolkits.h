#ifndef INVENTORY_TOOLKITS_H
#define INVENTORY_TOOLKITS_H

/* CUDA toolkits: which directories are one, their versions, which is the machine's default.
   Every canonical directory is one toolkit, however many ways lead to it. */

#include <stddef.h>

#include "inventory/look.h"

/* By path, in the scan's arena. */
void toolkits_find(struct look *look, struct toolkit **out_toolkits, size_t *out_count);

#endif
