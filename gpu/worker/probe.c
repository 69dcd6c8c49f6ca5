/* Task "probe": loads one cuDNN and asks it what can be asked without a GPU. The numbers and status
   names are cuDNN's own: statuses changed their numbers from 8 to 9, so names come from the
   library. */
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "gpu/worker/tasks.h"
#include "os/clock.h"

/* As in NVIDIA's cudnn.h; cudnnHandle_t is a pointer. */
struct cudnn_api {
    size_t (*get_version)(void);
    size_t (*get_cudart_version)(void);
    size_t (*get_max_device_version)(void);
    const char *(*error_string)(int status);
    int (*create)(void **handle);
    int (*destroy)(void *handle);
    int (*checks[PROBE_CHECKS])(void);
};

#define CUDNN(field, name, older, required)                                                        \
    {                                                                                              \
        name, older, offsetof(struct cudnn_api, field), required                                   \
    }

/* 8 has its checks by library as well, under the names of the time, and none for graph. */
static const struct worker_function cudnn_functions[] = {
    CUDNN(get_version, "cudnnGetVersion", NULL, true),
    CUDNN(get_cudart_version, "cudnnGetCudartVersion", NULL, false),
    CUDNN(get_max_device_version, "cudnnGetMaxDeviceVersion", NULL, false),
    CUDNN(error_string, "cudnnGetErrorString", NULL, false),
    CUDNN(create, "cudnnCreate", NULL, false),
    CUDNN(destroy, "cudnnDestroy", NULL, false),
    CUDNN(checks[PROBE_CHECK_GRAPH], "cudnnGraphVersionCheck", NULL, false),
    CUDNN(checks[PROBE_CHECK_OPS], "cudnnOpsVersionCheck", "cudnnOpsInferVersionCheck", false),
    CUDNN(checks[PROBE_CHECK_CNN], "cudnnCnnVersionCheck", "cudnnCnnInferVersionCheck", false),
    CUDNN(checks[PROBE_CHECK_ADV], "cudnnAdvVersionCheck", "cudnnAdvInferVersionCheck", false),
};

static const char *status_name(struct arena *arena, const struct cudnn_api *cudnn, int status)
{
    const char *name = cudnn->error_string == NULL ? NULL : cudnn->error_string(status);
    return name != NULL && *name != '\0' ? arena_strdup(arena, name)
                                         : arena_printf(arena, "status %d", status);
}

/* "... (error 126)": Windows' number out of the loader's message. */
static int loader_code(const char *message)
{
    uint64_t code = 0;
    const char *at = strstr(message, "(error ");
    char digits[16] = "";
    if (at != NULL) {
        at += strlen("(error ");
        size_t length = strcspn(at, ")");
        if (length < sizeof digits) {
            memcpy(digits, at, length);
            text_to_u64(digits, 65535, &code);
        }
    }
    return (int)code;
}

static void failed(struct arena *arena, struct probe *probe, const char *message)
{
    probe->status = PROBE_FAILED;
    probe->error = arena_strdup(arena, message);
    probe->loader_code = loader_code(message);
}

void worker_probe(struct arena *arena, const char *directory, const char *library,
                  struct probe *out_probe)
{
    struct os_library *loaded;
    struct cudnn_api cudnn = {0};
    struct err err = {0};
    uint64_t start = os_clock_steady_ms();
    *out_probe = (struct probe){.status = PROBE_OK, .load_ms = -1};
    if (os_library_open(library, directory, &loaded, &err) != 0) {
        failed(arena, out_probe, err.message);
        return;
    }
    if (!worker_resolve(loaded, cudnn_functions, sizeof cudnn_functions / sizeof *cudnn_functions,
                        &cudnn)) {
        failed(arena, out_probe, "it has no cudnnGetVersion: this is no cuDNN");
        return;
    }
    out_probe->version = (int64_t)cudnn.get_version();
    out_probe->load_ms = (int64_t)(os_clock_steady_ms() - start);
    if (cudnn.get_cudart_version != NULL) {
        out_probe->cudart_version = (int64_t)cudnn.get_cudart_version();
    }
    if (cudnn.get_max_device_version != NULL) {
        out_probe->max_compute_capability = (int64_t)cudnn.get_max_device_version();
    }
    for (int i = 0; i < PROBE_CHECKS; i++) {
        if (cudnn.checks[i] != NULL) {
            out_probe->checks[i] = status_name(arena, &cudnn, cudnn.checks[i]());
        }
    }
    if (cudnn.create != NULL) {
        void *handle = NULL;
        int status = cudnn.create(&handle);
        out_probe->create = status_name(arena, &cudnn, status);
        if (status == 0 && cudnn.destroy != NULL) {
            cudnn.destroy(handle);
        }
    }
}
