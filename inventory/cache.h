#ifndef INVENTORY_CACHE_H
#define INVENTORY_CACHE_H

/* What files were found to be, by (path, size, modification time, file id). Owns its texts.
   An entry that two scans in a row did not ask for is dropped, so the cache does not grow.
   Cost: O(1) a file; memory some hundred bytes a file. */

#include "inventory/identify.h"
#include "os/file.h"

/* A scan begins: what the last two did not use is forgotten. NULL is fine. */
void cache_begin_scan(struct inventory_cache *cache);

/* Copies the remembered identity into the arena; false when the file is new or has changed. */
bool cache_get(struct inventory_cache *cache, struct arena *arena, const char *path,
               const struct os_file_info *info, struct identity *out_identity);

void cache_put(struct inventory_cache *cache, const char *path, const struct os_file_info *info,
               const struct identity *identity);

#endif
