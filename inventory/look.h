#ifndef INVENTORY_LOOK_H
#define INVENTORY_LOOK_H

/* How a scan looks at a disk: the one way by which the rest of this room reaches directories and
   small files. Stays inside the request's root, leaves network drives alone, never follows a path
   that was not made canonical first, and notes what could not be read. Results that last are in
   the scan's arena. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "inventory/inventory.h"
#include "os/file.h"

enum {
    LOOK_ENTRIES_LIMIT = 65536, /* of one directory */
    LOOK_PROBLEMS_LIMIT = 4096,
};

struct look_seen; /* what was at a path */

struct look {
    struct arena *arena;
    const struct inventory_request *request;
    struct problem *problems;
    size_t problem_count, problem_capacity;
    struct arena memory;    /* of the scan itself; look_done() frees it */
    struct look_seen *seen; /* every path is looked at once a scan */
    size_t seen_count, seen_capacity;
    const char **homes; /* those that can be listed; places.c reads them once */
    size_t home_count;
    bool homes_known;
};

void look_done(struct look *look);

/* Was a place asked for (by configuration, the search path, a variable), or is it only worth a
   look (somebody's home)? What cannot be read is a fault in the first case only. */
enum look_care { LOOK_WANTED, LOOK_GUESS };

enum look_state {
    LOOK_ABSENT,
    LOOK_UNKNOWN, /* not to be touched or not readable: a problem says why */
    LOOK_FILE,    /* anything that is no directory */
    LOOK_DIRECTORY,
};

/* Texts are copied. The same problem twice is noted once. */
void look_problem(struct look *look, enum problem_kind kind, const char *path, const char *error);
void look_unreadable(struct look *look, enum look_care care, const char *path,
                     const struct err *err);
/* "only the first 4096 ... are looked at": reaching a limit is said, once. */
void look_limit(struct look *look, const char *path, size_t limit, const char *what);

bool look_is_cancelled(const struct look *look);

/* What is at a path; its canonical form (without the root) for files and directories. */
enum look_state look_at(struct look *look, const char *path, enum look_care care,
                        const char **out_canonical);

/* The canonical form of a directory that is there and may be looked at; else NULL. */
const char *look_directory(struct look *look, const char *path, enum look_care care);

/* Where a canonical path lies for the system's own calls. */
const char *look_system_path(struct look *look, const char *canonical);

/* The entries of a canonical directory, in `arena`. False (and a problem) when unreadable. */
bool look_list(struct look *look, struct arena *arena, const char *canonical, enum look_care care,
               struct os_dir_list *out_list);

/* Every directory that was looked at, and for every path that was not there the nearest directory
   above it that is: where something would have to change for a later scan to find something
   else. */
void look_watched(struct look *look, struct watched_directory **out_items, size_t *out_count);

/* A small text file in `arena`, NUL-terminated; NULL when it is absent, and, with a problem, when
   it cannot be read or is larger than `limit`. */
char *look_read(struct look *look, struct arena *arena, const char *path, size_t limit,
                enum look_care care, size_t *out_size);

#endif
