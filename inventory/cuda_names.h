#ifndef INVENTORY_CUDA_NAMES_H
#define INVENTORY_CUDA_NAMES_H

/* Which CUDA a library was built for, by the names of the CUDA libraries it loads: cuBLAS and NVRTC
   carry CUDA's major version in their file names. cuDNN imports none of them; it loads them by
   name at run time, so the names stand as plain texts in its read-only data. zlibwapi.dll and
   nvcuda.dll carry no version and prove nothing. */

#include "base/bytes.h"

/* The CUDA major in "cublasLt64_12.dll", "cublas64_100.dll" (10), "nvrtc64_112_0.dll" (11),
   "libcublasLt.so.13", "libnvrtc.so.11.2"; 0 for anything else. Strict: the whole name. */
int cuda_names_major(const char *name);

/* Collects from several places of one file. Begin zeroed. */
struct cuda_names {
    int major;
    bool conflict;
};

void cuda_names_add(struct cuda_names *names, const char *name);

/* Every NUL-terminated text in the block that is such a name, or a path that ends in one. Reads
   the block once, front to back. */
void cuda_names_search(struct cuda_names *names, struct bytes bytes);

/* The one major that all names agree on; 0 when there is none or they disagree. */
int cuda_names_result(const struct cuda_names *names);

#endif
