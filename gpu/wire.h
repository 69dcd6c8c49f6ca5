#ifndef GPU_WIRE_H
#define GPU_WIRE_H

/* What the worker says on stdout: one JSON document, written at the end, flushed once.

   cudnnd-worker driver [--root DIR]
     {"task":"driver","status":"ok|missing|error","source":"nvml|cuda"|null,"version":"560.94",
      "cuda_version":"12.6","model":"wddm"|null,"error":null,
      "gpus":[{"index":0,"name":..,"uuid":..,"compute_capability":"8.6","memory_bytes":..,
               "pci_bus_id":..,"status":"ok"}]}
   cudnnd-worker probe --directory DIR --library FILE
     {"task":"probe","status":"ok|failed","version":90500,"cudart_version":12060,
      "max_compute_capability":900,"checks":{"graph":"CUDNN_STATUS_SUCCESS",..},
      "create":"CUDNN_STATUS_NOT_INITIALIZED","load_ms":12,"error":null,"loader_code":0}

   An absent or unknown field is null. A reader accepts unknown keys (a newer worker), refuses
   wrong types, texts over WIRE_TEXT_BYTES and more than WIRE_GPUS devices. */

#include "gpu/gpu.h"

enum { WIRE_TEXT_BYTES = 4096, WIRE_GPUS = 256 };

/* Parse what a worker wrote; texts are copied into the arena. ERR_FORMAT, ERR_LIMIT. */
int wire_read_driver(struct arena *arena, const char *text, size_t size, struct driver *out_driver,
                     struct err *err);
int wire_read_probe(struct arena *arena, const char *text, size_t size, struct probe *out_probe,
                    struct err *err);

/* The document for a result, for the worker; free() it. */
char *wire_write_driver(const struct driver *driver);
char *wire_write_probe(const struct probe *probe);

#endif
