/* Task "driver": NVML first, the CUDA driver where NVML cannot answer. */
#include <stdio.h>

#include "base/text.h"
#include "base/version.h"
#include "gpu/wire.h"
#include "gpu/worker/cuda_api.h"
#include "gpu/worker/names.h"
#include "gpu/worker/nvml_api.h"
#include "gpu/worker/tasks.h"

#define NVML(field, name, older, required)                                                         \
    {                                                                                              \
        name, older, offsetof(struct nvml_api, field), required                                    \
    }
#define CUDA(field, name, older, required)                                                         \
    {                                                                                              \
        name, older, offsetof(struct cuda_api, field), required                                    \
    }

static const struct worker_function nvml_functions[] = {
    NVML(init, "nvmlInit_v2", "nvmlInit", true),
    NVML(shutdown, "nvmlShutdown", NULL, false),
    NVML(error_string, "nvmlErrorString", NULL, false),
    NVML(driver_version, "nvmlSystemGetDriverVersion", NULL, true),
    NVML(cuda_version, "nvmlSystemGetCudaDriverVersion_v2", "nvmlSystemGetCudaDriverVersion",
         false),
    NVML(device_count, "nvmlDeviceGetCount_v2", "nvmlDeviceGetCount", true),
    NVML(device_by_index, "nvmlDeviceGetHandleByIndex_v2", "nvmlDeviceGetHandleByIndex", true),
    NVML(device_name, "nvmlDeviceGetName", NULL, false),
    NVML(device_uuid, "nvmlDeviceGetUUID", NULL, false),
    NVML(device_capability, "nvmlDeviceGetCudaComputeCapability", NULL, false),
    NVML(device_memory, "nvmlDeviceGetMemoryInfo", NULL, false),
    NVML(device_pci, "nvmlDeviceGetPciInfo_v3", NULL, false),
    NVML(driver_model, "nvmlDeviceGetDriverModel_v2", "nvmlDeviceGetDriverModel", false),
};

static const struct worker_function cuda_functions[] = {
    CUDA(init, "cuInit", NULL, true),
    CUDA(driver_version, "cuDriverGetVersion", NULL, true),
    CUDA(device_count, "cuDeviceGetCount", NULL, true),
    CUDA(device_get, "cuDeviceGet", NULL, true),
    CUDA(device_name, "cuDeviceGetName", NULL, false),
    CUDA(device_attribute, "cuDeviceGetAttribute", NULL, false),
    CUDA(device_memory, "cuDeviceTotalMem_v2", "cuDeviceTotalMem", false),
    CUDA(device_uuid, "cuDeviceGetUuid", NULL, false),
    CUDA(error_string, "cuGetErrorString", NULL, false),
};

static void set_error(struct driver *driver, const char *text)
{
    driver->status = DRIVER_ERROR;
    driver->error = text;
}

static const char *cuda_version_text(struct arena *arena, int number)
{
    char text[VERSION_TEXT_SIZE];
    struct version version = version_from_cuda(number > 0 ? (uint64_t)number : 0);
    return version_known(version) ? arena_strdup(arena, version_text(version, 2, text)) : NULL;
}

/* ---- NVML ---- */

static const char *nvml_words(struct arena *arena, const struct nvml_api *nvml, int result)
{
    static const struct {
        int result;
        const char *words;
    } known[] = {
        {NVML_VERSION_MISMATCH, "Driver/library version mismatch: the driver was updated, but the "
                                "kernel still runs the old one until the next reboot"},
        {NVML_GPU_IS_LOST, "a GPU is lost: it fell off the bus or has become unreachable"},
        {NVML_DRIVER_NOT_LOADED, "the driver's library is there, but the driver is not loaded"},
    };
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        if (known[i].result == result) {
            return known[i].words;
        }
    }
    const char *words = nvml->error_string == NULL ? NULL : nvml->error_string(result);
    return arena_printf(arena, "NVML answers %d (%s)", result, words == NULL ? "no words" : words);
}

/* A text that NVML fills in; NULL when it does not answer. */
static const char *nvml_text(struct arena *arena,
                             int (*ask)(struct nvml_device *, char *, unsigned),
                             struct nvml_device *device)
{
    char text[NVML_TEXT + 1] = "";
    if (ask == NULL || ask(device, text, NVML_TEXT) != NVML_SUCCESS || text[0] == '\0') {
        return NULL;
    }
    text[NVML_TEXT] = '\0';
    return arena_strdup(arena, text);
}

static void read_nvml_gpu(struct arena *arena, const struct nvml_api *nvml,
                          struct nvml_device *device, struct gpu *gpu)
{
    int major = 0, minor = 0;
    struct nvml_memory memory = {0};
    struct nvml_pci pci = {0};
    gpu->name = nvml_text(arena, nvml->device_name, device);
    gpu->uuid = nvml_text(arena, nvml->device_uuid, device);
    if (nvml->device_capability != NULL &&
        nvml->device_capability(device, &major, &minor) == NVML_SUCCESS) {
        gpu->compute_capability = arena_printf(arena, "%d.%d", major, minor);
    }
    if (nvml->device_memory != NULL && nvml->device_memory(device, &memory) == NVML_SUCCESS &&
        memory.total <= (UINT64_C(1) << 50)) {
        gpu->memory_bytes = (int64_t)memory.total;
    }
    if (nvml->device_pci != NULL && nvml->device_pci(device, &pci) == NVML_SUCCESS) {
        pci.bus_id[sizeof pci.bus_id - 1] = '\0';
        gpu->pci_bus_id = pci.bus_id[0] == '\0' ? NULL : arena_strdup(arena, pci.bus_id);
    }
}

/* One GPU. A lost one answers some calls and not others: any answer "lost" counts. */
static void read_nvml_device(struct arena *arena, const struct nvml_api *nvml, unsigned index,
                             struct driver *driver)
{
    struct nvml_device *device = NULL;
    struct gpu *gpu = &driver->gpus[index];
    *gpu = (struct gpu){.index = (int)index, .memory_bytes = -1, .status = "ok"};
    int result = nvml->device_by_index(index, &device);
    if (result == NVML_SUCCESS) {
        struct nvml_memory memory;
        read_nvml_gpu(arena, nvml, device, gpu);
        int answer = nvml->device_memory == NULL ? 0 : nvml->device_memory(device, &memory);
        result = answer == NVML_GPU_IS_LOST ? answer : NVML_SUCCESS;
        static const char *const models[] = {"wddm", "tcc", "mcdm"};
        unsigned current = 0, pending = 0;
        if (driver->model == NULL && nvml->driver_model != NULL &&
            nvml->driver_model(device, &current, &pending) == NVML_SUCCESS && current < 3) {
            driver->model = models[current];
        }
    }
    if (result == NVML_SUCCESS || result == NVML_NOT_SUPPORTED) {
        return;
    }
    gpu->status = nvml_words(arena, nvml, result);
    if (result != NVML_NO_PERMISSION) { /* that is somebody else's device, in a container: whole */
        set_error(driver,
                  arena_printf(arena, "%s%sGPU %u: %s", driver->error == NULL ? "" : driver->error,
                               driver->error == NULL ? "" : "; ", index, gpu->status));
    }
}

static void read_nvml(struct arena *arena, const struct nvml_api *nvml, struct driver *driver)
{
    char version[NVML_TEXT + 1] = "";
    int cuda = 0;
    unsigned count = 0;
    driver->status = DRIVER_OK;
    int result = nvml->driver_version(version, NVML_TEXT);
    if (result == NVML_SUCCESS) {
        driver->version = arena_strdup(arena, version);
    } else {
        set_error(driver, nvml_words(arena, nvml, result));
    }
    if (nvml->cuda_version != NULL && nvml->cuda_version(&cuda) == NVML_SUCCESS) {
        driver->cuda_version = cuda_version_text(arena, cuda);
    }
    result = nvml->device_count(&count);
    if (result != NVML_SUCCESS) {
        set_error(driver, nvml_words(arena, nvml, result));
        return;
    }
    count = count > WIRE_GPUS ? WIRE_GPUS : count;
    driver->gpus = arena_alloc(arena, (count + 1) * sizeof *driver->gpus);
    driver->gpu_count = count;
    for (unsigned i = 0; i < count; i++) {
        read_nvml_device(arena, nvml, i, driver);
    }
}

/* True when NVML has said what there is to say; false: the CUDA driver may know more. */
static bool ask_nvml(struct arena *arena, const char *root, struct driver *driver)
{
    struct os_library *library;
    struct nvml_api nvml = {0};
    struct err err = {0};
    int code = os_library_open_system(root, worker_nvml_name, &library, &err);
    if (code != 0) {
        /* Windows has no sysroots, so there is no driver in one. */
        if (code != ERR_NOT_FOUND && code != ERR_UNSUPPORTED) { /* there, but cannot be loaded */
            set_error(driver, arena_strdup(arena, err.message));
        }
        return false;
    }
    if (!worker_resolve(library, nvml_functions, sizeof nvml_functions / sizeof *nvml_functions,
                        &nvml)) {
        set_error(driver,
                  arena_printf(arena, "%s lacks functions every NVML has", worker_nvml_name));
        return false;
    }
    driver->source = "nvml";
    int result = nvml.init();
    if (result == NVML_SUCCESS) {
        read_nvml(arena, &nvml, driver);
        if (nvml.shutdown != NULL) {
            nvml.shutdown();
        }
        return true;
    }
    driver->error = nvml_words(arena, &nvml, result);
    /* A library left behind without its driver is no driver at all. */
    if (result == NVML_DRIVER_NOT_LOADED) {
        driver->status = DRIVER_MISSING;
        driver->source = NULL;
    } else {
        driver->status = DRIVER_ERROR;
    }
    return result == NVML_VERSION_MISMATCH || result == NVML_GPU_IS_LOST;
}

/* ---- the CUDA driver ---- */

static const char *cuda_words(struct arena *arena, const struct cuda_api *cuda, int result)
{
    const char *words = NULL;
    if (result == CUDA_DRIVER_MISMATCH) {
        return "driver and CUDA driver library mismatch: a reboot is due after a driver update";
    }
    if (cuda->error_string == NULL || cuda->error_string(result, &words) != CUDA_SUCCESS_) {
        words = NULL;
    }
    return arena_printf(arena, "the CUDA driver answers %d (%s)", result,
                        words == NULL ? "no words" : words);
}

static int cuda_attribute(const struct cuda_api *cuda, int attribute, int device)
{
    int value = -1;
    return cuda->device_attribute != NULL &&
                   cuda->device_attribute(&value, attribute, device) == CUDA_SUCCESS_
               ? value
               : -1;
}

static void read_cuda_gpu(struct arena *arena, const struct cuda_api *cuda, int index,
                          struct gpu *gpu)
{
    int device = 0;
    char name[256] = "";
    size_t memory = 0;
    *gpu = (struct gpu){.index = index, .memory_bytes = -1, .status = "ok"};
    int result = cuda->device_get(&device, index);
    if (result != CUDA_SUCCESS_) {
        gpu->status = cuda_words(arena, cuda, result);
        return;
    }
    if (cuda->device_name != NULL &&
        cuda->device_name(name, (int)sizeof name - 1, device) == CUDA_SUCCESS_) {
        gpu->name = arena_strdup(arena, name);
    }
    int major = cuda_attribute(cuda, CUDA_CAPABILITY_MAJOR, device);
    int minor = cuda_attribute(cuda, CUDA_CAPABILITY_MINOR, device);
    if (major > 0 && minor >= 0) {
        gpu->compute_capability = arena_printf(arena, "%d.%d", major, minor);
    }
    if (cuda->device_memory != NULL && cuda->device_memory(&memory, device) == CUDA_SUCCESS_) {
        gpu->memory_bytes = (int64_t)memory;
    }
    int bus = cuda_attribute(cuda, CUDA_PCI_BUS, device);
    if (bus >= 0) {
        gpu->pci_bus_id = arena_printf(
            arena, "%08X:%02X:%02X.0", (unsigned)cuda_attribute(cuda, CUDA_PCI_DOMAIN, device),
            (unsigned)bus, (unsigned)cuda_attribute(cuda, CUDA_PCI_DEVICE, device));
    }
}

static const char *uuid_text(struct arena *arena, const struct cuda_api *cuda, int index)
{
    struct cuda_uuid uuid;
    int device;
    if (cuda->device_uuid == NULL || cuda->device_get(&device, index) != CUDA_SUCCESS_ ||
        cuda->device_uuid(&uuid, device) != CUDA_SUCCESS_) {
        return NULL;
    }
    char text[48] = "GPU";
    size_t used = 3;
    for (size_t i = 0; i < sizeof uuid.bytes; i++) {
        bool dash = i == 0 || i == 4 || i == 6 || i == 8 || i == 10;
        used += (size_t)snprintf(text + used, sizeof text - used, dash ? "-%02x" : "%02x",
                                 uuid.bytes[i]);
    }
    return arena_strdup(arena, text);
}

/* The CUDA driver cannot be initialised. */
static void cuda_failed(struct arena *arena, const struct cuda_api *cuda, int result,
                        struct driver *driver)
{
    bool nobody = result == CUDA_NO_DEVICE || result == CUDA_STUB_LIBRARY;
    if (driver->error != NULL && (nobody || driver->status == DRIVER_MISSING)) {
        return; /* NVML has said what there is to say */
    }
    if (nobody) { /* a library left behind, or a toolkit's stub in its place */
        driver->status = DRIVER_MISSING;
        driver->source = NULL;
        driver->error = result == CUDA_NO_DEVICE ? "the CUDA driver finds no device"
                                                 : "the CUDA driver's library is a toolkit's stub";
        return;
    }
    driver->source = "cuda";
    set_error(driver, cuda_words(arena, cuda, result));
}

static void ask_cuda(struct arena *arena, const char *root, struct driver *driver)
{
    struct os_library *library;
    struct cuda_api cuda = {0};
    int version = 0, count = 0;
    if (os_library_open_system(root, worker_cuda_name, &library, NULL) != 0 ||
        !worker_resolve(library, cuda_functions, sizeof cuda_functions / sizeof *cuda_functions,
                        &cuda)) {
        return; /* what NVML said, or "missing", stands */
    }
    int result = cuda.init(0);
    if (result != CUDA_SUCCESS_) {
        cuda_failed(arena, &cuda, result, driver);
        return;
    }
    driver->status = DRIVER_OK;
    driver->source = "cuda";
    driver->error = NULL;
    if (cuda.driver_version(&version) == CUDA_SUCCESS_) {
        driver->cuda_version = cuda_version_text(arena, version);
    }
    if (cuda.device_count(&count) != CUDA_SUCCESS_ || count < 0) {
        count = 0;
    }
    count = count > WIRE_GPUS ? WIRE_GPUS : count;
    driver->gpus = arena_alloc(arena, ((size_t)count + 1) * sizeof *driver->gpus);
    driver->gpu_count = (size_t)count;
    for (int i = 0; i < count; i++) {
        read_cuda_gpu(arena, &cuda, i, &driver->gpus[i]);
        driver->gpus[i].uuid = uuid_text(arena, &cuda, i);
    }
}

void worker_ask_driver(struct arena *arena, const char *root, struct driver *out_driver)
{
    *out_driver = (struct driver){.status = DRIVER_MISSING};
    if (!ask_nvml(arena, root, out_driver)) {
        ask_cuda(arena, root, out_driver);
    }
}
