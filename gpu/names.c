#include "gpu/gpu.h"

const char *driver_status_name(enum driver_status status)
{
    static const char *const names[] = {"ok", "missing", "error"};
    return names[status];
}

const char *probe_status_name(enum probe_status status)
{
    static const char *const names[] = {"ok", "failed", "crashed", "timeout", "skipped"};
    return names[status];
}

const char *probe_check_name(enum probe_check check)
{
    static const char *const names[] = {"graph", "ops", "cnn", "adv"};
    return names[check];
}

const char *gpu_task_name(enum gpu_task task)
{
    static const char *const names[] = {"driver", "probe"};
    return names[task];
}

const char *gpu_result_name(enum gpu_result result)
{
    static const char *const names[] = {"ok", "failed", "crashed", "timeout", "garbage"};
    return names[result];
}
