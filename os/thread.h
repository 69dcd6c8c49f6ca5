#ifndef OS_THREAD_H
#define OS_THREAD_H

/* Threads are POSIX threads on both systems (mingw-w64 brings them). Here is only what they do
   not have. */

#include <pthread.h>
#include <stdint.h>

/* The calling thread works in the background from now on: low CPU, disk and memory priority. */
void os_thread_background(void);
void os_thread_name(const char *name); /* for debuggers; at most 15 bytes are shown */

/* Waits to be woken, for `ms` at most, whatever becomes of the wall clock meanwhile. */
void os_thread_wait(pthread_cond_t *wake, pthread_mutex_t *mutex, uint64_t ms);

#endif
