#ifndef GPU_WORKER_NAMES_H
#define GPU_WORKER_NAMES_H

/* The driver's libraries by their names on this system. */

extern const char worker_nvml_name[];
extern const char worker_cuda_name[];

#endif
