#include "gpu/worker/names.h"

const char worker_nvml_name[] = "nvml.dll";
const char worker_cuda_name[] = "nvcuda.dll";
