#include "os/signals.h"

#include <pthread.h>
#include <signal.h>

#include "base/log.h"
#include "os/thread.h"

static struct {
    os_signal_handler *on_stop;
    os_signal_handler *on_reload;
    void *context;
    sigset_t signals;
} watched;

static void *wait_for_signals(void *unused)
{
    (void)unused;
    os_thread_name("signals");
    for (;;) {
        int number;
        if (sigwait(&watched.signals, &number) != 0) {
            continue;
        }
        if (number == SIGHUP) {
            watched.on_reload(watched.context);
        } else {
            watched.on_stop(watched.context);
        }
    }
    return NULL;
}

void os_signals_start(os_signal_handler *on_stop, os_signal_handler *on_reload, void *context)
{
    watched.on_stop = on_stop;
    watched.on_reload = on_reload;
    watched.context = context;
    /* An ignored signal is dropped before anybody can wait for it: `nohup` ignores SIGHUP. SIGINT
       stays ignored where the shell did so for a job in the background: Ctrl+C is not for it. */
    struct sigaction by_default = {.sa_handler = SIG_DFL};
    sigaction(SIGHUP, &by_default, NULL);
    sigaction(SIGTERM, &by_default, NULL);
    /* Blocked here and therefore in every thread started later, so that only the waiter sees them;
       os/posix/process.c unblocks them for children. */
    sigemptyset(&watched.signals);
    sigaddset(&watched.signals, SIGINT);
    sigaddset(&watched.signals, SIGTERM);
    sigaddset(&watched.signals, SIGHUP);
    pthread_sigmask(SIG_BLOCK, &watched.signals, NULL);
    pthread_t waiter;
    if (pthread_create(&waiter, NULL, wait_for_signals, NULL) != 0) {
        log_fatal("cannot start the thread that waits for signals");
    }
    pthread_detach(waiter);
}
