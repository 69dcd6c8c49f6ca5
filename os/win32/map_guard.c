#include "os/win32/map_guard.h"

#include <pthread.h>
#include <stdint.h>
#include <windows.h>

/* gcc has no __try for x86_64 mingw, so this is a vectored exception handler. It does not jump out
   of the handler itself, since Windows counts who is inside one: it lets the thread go on at
   leave(), on its own stack, and that jumps. What belongs to a thread is found with TlsGetValue():
   gcc's own thread-local variables may allocate on first use, which a handler must not do. */

struct guard {
    void *jump[5]; /* __builtin_setjmp's buffer */
    uintptr_t begin, end;
    struct guard *outer; /* a reader may map another file */
};

static DWORD slot = TLS_OUT_OF_INDEXES;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static _Noreturn void leave(void)
{
    struct guard *guard = TlsGetValue(slot);
    __builtin_longjmp(guard->jump, 1);
}

/* A read inside the view that failed: Windows says in-page error, Wine access violation. */
static bool is_failed_read(const EXCEPTION_RECORD *record, const struct guard *guard)
{
    bool kind = record->ExceptionCode == (DWORD)EXCEPTION_IN_PAGE_ERROR ||
                record->ExceptionCode == (DWORD)EXCEPTION_ACCESS_VIOLATION;
    return kind && record->NumberParameters >= 2 && record->ExceptionInformation[0] == 0 &&
           record->ExceptionInformation[1] >= guard->begin &&
           record->ExceptionInformation[1] < guard->end;
}

static LONG CALLBACK on_exception(EXCEPTION_POINTERS *exception)
{
    DWORD last_error = GetLastError(); /* TlsGetValue() clears it */
    const struct guard *guard = TlsGetValue(slot);
    SetLastError(last_error);
    if (guard == NULL || !is_failed_read(exception->ExceptionRecord, guard)) {
        return EXCEPTION_CONTINUE_SEARCH;
    }
    /* As if leave() had been called here: aligned, with room for a return address and, above it,
       the 32 bytes that belong to the called function. */
    CONTEXT *thread = exception->ContextRecord;
    thread->Rsp = ((thread->Rsp - 256) & ~(DWORD64)15) - 8;
    thread->Rip = (DWORD64)(uintptr_t)leave;
    return EXCEPTION_CONTINUE_EXECUTION;
}

static void install(void)
{
    slot = TlsAlloc();
    if (slot != TLS_OUT_OF_INDEXES) {
        AddVectoredExceptionHandler(1, on_exception);
    }
}

__attribute__((noinline)) bool map_guard_run(struct map_guard_call *call)
{
    pthread_once(&once, install);
    /* Volatile: after the jump nothing may be expected in registers. */
    struct guard guard = {.begin = (uintptr_t)call->view.data,
                          .end = (uintptr_t)call->view.data + (uintptr_t)call->view.size,
                          .outer = TlsGetValue(slot)};
    struct guard *volatile own = &guard;
    volatile bool whole = false;
    TlsSetValue(slot, &guard);
    if (__builtin_setjmp(guard.jump) == 0) {
        call->result = call->reader(call->view, call->info, call->context, call->err);
        whole = true;
    }
    TlsSetValue(slot, own->outer);
    return whole;
}
