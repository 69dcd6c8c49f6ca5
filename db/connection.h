#ifndef DB_CONNECTION_H
#define DB_CONNECTION_H

/* Opening a store for writing and for reading, and what both hold. db.h says what callers see. */

#include <pthread.h>

#include "base/cleanup.h"
#include "db/db.h"
#include "db/migrations.h"
#include "db/statement.h"

struct db {
    struct connection connection; /* under `writer` */
    pthread_mutex_t writer;
    pthread_mutex_t outcome; /* guards last_write; never held while SQLite works */
    struct err last_write;   /* how the newest write ended; code 0 = well */
    char *path, *wal_path;   /* on the heap, constant */
    uint64_t device, inode;  /* of the file that was opened */
};

struct db_reader {
    struct connection connection;
};

/* db_open with the schema given: tests open older and newer stores. */
int connection_open_store(struct arena *arena, const char *path,
                          const struct migrations *migrations, struct db **out_db,
                          struct db_opened *out_opened, struct err *err);

/* The writer's side of every change: takes the mutex and a transaction, runs `change`, ends both
   and remembers how it ended for db_check_writable. */
typedef int connection_change(struct connection *connection, void *context, struct err *err);
int connection_change_store(struct db *db, connection_change *change, void *context,
                            struct err *err);

#endif
