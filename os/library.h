#ifndef OS_LIBRARY_H
#define OS_LIBRARY_H

/* Loads shared libraries. For the worker program only: the service never loads vendor code. */

#include "base/err.h"

struct os_library; /* stays loaded until the process ends: vendor libraries do not like unloading */

/* Loads the file at `path`. `search_directory` (may be NULL) is where its siblings are found by
   bare name, then and later: Windows AddDllDirectory + LOAD_LIBRARY_SEARCH_* (never PATH); POSIX:
   the caller started the process with LD_LIBRARY_PATH set to it, since the loader reads it once.
   The error says in words what the loader said, with Windows' number where it has one:
   126 a library it needs is missing, 127 a symbol is missing, 193 wrong architecture. */
int os_library_open(const char *path, const char *search_directory, struct os_library **out,
                    struct err *err);

/* Loads a driver library by bare name from the system's own directories only: Windows System32;
   POSIX the default search with no LD_LIBRARY_PATH; with `root`, the usual library directories
   inside it. ERR_NOT_FOUND when there is none. */
int os_library_open_system(const char *root, const char *name, struct os_library **out,
                           struct err *err);

/* The address of an exported function, NULL when it is not exported. */
typedef void os_library_function(void);
os_library_function *os_library_symbol(struct os_library *library, const char *name);

#endif
