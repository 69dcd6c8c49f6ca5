/* A double of the CUDA driver (nvcuda.dll, libcuda.so.1): answers from the file described in
 * driver_file.h.
 *
 * Function names, enumerators and status numbers are those of NVIDIA's cuda.h; only what cudnnd
 * asks about a device is here, and nothing can be run on one.
 */
#include "driver_file.h"

enum {
    CUDA_SUCCESS = 0,
    CUDA_ERROR_INVALID_VALUE = 1,
    CUDA_ERROR_NOT_INITIALIZED = 3,
    CUDA_ERROR_NO_DEVICE = 100,
    CUDA_ERROR_INVALID_DEVICE = 101,
    CUDA_ERROR_NOT_SUPPORTED = 801,
    CUDA_ERROR_SYSTEM_DRIVER_MISMATCH = 803,
    CUDA_ERROR_UNKNOWN = 999,
};

enum {
    ATTRIBUTE_PCI_BUS_ID = 33,
    ATTRIBUTE_PCI_DEVICE_ID = 34,
    ATTRIBUTE_PCI_DOMAIN_ID = 50,
    ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR = 75,
    ATTRIBUTE_COMPUTE_CAPABILITY_MINOR = 76,
};

typedef int CUresult;
typedef int CUdevice;

typedef struct {
    char bytes[16];
} CUuuid;

/* Declares and begins an exported function, with the prototype -Wmissing-prototypes wants. */
#define CUDA_CALL(name, ...)                                                                       \
    DOUBLE_EXPORT CUresult name(__VA_ARGS__);                                                      \
    CUresult name(__VA_ARGS__)

struct error_name {
    CUresult code;
    const char *name;
    const char *text;
};

static const struct error_name error_names[] = {
    {CUDA_SUCCESS, "CUDA_SUCCESS", "no error"},
    {CUDA_ERROR_INVALID_VALUE, "CUDA_ERROR_INVALID_VALUE", "invalid argument"},
    {CUDA_ERROR_NOT_INITIALIZED, "CUDA_ERROR_NOT_INITIALIZED", "initialization error"},
    {CUDA_ERROR_NO_DEVICE, "CUDA_ERROR_NO_DEVICE", "no CUDA-capable device is detected"},
    {CUDA_ERROR_INVALID_DEVICE, "CUDA_ERROR_INVALID_DEVICE", "invalid device ordinal"},
    {CUDA_ERROR_NOT_SUPPORTED, "CUDA_ERROR_NOT_SUPPORTED", "operation not supported"},
    {CUDA_ERROR_SYSTEM_DRIVER_MISMATCH, "CUDA_ERROR_SYSTEM_DRIVER_MISMATCH",
     "system has unsupported display driver / cuda driver combination"},
    {CUDA_ERROR_UNKNOWN, "CUDA_ERROR_UNKNOWN", "unknown error"},
};

static bool initialised;

static const struct error_name *find_error(CUresult code)
{
    for (size_t i = 0; i < sizeof error_names / sizeof error_names[0]; i++) {
        if (error_names[i].code == code) {
            return &error_names[i];
        }
    }
    return NULL;
}

static CUresult check_device(CUdevice device)
{
    driver_enter();
    if (!initialised) {
        return CUDA_ERROR_NOT_INITIALIZED;
    }
    bool known = device >= 0 && (unsigned)device < driver_gpu_count();
    return known ? CUDA_SUCCESS : CUDA_ERROR_INVALID_DEVICE;
}

static CUresult device_text(CUdevice device, const char *field, char *out, size_t size)
{
    CUresult status = check_device(device);
    if (status != CUDA_SUCCESS) {
        return status;
    }
    bool found = driver_gpu_value((unsigned)device, field, out, size);
    return found ? CUDA_SUCCESS : CUDA_ERROR_NOT_SUPPORTED;
}

CUDA_CALL(cuInit, unsigned int flags)
{
    (void)flags;
    driver_text[0] = '\0';
    driver_enter();
    if (driver_has_fault("library_mismatch")) {
        return CUDA_ERROR_SYSTEM_DRIVER_MISMATCH;
    }
    if (driver_gpu_count() == 0 || driver_has_fault("gpu_lost")) {
        return CUDA_ERROR_NO_DEVICE;
    }
    initialised = true;
    return CUDA_SUCCESS;
}

/* Answers without cuInit, as the real one does. */
CUDA_CALL(cuDriverGetVersion, int *version)
{
    driver_enter();
    if (version == NULL) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    int value = driver_cuda_version();
    if (value == 0) {
        return CUDA_ERROR_UNKNOWN;
    }
    *version = value;
    return CUDA_SUCCESS;
}

CUDA_CALL(cuDeviceGetCount, int *count)
{
    driver_enter();
    if (!initialised) {
        return CUDA_ERROR_NOT_INITIALIZED;
    }
    *count = (int)driver_gpu_count();
    return CUDA_SUCCESS;
}

CUDA_CALL(cuDeviceGet, CUdevice *device, int ordinal)
{
    CUresult status = check_device(ordinal);
    if (status == CUDA_SUCCESS) {
        *device = ordinal;
    }
    return status;
}

CUDA_CALL(cuDeviceGetName, char *name, int length, CUdevice device)
{
    char text[256];
    CUresult status = device_text(device, "name", text, sizeof text);
    if (status != CUDA_SUCCESS) {
        return status;
    }
    if (length <= 0) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    snprintf(name, (size_t)length, "%s", text);
    return CUDA_SUCCESS;
}

static CUresult pci_attribute(CUdevice device, int attribute, int *value)
{
    char text[32];
    unsigned domain = 0;
    unsigned bus = 0;
    unsigned slot = 0;
    CUresult status = device_text(device, "pci", text, sizeof text);
    if (status != CUDA_SUCCESS) {
        return status;
    }
    if (sscanf(text, "%x:%x:%x", &domain, &bus, &slot) != 3) {
        return CUDA_ERROR_NOT_SUPPORTED;
    }
    unsigned chosen = attribute == ATTRIBUTE_PCI_BUS_ID      ? bus
                      : attribute == ATTRIBUTE_PCI_DEVICE_ID ? slot
                                                             : domain;
    *value = (int)chosen;
    return CUDA_SUCCESS;
}

static CUresult compute_attribute(CUdevice device, int attribute, int *value)
{
    char text[32];
    int major = 0;
    int minor = 0;
    CUresult status = device_text(device, "compute", text, sizeof text);
    if (status != CUDA_SUCCESS) {
        return status;
    }
    if (!driver_pair(text, &major, &minor)) {
        return CUDA_ERROR_NOT_SUPPORTED;
    }
    *value = attribute == ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR ? major : minor;
    return CUDA_SUCCESS;
}

CUDA_CALL(cuDeviceGetAttribute, int *value, int attribute, CUdevice device)
{
    switch (attribute) {
    case ATTRIBUTE_PCI_BUS_ID:
    case ATTRIBUTE_PCI_DEVICE_ID:
    case ATTRIBUTE_PCI_DOMAIN_ID:
        return pci_attribute(device, attribute, value);
    case ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR:
    case ATTRIBUTE_COMPUTE_CAPABILITY_MINOR:
        return compute_attribute(device, attribute, value);
    default:
        driver_enter();
        return CUDA_ERROR_INVALID_VALUE;
    }
}

CUDA_CALL(cuDeviceTotalMem_v2, size_t *bytes, CUdevice device)
{
    char text[32];
    CUresult status = device_text(device, "memory_mib", text, sizeof text);
    if (status == CUDA_SUCCESS) {
        *bytes = (size_t)(strtoull(text, NULL, 10) << 20);
    }
    return status;
}

/* "GPU-01234567-89ab-..." -> sixteen bytes. */
static CUresult device_uuid(CUuuid *uuid, CUdevice device)
{
    char text[96];
    CUresult status = device_text(device, "uuid", text, sizeof text);
    if (status != CUDA_SUCCESS) {
        return status;
    }
    memset(uuid, 0, sizeof *uuid);
    size_t count = 0;
    for (const char *at = text + strcspn(text, "-"); *at != '\0' && count < 16;) {
        unsigned byte = 0;
        if (*at == '-') {
            at++;
        } else if (sscanf(at, "%2x", &byte) == 1 && at[1] != '\0') {
            uuid->bytes[count++] = (char)byte;
            at += 2;
        } else {
            return CUDA_ERROR_NOT_SUPPORTED;
        }
    }
    return CUDA_SUCCESS;
}

CUDA_CALL(cuDeviceGetUuid, CUuuid *uuid, CUdevice device)
{
    return device_uuid(uuid, device);
}

CUDA_CALL(cuDeviceGetUuid_v2, CUuuid *uuid, CUdevice device)
{
    return device_uuid(uuid, device);
}

CUDA_CALL(cuGetErrorString, CUresult error, const char **text)
{
    driver_enter();
    const struct error_name *found = find_error(error);
    *text = found != NULL ? found->text : NULL;
    return found != NULL ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUDA_CALL(cuGetErrorName, CUresult error, const char **name)
{
    driver_enter();
    const struct error_name *found = find_error(error);
    *name = found != NULL ? found->name : NULL;
    return found != NULL ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}
