/* Anything at all as a Linux library: known by each name whose table row asks for something
   else (a version symbol, names of CUDA libraries, neither). */
#include <stddef.h>
#include <stdint.h>

#include "inventory/identify.h"
#include "tests/fuzz/check_identity.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *const names[] = {"libcudnn_graph.so.9.5.0", "libcudnn_adv.so.9",
                                        "libcudnn.so.9", "libother.so"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        struct arena arena = {0};
        struct identity identity;
        identify_bytes_named(&arena, (struct bytes){.data = data, .size = size}, names[i],
                             &identity);
        check_identity(&identity);
        arena_done(&arena);
    }
    return 0;
}
