#include "os/posix/priority.h"

#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

/* linux/ioprio.h, which is not installed everywhere: ioprio_set(2) */
enum { IO_WHO_PROCESS = 1, IO_CLASS_IDLE = 3, IO_CLASS_SHIFT = 13 };

void posix_lower_priority(void)
{
    /* On Linux both are per thread, and 0 is the calling one. */
    setpriority(PRIO_PROCESS, 0, 10);
    syscall(SYS_ioprio_set, IO_WHO_PROCESS, 0, IO_CLASS_IDLE << IO_CLASS_SHIFT);
}
