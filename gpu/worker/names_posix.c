#include "gpu/worker/names.h"

const char worker_nvml_name[] = "libnvidia-ml.so.1";
const char worker_cuda_name[] = "libcuda.so.1";
