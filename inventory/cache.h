#ifndef INVENTORY_CACHE_H
#define INVENTORY_CACHE_H

/* What files were found to be, remembered from scan to scan: path and name -> size, modification
   time, device, inode, identity. A file that differs in any of the four is not known. The cache
   owns copies of all texts; what it gives out is copied into the caller's arena, so that it never
   depends on the cache. Not thread-safe: one scan at a time. (struct inventory_cache, new and free
   are in inventory.h.) */

#include "inventory/identify.h"
#include "inventory/inventory.h"
#include "os/file.h"

/* A new scan begins: entries that neither of the last two scans asked for are dropped. */
void cache_begin_scan(struct inventory_cache *cache);

/* True when the file is known and unchanged. `file_name` belongs to the question because the same
   file under another name is asked for another version symbol. */
bool cache_get(struct inventory_cache *cache, struct arena *arena, const char *path,
               const char *file_name, const struct os_file_info *info,
               struct identity *out_identity);

/* Remembers, in place of what was known of this path and name. A full cache forgets nothing and
   takes nothing new. */
void cache_put(struct inventory_cache *cache, const char *path, const char *file_name,
               const struct os_file_info *info, const struct identity *identity);

size_t cache_count(const struct inventory_cache *cache);

#endif
