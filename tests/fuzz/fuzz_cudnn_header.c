/* Anything at all as cudnn_version.h. */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include "inventory/identify.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct version version = {0};
    if (identify_header((const char *)data, size, &version) && !version_known(version)) {
        abort(); /* success has a version */
    }
    return 0;
}
