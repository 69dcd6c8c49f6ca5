#ifndef GPU_WORKER_CUDA_API_H
#define GPU_WORKER_CUDA_API_H

/* What the worker uses of the CUDA driver: as in NVIDIA's cuda.h. Looked up by name. */

#include <stddef.h>

enum { /* CUresult */
       CUDA_SUCCESS_ = 0,
       CUDA_STUB_LIBRARY = 34, /* CUDA_ERROR_STUB_LIBRARY */
       CUDA_NO_DEVICE = 100,
       CUDA_DRIVER_MISMATCH = 803, /* CUDA_ERROR_SYSTEM_DRIVER_MISMATCH */
};

enum { /* CUdevice_attribute */
       CUDA_PCI_BUS = 33,
       CUDA_PCI_DEVICE = 34,
       CUDA_PCI_DOMAIN = 50,
       CUDA_CAPABILITY_MAJOR = 75,
       CUDA_CAPABILITY_MINOR = 76,
};

struct cuda_uuid {
    unsigned char bytes[16];
};

struct cuda_api {
    int (*init)(unsigned flags);
    int (*driver_version)(int *version);
    int (*device_count)(int *count);
    int (*device_get)(int *device, int ordinal);
    int (*device_name)(char *name, int length, int device);
    int (*device_attribute)(int *value, int attribute, int device);
    int (*device_memory)(size_t *bytes, int device);
    int (*device_uuid)(struct cuda_uuid *uuid, int device);
    int (*error_string)(int error, const char **text);
};

#endif
