/* The loader's cache: any bytes give directories that begin with '/', within the limits, or a
   message. */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include "inventory/ld_cache.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct arena arena = {0};
    struct ld_cache cache;
    struct err err = {0};
    struct bytes bytes = {.data = data, .size = size};
    if (ld_cache_parse(&arena, bytes, &cache, &err) != 0) {
        if (err.message[0] == '\0') {
            abort();
        }
    } else if (cache.directory_count > LD_CACHE_DIRECTORIES_LIMIT ||
               cache.cudnn_count > LD_CACHE_CUDNN_LIMIT) {
        abort();
    } else {
        for (size_t i = 0; i < cache.directory_count; i++) {
            if (cache.directories[i][0] != '/') {
                abort();
            }
        }
    }
    arena_done(&arena);
    return 0;
}
