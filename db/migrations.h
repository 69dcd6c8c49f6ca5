#ifndef DB_MIGRATIONS_H
#define DB_MIGRATIONS_H

/* The schema, as the steps that lead to it: step i takes a store from version i to i + 1, an empty
   file is version 0. A step that was released is never edited: a new one is added behind it, and
   makes tables anew or adds columns (a RENAME may be worded by SQLite's version: migrations_check
   compares words). All steps a store needs run in one transaction, after a copy was kept. */

#include <stddef.h>

#include "db/statement.h"

struct migrations {
    const char *const *steps; /* SQL; steps[i]: version i -> i + 1 */
    int count;                /* the version they lead to */
};

extern const struct migrations migrations_of_this_build;

enum { MIGRATIONS_APPLICATION_ID = 0x6375446e }; /* "cuDn" */

/* Brings the store to the newest version. `path` names the copy: `<path>.before-v<newest>`, only
   made of a store that is not empty. Concurrent callers wait for each other. */
int migrations_run(struct connection *connection, const struct migrations *migrations,
                   const char *path, struct err *err);

/* Is every table and index of the newest version there, word for word? A store whose schema was
   damaged can still pass SQLite's own checks. ERR_CORRUPT names what differs. */
int migrations_check(struct connection *connection, const struct migrations *migrations,
                     struct err *err);

#endif
