#ifndef INVENTORY_VERSION_SYMBOL_H
#define INVENTORY_VERSION_SYMBOL_H

/* cuDNN's exported version data: four bytes PATCH MINOR MAJOR 0, seen in NVIDIA's files of 8.9,
   9.5, 9.19 and 9.28 on both systems. */

#include <stdbool.h>
#include <stdint.h>

#include "base/version.h"

/* `value`: the four bytes as a little-endian number. False when it cannot be a cuDNN version. */
bool version_symbol_decode(uint32_t value, struct version *out_version);

#endif
