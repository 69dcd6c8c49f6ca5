#include "gpu/worker/channel.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

static int channel = -1;

bool channel_open(void)
{
    channel = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3);
    return channel >= 0 && dup2(STDERR_FILENO, STDOUT_FILENO) >= 0;
}

bool channel_write(const char *text)
{
    size_t left = strlen(text);
    while (left > 0) {
        ssize_t written = write(channel, text, left);
        if (written < 0 && errno != EINTR) {
            return false;
        }
        if (written > 0) {
            text += written;
            left -= (size_t)written;
        }
    }
    return true;
}
