#ifndef INVENTORY_FILES_H
#define INVENTORY_FILES_H

/* The table of files that make a complete cuDNN runtime: inventory/cudnn_files.csv, embedded at
   build time (the CSV says where it comes from and what its columns mean). Parsed once, before the
   first use; never freed. */

#include <stdbool.h>
#include <stddef.h>

#include "base/version.h"

enum files_requirement { FILES_FULL, FILES_JIT, FILES_OPTIONAL };

struct cudnn_file {
    int generation;           /* 7, 8, 9 */
    const char *component;    /* "shim", "ops", ... */
    const char *windows_name; /* "cudnn_ops64_9.dll" */
    const char *linux_name;   /* "libcudnn_ops.so.9" */
    enum files_requirement required;
    struct version since;       /* first release that ships it; unknown = all of the generation */
    bool has_resource;          /* false: NVIDIA ships it without a version resource */
    const char *version_export; /* NULL when it has none */
    const char *imports;        /* "ops+graph"; NULL */
    bool names_cuda;            /* carries the names of the CUDA libraries it loads */
};

size_t files_count(void);
const struct cudnn_file *files_at(size_t index);

/* The row of a file by its name (Windows: case ignored); NULL for an unknown name.
   "libcudnn_ops.so.9.5.0" and "libcudnn_ops.so.9" are the same row, "libcudnn_ops.so" is none. */
const struct cudnn_file *files_find(const char *file_name);

/* Does a name look like a cuDNN library at all: cudnn*64_N.dll, libcudnn*.so.N[.x[.y]]? Gives its
   generation and component text ("ops_infer", "shim" for the bare name) even when the table does
   not know it. Import libraries, static libraries and cudnn-frontend files are none. */
struct files_name {
    int generation;
    char component[48];
    struct version version; /* libcudnn.so.9.5.0: 9.5.0; only the major otherwise: unknown */
    bool windows;
};
bool files_parse_name(const char *file_name, struct files_name *out_name);

#endif
