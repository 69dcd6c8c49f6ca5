#include "os/signals.h"

#include <windows.h>

/* Windows calls the handler on a new thread each time. Reloading has no console event: it is the
   service manager's PARAMCHANGE, in service/. */

static os_signal_handler *stop;
static void *stop_context;

static BOOL WINAPI on_event(DWORD event)
{
    switch (event) {
    case CTRL_C_EVENT:
    case CTRL_BREAK_EVENT:
        stop(stop_context);
        return TRUE;
    case CTRL_CLOSE_EVENT:
    case CTRL_SHUTDOWN_EVENT:
        stop(stop_context);
        /* The process is killed when this returns, or after some seconds: main() gets that time. */
        Sleep(INFINITE);
        return TRUE;
    default:
        return TRUE; /* logging off does not concern a service, and a console program is told by
                        the closing of its console */
    }
}

void os_signals_start(os_signal_handler *on_stop, os_signal_handler *on_reload, void *context)
{
    (void)on_reload;
    stop = on_stop;
    stop_context = context;
    SetConsoleCtrlHandler(NULL,
                          FALSE); /* a parent may have had Ctrl+C ignored, which is inherited */
    SetConsoleCtrlHandler(on_event, TRUE);
}
