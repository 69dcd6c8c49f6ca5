#include <string.h>

#include "gpu/worker/tasks.h"

bool worker_resolve(struct os_library *library, const struct worker_function *functions,
                    size_t count, void *out_api)
{
    for (size_t i = 0; i < count; i++) {
        os_library_function *function = os_library_symbol(library, functions[i].name);
        if (function == NULL && functions[i].older_name != NULL) {
            function = os_library_symbol(library, functions[i].older_name);
        }
        if (function == NULL && functions[i].required) {
            return false;
        }
        memcpy((char *)out_api + functions[i].offset, &function, sizeof function);
    }
    return true;
}
