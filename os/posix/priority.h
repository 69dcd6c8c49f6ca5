#ifndef OS_POSIX_PRIORITY_H
#define OS_POSIX_PRIORITY_H

/* Low CPU and disk priority for the calling thread (in a child before exec: for the program to
   come). Async-signal-safe. Included only inside os/posix/. */

void posix_lower_priority(void);

#endif
