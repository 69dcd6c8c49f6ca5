#ifndef OS_POSIX_SYSCALL_H
#define OS_POSIX_SYSCALL_H

/* What the POSIX answers share: an errno as a struct err, a descriptor that closes itself.
   Included only inside os/posix/. */

#include "base/err.h"
#include "base/printf.h"

/* Puts "<what>: <the system's words>" and the ERR_* that belongs to the errno value `number`. */
int posix_fail(struct err *err, int number, const char *format, ...) PRINTF_LIKE(3, 4);

/* For CLEANUP: closes *fd unless it is negative, and makes it so. Keeps errno. */
void posix_close(int *fd);

#endif
