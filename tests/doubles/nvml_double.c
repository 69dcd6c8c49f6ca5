/* A double of NVML (nvml.dll, libnvidia-ml.so.1): answers from the file described in driver_file.h.
 *
 * Function names, structure layouts and status numbers are those of NVIDIA's nvml.h; only what
 * cudnnd asks for is here. A field the file does not have answers NOT_SUPPORTED, as NVML does.
 */
#include "driver_file.h"

enum {
    NVML_SUCCESS = 0,
    NVML_ERROR_UNINITIALIZED = 1,
    NVML_ERROR_INVALID_ARGUMENT = 2,
    NVML_ERROR_NOT_SUPPORTED = 3,
    NVML_ERROR_INSUFFICIENT_SIZE = 7,
    NVML_ERROR_DRIVER_NOT_LOADED = 9,
    NVML_ERROR_GPU_IS_LOST = 15,
    NVML_ERROR_LIB_RM_VERSION_MISMATCH = 18,
};

typedef int nvmlReturn_t;
typedef struct nvmlDevice_st *nvmlDevice_t;

typedef struct {
    unsigned long long total;
    unsigned long long free;
    unsigned long long used;
} nvmlMemory_t;

typedef struct {
    char busIdLegacy[16];
    unsigned int domain;
    unsigned int bus;
    unsigned int device;
    unsigned int pciDeviceId;
    unsigned int pciSubSystemId;
    char busId[32];
} nvmlPciInfo_t;

/* Declares and begins an exported function, with the prototype -Wmissing-prototypes wants. */
#define NVML_CALL(name, ...)                                                                       \
    DOUBLE_EXPORT nvmlReturn_t name(__VA_ARGS__);                                                  \
    nvmlReturn_t name(__VA_ARGS__)

static bool initialised;

static nvmlReturn_t nvml_init(void)
{
    driver_text[0] = '\0';
    driver_enter();
    if (driver_text[0] == '\0') {
        return NVML_ERROR_DRIVER_NOT_LOADED;
    }
    if (driver_has_fault("library_mismatch")) {
        return NVML_ERROR_LIB_RM_VERSION_MISMATCH;
    }
    initialised = true;
    return NVML_SUCCESS;
}

static nvmlReturn_t copy_text(const char *text, char *out, unsigned int length)
{
    size_t size = strlen(text) + 1;
    if (out == NULL) {
        return NVML_ERROR_INVALID_ARGUMENT;
    }
    if (size > length) {
        return NVML_ERROR_INSUFFICIENT_SIZE;
    }
    memcpy(out, text, size);
    return NVML_SUCCESS;
}

/* A handle is the device's index plus one, so that no handle is NULL. */
static nvmlReturn_t device_index(nvmlDevice_t device, unsigned *out_index)
{
    driver_enter();
    if (!initialised) {
        return NVML_ERROR_UNINITIALIZED;
    }
    if (driver_has_fault("gpu_lost")) {
        return NVML_ERROR_GPU_IS_LOST;
    }
    size_t number = (size_t)device;
    if (number == 0 || number > driver_gpu_count()) {
        return NVML_ERROR_INVALID_ARGUMENT;
    }
    *out_index = (unsigned)(number - 1);
    return NVML_SUCCESS;
}

static nvmlReturn_t device_text(nvmlDevice_t device, const char *field, char *out, size_t size)
{
    unsigned index = 0;
    nvmlReturn_t status = device_index(device, &index);
    if (status != NVML_SUCCESS) {
        return status;
    }
    return driver_gpu_value(index, field, out, size) ? NVML_SUCCESS : NVML_ERROR_NOT_SUPPORTED;
}

NVML_CALL(nvmlInit_v2, void)
{
    return nvml_init();
}

NVML_CALL(nvmlInitWithFlags, unsigned int flags)
{
    (void)flags;
    return nvml_init();
}

NVML_CALL(nvmlShutdown, void)
{
    driver_enter();
    nvmlReturn_t status = initialised ? NVML_SUCCESS : NVML_ERROR_UNINITIALIZED;
    initialised = false;
    return status;
}

DOUBLE_EXPORT const char *nvmlErrorString(nvmlReturn_t result);
const char *nvmlErrorString(nvmlReturn_t result)
{
    driver_enter();
    switch (result) {
    case NVML_SUCCESS:
        return "The operation was successful";
    case NVML_ERROR_UNINITIALIZED:
        return "Uninitialized";
    case NVML_ERROR_INVALID_ARGUMENT:
        return "Invalid Argument";
    case NVML_ERROR_NOT_SUPPORTED:
        return "Not Supported";
    case NVML_ERROR_INSUFFICIENT_SIZE:
        return "Insufficient Size";
    case NVML_ERROR_DRIVER_NOT_LOADED:
        return "Driver Not Loaded";
    case NVML_ERROR_GPU_IS_LOST:
        return "GPU is lost";
    case NVML_ERROR_LIB_RM_VERSION_MISMATCH:
        return "Driver/library version mismatch";
    default:
        return "Unknown Error";
    }
}

NVML_CALL(nvmlSystemGetDriverVersion, char *version, unsigned int length)
{
    char text[80];
    driver_enter();
    if (!initialised) {
        return NVML_ERROR_UNINITIALIZED;
    }
    if (!driver_value("version", text, sizeof text)) {
        return NVML_ERROR_NOT_SUPPORTED;
    }
    return copy_text(text, version, length);
}

/* Unlike the rest, answers without an initialisation, as the real one does. */
static nvmlReturn_t cuda_driver_version(int *version)
{
    driver_enter();
    if (version == NULL) {
        return NVML_ERROR_INVALID_ARGUMENT;
    }
    int value = driver_cuda_version();
    if (value == 0) {
        return NVML_ERROR_NOT_SUPPORTED;
    }
    *version = value;
    return NVML_SUCCESS;
}

NVML_CALL(nvmlSystemGetCudaDriverVersion, int *version)
{
    return cuda_driver_version(version);
}

NVML_CALL(nvmlSystemGetCudaDriverVersion_v2, int *version)
{
    return cuda_driver_version(version);
}

NVML_CALL(nvmlDeviceGetCount_v2, unsigned int *count)
{
    driver_enter();
    if (!initialised) {
        return NVML_ERROR_UNINITIALIZED;
    }
    if (count == NULL) {
        return NVML_ERROR_INVALID_ARGUMENT;
    }
    *count = driver_gpu_count();
    return NVML_SUCCESS;
}

NVML_CALL(nvmlDeviceGetHandleByIndex_v2, unsigned int index, nvmlDevice_t *device)
{
    unsigned checked = 0;
    nvmlDevice_t handle = (nvmlDevice_t)((size_t)index + 1);
    nvmlReturn_t status = device_index(handle, &checked);
    if (status == NVML_SUCCESS) {
        *device = handle;
    }
    return status;
}

NVML_CALL(nvmlDeviceGetName, nvmlDevice_t device, char *name, unsigned int length)
{
    char text[256];
    nvmlReturn_t status = device_text(device, "name", text, sizeof text);
    return status == NVML_SUCCESS ? copy_text(text, name, length) : status;
}

NVML_CALL(nvmlDeviceGetUUID, nvmlDevice_t device, char *uuid, unsigned int length)
{
    char text[96];
    nvmlReturn_t status = device_text(device, "uuid", text, sizeof text);
    return status == NVML_SUCCESS ? copy_text(text, uuid, length) : status;
}

NVML_CALL(nvmlDeviceGetCudaComputeCapability, nvmlDevice_t device, int *major, int *minor)
{
    char text[32];
    nvmlReturn_t status = device_text(device, "compute", text, sizeof text);
    if (status != NVML_SUCCESS) {
        return status;
    }
    return driver_pair(text, major, minor) ? NVML_SUCCESS : NVML_ERROR_NOT_SUPPORTED;
}

NVML_CALL(nvmlDeviceGetMemoryInfo, nvmlDevice_t device, nvmlMemory_t *memory)
{
    char text[32];
    nvmlReturn_t status = device_text(device, "memory_mib", text, sizeof text);
    if (status != NVML_SUCCESS) {
        return status;
    }
    memory->total = strtoull(text, NULL, 10) << 20;
    memory->used = memory->total / 16;
    memory->free = memory->total - memory->used;
    return NVML_SUCCESS;
}

NVML_CALL(nvmlDeviceGetPciInfo_v3, nvmlDevice_t device, nvmlPciInfo_t *pci)
{
    char text[32];
    nvmlReturn_t status = device_text(device, "pci", text, sizeof text);
    if (status != NVML_SUCCESS) {
        return status;
    }
    memset(pci, 0, sizeof *pci);
    if (sscanf(text, "%x:%x:%x", &pci->domain, &pci->bus, &pci->device) != 3) {
        return NVML_ERROR_NOT_SUPPORTED;
    }
    memcpy(pci->busId, text, strlen(text) + 1);
    snprintf(pci->busIdLegacy, sizeof pci->busIdLegacy, "%04X:%02X:%02X.0", pci->domain & 0xffffu,
             pci->bus & 0xffu, pci->device & 0xffu);
    pci->pciDeviceId = 0x250310deu;
    return NVML_SUCCESS;
}

#ifdef _WIN32
/* Only Windows has driver models: WDDM 0, WDM (which everybody calls TCC) 1, MCDM 2. */
NVML_CALL(nvmlDeviceGetDriverModel, nvmlDevice_t device, int *current, int *pending)
{
    unsigned index = 0;
    char text[16] = "wddm";
    nvmlReturn_t status = device_index(device, &index);
    if (status != NVML_SUCCESS) {
        return status;
    }
    driver_value("model", text, sizeof text);
    int model = strcmp(text, "tcc") == 0 ? 1 : strcmp(text, "mcdm") == 0 ? 2 : 0;
    *current = model;
    if (pending != NULL) {
        *pending = model;
    }
    return NVML_SUCCESS;
}
#endif
