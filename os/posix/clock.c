#include "os/clock.h"

#include <errno.h>
#include <time.h>

int64_t os_clock_wall_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

uint64_t os_clock_steady_us(void)
{
    struct timespec now;
    clock_gettime(CLOCK_BOOTTIME, &now); /* CLOCK_MONOTONIC stands still during suspend */
    return (uint64_t)now.tv_sec * 1000000 + (uint64_t)now.tv_nsec / 1000;
}

uint64_t os_clock_steady_ms(void)
{
    return os_clock_steady_us() / 1000;
}

void os_clock_sleep_ms(uint32_t duration_ms)
{
    struct timespec end;
    clock_gettime(CLOCK_MONOTONIC, &end);
    end.tv_sec += duration_ms / 1000;
    end.tv_nsec += (long)(duration_ms % 1000) * 1000000;
    if (end.tv_nsec >= 1000000000) {
        end.tv_sec++;
        end.tv_nsec -= 1000000000;
    }
    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &end, NULL) == EINTR) {
    }
}
