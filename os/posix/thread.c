#include "os/thread.h"

#include <time.h>

#include "base/text.h"
#include "os/posix/priority.h"

void os_thread_background(void)
{
    posix_lower_priority();
}

void os_thread_name(const char *name)
{
    char shown[16]; /* the kernel refuses longer names, it does not cut them */
    text_copy(shown, sizeof shown, name);
    pthread_setname_np(pthread_self(), shown);
}

void os_thread_wait(pthread_cond_t *wake, pthread_mutex_t *mutex, uint64_t ms)
{
    struct timespec until;
    clock_gettime(CLOCK_MONOTONIC, &until);
    uint64_t ns = (uint64_t)until.tv_nsec + ms % 1000 * 1000000;
    until.tv_sec += (time_t)(ms / 1000 + ns / 1000000000);
    until.tv_nsec = (long)(ns % 1000000000);
    pthread_cond_clockwait(wake, mutex, CLOCK_MONOTONIC, &until);
}
