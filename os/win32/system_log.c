#include "os/system_log.h"

#include <windows.h>

#include "base/cleanup.h"
#include "base/text.h"
#include "os/win32/wide.h"

/* The event viewer finds the texts through the registry: the installer writes EventMessageFile
   under ...\Services\EventLog\Application\cudnnd. Without it the text is shown all the same. */

enum { TEXT_MAX = 16 * 1024 }; /* an insert has at most 31839 characters */

static WORD kind_of(enum os_system_event event)
{
    switch (event) {
    case OS_EVENT_FAILED:
        return EVENTLOG_ERROR_TYPE;
    case OS_EVENT_STARTED:
    case OS_EVENT_STOPPED:
    case OS_EVENT_HEALTH_CHANGED:
        return EVENTLOG_INFORMATION_TYPE;
    case OS_EVENT_CONFIG_REJECTED:
    case OS_EVENT_STORE_RECOVERED:
    case OS_EVENT_SCAN_FAILED:
        break;
    }
    return EVENTLOG_WARNING_TYPE;
}

void os_system_log(enum os_system_event event, const char *text)
{
    struct arena scratch CLEANUP(arena_done) = {0};
    char *cut = arena_alloc(&scratch, TEXT_MAX);
    text_copy(cut, TEXT_MAX, text);
    const wchar_t *wide = wide_from_text(&scratch, text_utf8_clean(&scratch, cut), NULL);
    HANDLE log = wide == NULL ? NULL : RegisterEventSourceW(NULL, L"cudnnd");
    if (log != NULL) {
        ReportEventW(log, kind_of(event), 0, (DWORD)event, NULL, 1, 0, (LPCWSTR *)&wide, NULL);
        DeregisterEventSource(log);
    }
}
