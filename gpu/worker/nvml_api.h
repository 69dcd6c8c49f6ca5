#ifndef GPU_WORKER_NVML_API_H
#define GPU_WORKER_NVML_API_H

/* What the worker uses of NVML: types, numbers and function types as in NVIDIA's nvml.h (NVML API
   reference). Functions are looked up by name at run time. */

enum { /* nvmlReturn_t */
       NVML_SUCCESS = 0,
       NVML_NOT_SUPPORTED = 3,
       NVML_NO_PERMISSION = 4,
       NVML_DRIVER_NOT_LOADED = 9,
       NVML_GPU_IS_LOST = 15,
       NVML_VERSION_MISMATCH = 18, /* NVML_ERROR_LIB_RM_VERSION_MISMATCH */
};

enum { NVML_TEXT = 96 }; /* NVML_DEVICE_NAME_V2_BUFFER_SIZE, the longest of its texts */

struct nvml_device; /* nvmlDevice_t is a pointer to it */

struct nvml_memory { /* nvmlMemory_t, bytes */
    unsigned long long total, free, used;
};

struct nvml_pci { /* nvmlPciInfo_t */
    char bus_id_legacy[16];
    unsigned domain, bus, device, pci_device_id, pci_subsystem_id;
    char bus_id[32];
};

struct nvml_api {
    int (*init)(void);
    int (*shutdown)(void);
    const char *(*error_string)(int result);
    int (*driver_version)(char *version, unsigned length);
    int (*cuda_version)(int *version);
    int (*device_count)(unsigned *count);
    int (*device_by_index)(unsigned index, struct nvml_device **device);
    int (*device_name)(struct nvml_device *device, char *name, unsigned length);
    int (*device_uuid)(struct nvml_device *device, char *uuid, unsigned length);
    int (*device_capability)(struct nvml_device *device, int *major, int *minor);
    int (*device_memory)(struct nvml_device *device, struct nvml_memory *memory);
    int (*device_pci)(struct nvml_device *device, struct nvml_pci *pci);
    int (*driver_model)(struct nvml_device *device, unsigned *current, unsigned *pending);
};

#endif
