/* What a worker says: any bytes give a result within its limits, or a message. */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "gpu/wire.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* What was read must be readable when it is written, and then stay as it is. */
static void check_driver(struct arena *arena, const struct driver *driver)
{
    struct driver again;
    char *text = wire_write_driver(driver);
    if (driver->gpu_count > WIRE_GPUS ||
        wire_read_driver(arena, text, strlen(text), &again, NULL) != 0) {
        abort();
    }
    char *twice = wire_write_driver(&again);
    if (strcmp(text, twice) != 0) {
        abort();
    }
    free(twice);
    free(text);
}

static void check_probe(struct arena *arena, const struct probe *probe)
{
    struct probe again;
    char *text = wire_write_probe(probe);
    if (wire_read_probe(arena, text, strlen(text), &again, NULL) != 0) {
        abort();
    }
    char *twice = wire_write_probe(&again);
    if (strcmp(text, twice) != 0) {
        abort();
    }
    free(twice);
    free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct arena arena = {0};
    struct driver driver;
    struct probe probe;
    struct err err = {0};
    if (wire_read_driver(&arena, (const char *)data, size, &driver, &err) == 0) {
        check_driver(&arena, &driver);
    } else if (err.message[0] == '\0') {
        abort();
    }
    err = (struct err){0};
    if (wire_read_probe(&arena, (const char *)data, size, &probe, &err) == 0) {
        check_probe(&arena, &probe);
    } else if (err.message[0] == '\0') {
        abort();
    }
    arena_done(&arena);
    return 0;
}
