#include "inventory/version_symbol.h"

bool version_symbol_decode(uint32_t value, struct version *out_version)
{
    uint32_t major = value >> 16;
    if (major < 7 || major > 99) {
        return false; /* a function's code, or another kind of data */
    }
    *out_version = (struct version){.part = {major, value >> 8 & 0xFF, value & 0xFF}, .count = 3};
    return true;
}
