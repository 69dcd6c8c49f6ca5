#include "os/clock.h"

#include "os/win32/native.h"

int64_t os_clock_wall_ms(void)
{
    FILETIME now;
    GetSystemTimePreciseAsFileTime(&now);
    return native_unix_ms(now);
}

/* Interrupt time: 100 ns since boot, sleep included, unlike its "unbiased" sister. */
typedef VOID WINAPI interrupt_time(PULONGLONG time);

uint64_t os_clock_steady_ms(void)
{
    return GetTickCount64(); /* the same clock, sleep included, in steps of 10 to 16 ms */
}

uint64_t os_clock_steady_us(void)
{
    interrupt_time *read =
        (interrupt_time *)native_find(L"kernelbase.dll", "QueryInterruptTimePrecise");
    if (read != NULL) {
        ULONGLONG time = 0;
        read(&time);
        return time / 10;
    }
    /* Wine: the performance counter, which counts from boot as well. */
    LARGE_INTEGER count, frequency;
    QueryPerformanceCounter(&count);
    QueryPerformanceFrequency(&frequency);
    uint64_t ticks = (uint64_t)count.QuadPart, rate = (uint64_t)frequency.QuadPart;
    return ticks / rate * 1000000 + ticks % rate * 1000000 / rate;
}

void os_clock_sleep_ms(uint32_t duration_ms)
{
    /* INFINITE is the largest value, and 49 days are long enough. */
    Sleep(duration_ms == INFINITE ? INFINITE - 1 : duration_ms);
}
