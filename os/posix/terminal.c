#include "os/terminal.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include "base/text.h"

bool os_terminal_is_interactive(FILE *stream)
{
    const char *kind = getenv("TERM");
    return isatty(fileno(stream)) == 1 && kind != NULL && kind[0] != '\0' &&
           strcmp(kind, "dumb") != 0;
}

int os_terminal_columns(void)
{
    const int streams[] = {STDOUT_FILENO, STDERR_FILENO, STDIN_FILENO};
    for (size_t i = 0; i < sizeof streams / sizeof *streams; i++) {
        struct winsize size;
        if (ioctl(streams[i], TIOCGWINSZ, &size) == 0 && size.ws_col > 0) {
            return size.ws_col;
        }
    }
    const char *text = getenv("COLUMNS");
    uint64_t columns;
    return text != NULL && text_to_u64(text, 10000, &columns) && columns > 0 ? (int)columns : 80;
}
