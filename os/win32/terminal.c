#include "os/terminal.h"

#include <windows.h>

static HANDLE handle_of(FILE *stream)
{
    DWORD which = stream == stdin    ? STD_INPUT_HANDLE
                  : stream == stdout ? STD_OUTPUT_HANDLE
                                     : STD_ERROR_HANDLE;
    return stream == stdin || stream == stdout || stream == stderr ? GetStdHandle(which) : NULL;
}

bool os_terminal_is_interactive(FILE *stream)
{
    HANDLE handle = handle_of(stream);
    DWORD mode = 0;
    if (!GetConsoleMode(handle, &mode)) {
        return false; /* a pipe or a file; NUL is a character device but no console */
    }
    if (stream == stdin) {
        return true;
    }
    const DWORD wanted = ENABLE_PROCESSED_OUTPUT | ENABLE_VIRTUAL_TERMINAL_PROCESSING;
    return (mode & wanted) == wanted || SetConsoleMode(handle, mode | wanted);
}

int os_terminal_columns(void)
{
    FILE *const streams[] = {stdout, stderr};
    for (size_t i = 0; i < sizeof streams / sizeof *streams; i++) {
        CONSOLE_SCREEN_BUFFER_INFO info;
        HANDLE handle = handle_of(streams[i]);
        if (GetConsoleScreenBufferInfo(handle, &info) &&
            info.srWindow.Right >= info.srWindow.Left) {
            return info.srWindow.Right - info.srWindow.Left + 1;
        }
    }
    return 80;
}
