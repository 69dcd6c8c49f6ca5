#include "gpu/worker/channel.h"

#include <windows.h>

#include <io.h>

static HANDLE channel = INVALID_HANDLE_VALUE;

bool channel_open(void)
{
    /* A handle of our own to the pipe; the C runtime's descriptor 1 and the process's standard
       output, which vendor code with a runtime of its own uses, lead to stderr from now on. */
    HANDLE self = GetCurrentProcess();
    return DuplicateHandle(self, GetStdHandle(STD_OUTPUT_HANDLE), self, &channel, 0, FALSE,
                           DUPLICATE_SAME_ACCESS) &&
           _dup2(2, 1) == 0 && SetStdHandle(STD_OUTPUT_HANDLE, GetStdHandle(STD_ERROR_HANDLE));
}

bool channel_write(const char *text)
{
    size_t left = strlen(text);
    while (left > 0) {
        DWORD written = 0;
        DWORD wanted = left > 65536 ? 65536 : (DWORD)left;
        if (!WriteFile(channel, text, wanted, &written, NULL)) {
            return false;
        }
        text += written;
        left -= written;
    }
    return true;
}
