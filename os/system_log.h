#ifndef OS_SYSTEM_LOG_H
#define OS_SYSTEM_LOG_H

/* The system's own log: Windows event log (source "cudnnd", texts in the program's message
   resource os/win32/messages.mc), syslog elsewhere. Never blocks the caller for long, never fails
   loudly. A service reports there what an administrator must know, not every line. */

enum os_system_event { /* the fixed ids of the message file: never renumber */
                       OS_EVENT_STARTED = 1,
                       OS_EVENT_STOPPED = 2,
                       OS_EVENT_FAILED =
                           3, /* the service cannot run: text says why and what to do */
                       OS_EVENT_CONFIG_REJECTED = 4, /* the running configuration stays in force */
                       OS_EVENT_STORE_RECOVERED = 5,
                       OS_EVENT_SCAN_FAILED = 6,
                       OS_EVENT_HEALTH_CHANGED = 7,
};

void os_system_log(enum os_system_event event, const char *text);

#endif
