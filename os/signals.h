#ifndef OS_SIGNALS_H
#define OS_SIGNALS_H

/* What a person or the system asks of a program in the foreground: stop, reload. Windows: Ctrl+C,
   Ctrl+Break, closing the console, shutdown; POSIX: SIGINT, SIGTERM, SIGHUP. (Under Windows'
   service manager: service/shell_win32.c.) */

typedef void os_signal_handler(void *context);

/* From now on `on_stop` and `on_reload` are called, each time it is asked, on a thread of their
   own (not in signal context). Call once, before other threads are started. */
void os_signals_start(os_signal_handler *on_stop, os_signal_handler *on_reload, void *context);

#endif
