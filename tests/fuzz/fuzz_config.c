/* The configuration parser: any bytes give a configuration within its ranges, or a message. */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include "config/config.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct arena arena = {0};
    struct config config;
    struct err err = {0};
    if (config_parse(&arena, "fuzz", (const char *)data, size, &config, &err) == 0) {
        struct buf text;
        buf_init(&text, 16 * 1024 * 1024);
        if (config_print(&config, false, &text, &err) != 0 ||
            config_parse(&arena, "again", text.data, text.size, &config, &err) != 0) {
            abort(); /* what is printed must be readable */
        }
        buf_done(&text);
    } else if (err.message[0] == '\0') {
        abort();
    }
    arena_done(&arena);
    return 0;
}
