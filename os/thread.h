#ifndef OS_THREAD_H
#define OS_THREAD_H

/* Threads are POSIX threads on both systems (mingw-w64 brings them). Here is only what they do
   not have. */

/* The calling thread works in the background from now on: low CPU, disk and memory priority. */
void os_thread_background(void);
void os_thread_name(const char *name); /* for debuggers; at most 15 bytes are shown */

#endif
