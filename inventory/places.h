#ifndef INVENTORY_PLACES_H
#define INVENTORY_PLACES_H

/* Where to look. One table a system (places_win32.c, places_posix.c: the only files of this room
   that know one), one row a place, in the order of looking: to look in one more place, add a row.
   places.c turns rows into paths; it never judges what lies there. */

#include <stdbool.h>
#include <stddef.h>

#include "base/arena.h"
#include "inventory/inventory.h"
#include "inventory/look.h"

/* What is expected there. */
enum place_role {
    PLACE_TOOLKIT,        /* a CUDA toolkit's root */
    PLACE_TOOLKIT_SIGN,   /* a file: what holds it is a toolkit (from PLACE_IN_TOOLKIT) */
    PLACE_SEARCH_LIST,    /* a variable with the directories that a loader searches */
    PLACE_LOADER_CACHE,   /* ld.so.cache */
    PLACE_LOADER_DEFAULT, /* a directory the loader searches without being told */
    PLACE_PYTHON,         /* a Python or conda environment's root */
    PLACE_PYTHON_LIST,    /* a text file with one such root a line */
    PLACE_PYTHON_PROGRAM, /* an interpreter; places_python_root() of its directory is the root */
    PLACE_SITE,           /* site-packages (from PLACE_IN_ENVIRONMENT) */
    PLACE_LIBRARIES,      /* a directory that may hold a cuDNN */
};

/* Where the pattern begins, and what `name` is for that. */
enum place_from {
    PLACE_FIXED,          /* an absolute path */
    PLACE_PROGRAM_FILES,  /* C:\Program Files; no name */
    PLACE_SYSTEM,         /* C:\Windows\System32; no name */
    PLACE_HOME,           /* every user's home; no name */
    PLACE_VARIABLE,       /* the directory that an environment variable names, in every scope */
    PLACE_VARIABLES,      /* the same for every variable whose name begins with it */
    PLACE_LIST,           /* every directory of a PATH-like variable */
    PLACE_REGISTRY,       /* key:value, '*' stands for a whole component of the key */
    PLACE_EXTRA,          /* the configuration's scan.roots; no name */
    PLACE_IN_TOOLKIT,     /* every toolkit found */
    PLACE_IN_ENVIRONMENT, /* every environment found */
    PLACE_IN_SITE,        /* every site-packages found */
};

struct place {
    enum place_role role;
    enum place_from from;
    const char *name;       /* see `from`; NULL when it needs none */
    const char *pattern;    /* below it: '/' between components, '*' within one; "" = itself */
    enum install_kind kind; /* PLACE_LIBRARIES */
    unsigned root_depth;    /* so many components of the pattern name the place's root (the
                               installer's "NVIDIA/CUDNN/v9.7"); 0 = where the pattern begins */
    const char *owner;      /* in a site: pattern of the package's name; NULL = the root's own */
    bool is_default;        /* PLACE_TOOLKIT: what it names is the machine's default */
};

extern const struct place places[];
extern const size_t places_count;

/* Headers and import libraries that belong to a library directory: where the directory ends with
   `tail` they are at `headers` and `import_libraries`, relative to it; a '*' there is what the '*'
   of the tail stood for. The rows are tried in order, for each of the two until one has some. */
struct place_development {
    const char *tail;
    const char *headers;
    const char *import_libraries;
};

extern const struct place_development places_development[];
extern const size_t places_development_count;
/* The names import libraries have, and what ends the directories' own (NULL-terminated). */
extern const char *const places_import_libraries[];

extern const bool places_ignore_case;   /* names that differ in case only are the same */
extern const bool places_windows_names; /* cudnn64_9.dll, not libcudnn.so.9 */
extern const bool places_empty_is_here; /* an empty list entry is the current directory */

/* The root of the environment whose interpreter lies in `directory`. */
char *places_python_root(struct arena *arena, const char *directory);

/* The same number for every spelling of a canonical path; the ids of what lies there. */
uint64_t places_key(const char *canonical);
char *places_id(struct arena *arena, const char *canonical);

struct place_hit {
    const char *path; /* not canonical, may not exist unless a '*' had to be matched */
    const char *root; /* see struct place */
};

struct place_hits {
    struct place_hit *items; /* in the scan's arena */
    size_t count, capacity;
};

/* Adds what a row names on this machine; nothing for PLACE_IN_* rows. */
void places_find(struct look *look, const struct place *place, struct place_hits *hits);

/* Adds what a PLACE_IN_* row names below `base`. */
void places_below(struct look *look, const struct place *place, const char *base,
                  struct place_hits *hits);

/* Does a name match a pattern with '*', by the system's rules about case? */
bool places_match(const char *pattern, const char *name);

#endif
