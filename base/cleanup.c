#include "base/cleanup.h"

#include <stdlib.h>

void cleanup_free(void *pointer_to_pointer)
{
    free(*(void **)pointer_to_pointer);
}
