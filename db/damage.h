#ifndef DB_DAMAGE_H
#define DB_DAMAGE_H

/* Is this file a whole store of ours? And where a damaged one goes: beside its place under a new
   name, with what SQLite keeps next to it. Nothing is deleted, nothing in the file is changed. */

#include "db/migrations.h"
#include "db/statement.h"

/* Before SQLite touches it: what lies at the path? *out_there: something does. A directory, a
   device and the like are ERR_EXISTS; ERR_CORRUPT for what SQLite would quietly throw away (a
   log without its database). */
int damage_check_path(const char *path, bool *out_there, struct err *err);

/* 0 for an empty file and a whole store. ERR_UNSUPPORTED: of a newer version or of another
   program, to be left alone. ERR_CORRUPT: damaged, and err says how. Others: could not be read. */
int damage_check_store(struct connection *connection, const struct migrations *migrations,
                       struct err *err);

/* Renames the file and its -wal, -shm and -journal to `<path>.damaged-YYYYMMDDTHHMMSSZ[-N]`. */
int damage_set_aside(struct arena *arena, const char *path, const char **out_moved_to,
                     struct err *err);

#endif
