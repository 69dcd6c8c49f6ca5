#include "os/thread.h"

#include <pthread.h>

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
