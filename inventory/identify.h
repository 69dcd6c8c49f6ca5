#ifndef INVENTORY_IDENTIFY_H
#define INVENTORY_IDENTIFY_H

/* What a library file says of itself, from its bytes: PE or ELF, architecture, version, own name,
   the CUDA it was built for. Reads only the parts needed (headers, resource, export table, strings
   of read-only data), mapped; the cost does not grow with the size of the code in it. */

#include "base/bytes.h"
#include "inventory/inventory.h"

struct identity {
    bool is_library;     /* false: corrupt or something else; problem says what */
    const char *problem; /* one sentence: "is empty", "ends before section .rdata does
                                  (700 of 1234 bytes)", "is a web page, not a library" */
    enum arch arch;
    bool is_elf;
    struct version version;
    enum version_source version_source; /* NONE, RESOURCE, EXPORT or FILE_NAME */
    const char *internal_name; /* OriginalFilename, else export directory's DLL name; SONAME */
    int cuda_major;            /* from the names of the CUDA libraries it loads; 0 = none there */
    const char **imports;      /* DLL names / DT_NEEDED */
    size_t import_count;
    const char **delay_imports; /* PE: those it loads at first use */
    size_t delay_import_count;
    const char *run_path; /* ELF DT_RUNPATH or DT_RPATH; NULL */
    uint64_t size_bytes;
    int64_t modified_at_ms;
    bool from_cache;
};

/* `system_path`: for the system's calls; `file_name`: the name it is known by (its table row tells
   which export to look for). Texts are in the arena. A file that is no library is a result, not an
   error; an error is what kept the file from being read (not found, permission, I/O, a pipe or
   directory: ERR_FORMAT). */
int identify_library(struct arena *arena, struct inventory_cache *cache, const char *system_path,
                     const char *file_name, struct identity *out_identity, struct err *err);

/* The same from bytes in memory, known by `file_name`: its table row tells which version symbol to
   look for and whether names of CUDA libraries are worth searching its read-only data; a versioned
   name ("libcudnn.so.9.5.0") is an ELF file's version when nothing in it says one. So of a link
   pass the name with the most in it: the resolved target's when that is a cuDNN name. */
void identify_bytes_named(struct arena *arena, struct bytes bytes, const char *file_name,
                          struct identity *out_identity);

/* The same from bytes in memory; `export_name` may be NULL. For tests and fuzzers too. */
void identify_bytes(struct arena *arena, struct bytes bytes, const char *export_name,
                    struct identity *out_identity);

/* Versions of CUDNN_MAJOR, _MINOR, _PATCHLEVEL in cudnn_version.h (8 and later) or cudnn.h.
   False when the text does not define all three as plain numbers. */
bool identify_header(const char *text, size_t size, struct version *out_version);

#endif
