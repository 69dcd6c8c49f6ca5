#include "os/thread.h"

#include <time.h>

#include "base/cleanup.h"
#include "os/win32/native.h"
#include "os/win32/wide.h"

void os_thread_background(void)
{
    /* CPU, disk and memory at once; fails when the thread is in this mode already. */
    SetThreadPriority(GetCurrentThread(), THREAD_MODE_BACKGROUND_BEGIN);
}

void os_thread_name(const char *name)
{
    typedef HRESULT WINAPI describe_function(HANDLE, PCWSTR); /* since Windows 10 1607 */
    struct arena scratch CLEANUP(arena_done) = {0};
    describe_function *describe =
        (describe_function *)native_find(L"kernel32.dll", "SetThreadDescription");
    wchar_t *wide = wide_from_text(&scratch, name, NULL);
    if (describe != NULL && wide != NULL) {
        describe(GetCurrentThread(), wide);
    }
}

void os_thread_wait(pthread_cond_t *wake, pthread_mutex_t *mutex, uint64_t ms)
{
    struct timespec span = {.tv_sec = (time_t)(ms / 1000), .tv_nsec = (long)(ms % 1000) * 1000000};
    pthread_cond_timedwait_relative_np(wake, mutex, &span);
}
