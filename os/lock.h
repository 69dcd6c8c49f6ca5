#ifndef OS_LOCK_H
#define OS_LOCK_H

/* One service per data directory. The lock is the system's, on an open file: it goes with the
   process however it ends, the file may stay. */

#include "base/err.h"

struct os_lock;

/* ERR_BUSY when another process holds it. */
int os_lock_take(const char *path, struct os_lock **out_lock, struct err *err);
void os_lock_release(struct os_lock *lock); /* NULL is fine */

#endif
