#ifndef BASE_HASH_H
#define BASE_HASH_H

/* Short stable names out of texts (ids of installs and findings, ETags). Not for secrets, not
   against an adversary: 64-bit FNV-1a, http://www.isthe.com/chongo/tech/comp/fnv/ */

#include <stddef.h>
#include <stdint.h>

#define HASH_START UINT64_C(0xcbf29ce484222325)

uint64_t hash_bytes(uint64_t hash, const void *data, size_t size); /* begin with HASH_START */
uint64_t hash_text(uint64_t hash, const char *text);               /* includes the final NUL */

#endif
