#ifndef INVENTORY_INVENTORY_H
#define INVENTORY_INVENTORY_H

/* What lies on this machine's disks: toolkits, the search path, and every cuDNN with its files.
   Observes and identifies from bytes alone: never loads a library, never judges (rules/ does),
   never asks the network. Everything it returns is one immutable value in the caller's arena.
   What could not be read is data, in `problems`; a scan only fails when it is cancelled.
   Cost: places + entries of their directories + a few pages of each library not in the cache. */

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/version.h"

enum arch { ARCH_UNKNOWN, ARCH_X86_64, ARCH_X86, ARCH_ARM64, ARCH_OTHER };

enum install_kind {
    INSTALL_TOOLKIT,    /* in a CUDA toolkit's own library directory */
    INSTALL_STANDALONE, /* in a directory of NVIDIA's cuDNN installer, or an unpacked archive */
    INSTALL_WHEEL,      /* nvidia-cudnn-cuNN in a Python environment */
    INSTALL_CONDA,      /* a conda package's library directory */
    INSTALL_TORCH,      /* torch's own lib directory */
    INSTALL_APP,        /* another program's or package's own directory */
    INSTALL_SYSTEM,     /* System32, /usr/lib/<triplet>, /usr/lib64 */
    INSTALL_OTHER,
};

enum install_layout { INSTALL_LAYOUT_FULL, INSTALL_LAYOUT_JIT };

enum version_source {
    VERSION_SOURCE_NONE,
    VERSION_SOURCE_RESOURCE,  /* PE version resource, FileVersion */
    VERSION_SOURCE_EXPORT,    /* exported data symbol, e.g. cudnn_graph_version */
    VERSION_SOURCE_FILE_NAME, /* libcudnn.so.9.5.0 */
    VERSION_SOURCE_RECORD,    /* the wheel's or conda package's own metadata */
    VERSION_SOURCE_PROBE,
    VERSION_SOURCE_SIBLING, /* has none of its own: the others in its directory agree on it */
};

enum library_state {
    LIBRARY_OK,
    LIBRARY_MISSING,
    LIBRARY_CORRUPT,
    LIBRARY_ALTERED,
    LIBRARY_FOREIGN
};

/* One cuDNN library file, or the place of one that should be there. */
struct library {
    const char *file;       /* name in the install's directory: "cudnn_ops64_9.dll" */
    const char *component;  /* "ops", "shim", ... of inventory/data/cudnn_files.csv; "unknown" */
    int generation;         /* 7, 8, 9 from its name */
    struct version version; /* with build (4 parts) where the source has it */
    enum version_source version_source;
    uint64_t size_bytes;
    int64_t modified_at_ms;
    enum arch arch;
    enum library_state state;
    const char *internal_name; /* what the file calls itself (OriginalFilename, DLL name, SONAME);
                                  NULL when it says nothing */
    const char *problem;       /* LIBRARY_CORRUPT: why, one sentence; else NULL */
    int cuda_major;            /* from its own strings; 0 = it says nothing */
    bool expected;             /* part of the set its generation and version need */
};

struct install {
    const char *id;   /* stable: 16 hex digits from the canonical directory */
    const char *path; /* canonical directory (without the sysroot) */
    enum install_kind kind;
    const char *owner_type; /* "toolkit", "installer", "wheel", "conda", "torch",
                                  "distribution"; NULL = unknown */
    const char *owner_name; /* "CUDA 12.6", "nvidia-cudnn-cu12 9.5.0.50" */
    const char *owner_path;
    struct version version;        /* the version most of its files (weighted to the entry) have */
    const char *build;             /* "50"; NULL */
    int generation;                /* 0 = unknown */
    int cuda_major;                /* strings, else owner, else directory name; 0 = unknown */
    const char *cuda_major_source; /* "strings", "owner", "directory", NULL */
    enum arch arch;                /* of the entry library, else of most */
    struct version header_version;
    const char *header_path; /* the cudnn_version.h read */
    bool complete;           /* nothing that its layout needs is missing or corrupt */
    enum install_layout layout;
    struct library *libraries; /* present ones by name, then missing ones by name */
    size_t library_count;
    const char **headers; /* full paths */
    size_t header_count;
    const char **import_libraries;
    size_t import_library_count;

    /* Who can reach it: severity follows reach. */
    bool on_search_path;
    bool in_toolkit; /* lies in a toolkit's own directory, toolkit_index is valid */
    size_t toolkit_index;
    bool in_environment;         /* a Python environment that was found holds it */
    const char *environment;     /* that environment's root; NULL */
    const char *standalone_root; /* "...\\CUDNN\\v9.7" for the installer's directories; NULL */

    bool trusted;             /* may be loaded by a probe: os/secure.h */
    const char *trust_reason; /* why not; NULL when trusted */
};

enum {
    TOOLKIT_FROM_ENV = 1,
    TOOLKIT_FROM_REGISTRY = 2,
    TOOLKIT_FROM_DIRECTORY = 4,
    TOOLKIT_FROM_LINK = 8
};

struct toolkit {
    const char *id;
    const char *path; /* canonical root */
    struct version version;
    unsigned sources; /* TOOLKIT_FROM_* */
    bool is_default;  /* CUDA_PATH, or what /usr/local/cuda points to */
};

enum search_scope { SEARCH_MACHINE, SEARCH_USER, SEARCH_PROCESS };

struct search_entry {
    enum search_scope scope;
    const char *directory; /* as written */
    const char *canonical; /* NULL when it does not exist or was not looked at */
    bool exists;
    bool is_directory;
    const char **cudnn; /* names of cuDNN entry and sub-libraries in it */
    size_t cudnn_count;
    bool from_loader_cache; /* Linux: a directory ld.so.cache serves */
};

enum problem_kind {
    PROBLEM_UNREADABLE, /* wanted, could not be read */
    PROBLEM_SKIPPED,    /* left out on purpose (network drive, limit): said, but no fault */
};

struct problem {
    enum problem_kind kind;
    const char *path;
    const char *error;
};

/* A directory in which a change would change what a scan finds. */
struct watched_directory {
    const char *path;
    bool files;       /* libraries and headers of cuDNN in it */
    bool directories; /* places that are not there yet would begin with one of its directories */
};

struct inventory {
    struct toolkit *toolkits;
    size_t toolkit_count;
    struct install *installs; /* by path */
    size_t install_count;
    struct search_entry *search_path;
    size_t search_count;
    struct problem *problems;
    size_t problem_count;
    struct watched_directory *watched; /* only when asked for; each path once */
    size_t watched_count;
    uint64_t files_identified; /* read from disk this time */
    uint64_t files_cached;     /* known from the cache, not opened */
};

/* Remembers what a file was found to be, by (path, size, modification time, file id), so that a
   rescan with nothing changed opens no library. Not thread-safe. */
struct inventory_cache;
struct inventory_cache *inventory_cache_new(void);
void inventory_cache_free(struct inventory_cache *cache);

struct inventory_request {
    const char *root;               /* sysroot, NULL = this machine (POSIX only) */
    bool process_environment;       /* also what this process's own environment adds (commands) */
    const char *const *extra_roots; /* configuration scan.roots: directories to look at as well */
    size_t extra_root_count;
    bool list_watched;             /* also say which directories are worth watching */
    const atomic_bool *cancel;     /* NULL = never */
    struct inventory_cache *cache; /* NULL = none */
};

/* 0, or ERR_CANCELLED. */
int inventory_scan(struct arena *arena, const struct inventory_request *request,
                   struct inventory *out_inventory, struct err *err);

const char *arch_name(enum arch arch); /* "x86_64"; NULL when unknown */
const char *install_kind_name(enum install_kind kind);
const char *install_layout_name(enum install_layout layout);
const char *version_source_name(enum version_source source); /* NULL for none */
const char *library_state_name(enum library_state state);
const char *search_scope_name(enum search_scope scope);

#endif
