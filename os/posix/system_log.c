#include "os/system_log.h"

#include <errno.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <syslog.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/text.h"
#include "os/posix/syscall.h"

enum { LINE_BYTES = 1024 };

static int priority_of(enum os_system_event event)
{
    switch (event) {
    case OS_EVENT_STARTED:
    case OS_EVENT_STOPPED:
        return LOG_INFO;
    case OS_EVENT_FAILED:
        return LOG_ERR;
    case OS_EVENT_HEALTH_CHANGED:
        return LOG_NOTICE;
    case OS_EVENT_CONFIG_REJECTED:
    case OS_EVENT_STORE_RECOVERED:
    case OS_EVENT_SCAN_FAILED:
        break;
    }
    return LOG_WARNING;
}

static void one_line(char *text)
{
    for (; *text != '\0'; text++) {
        if ((unsigned char)*text < 0x20 || *text == 0x7F) {
            *text = ' '; /* a file name must not be able to forge log lines */
        }
    }
}

/* The datagram that syslog(3) sends, RFC 3164 section 4.1, without the time that every receiver
   puts there itself. Not syslog(3): it waits for ever when the receiver hangs. */
void os_system_log(enum os_system_event event, const char *text)
{
    char clean[LINE_BYTES];
    text_copy(clean, sizeof clean, text);
    one_line(clean);
    char line[LINE_BYTES + 64];
    int length = snprintf(line, sizeof line, "<%d>cudnnd[%ld]: event %d: %s",
                          LOG_DAEMON | priority_of(event), (long)getpid(), (int)event, clean);
    CLEANUP(posix_close) int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    struct sockaddr_un receiver = {.sun_family = AF_UNIX, .sun_path = "/dev/log"};
    if (fd >= 0) {
        sendto(fd, line, (size_t)length, MSG_DONTWAIT | MSG_NOSIGNAL,
               (const struct sockaddr *)&receiver, sizeof receiver);
    }
}
