#include "os/posix/syscall.h"

#include <errno.h>
#include <stdarg.h>
#include <unistd.h>

static int code_of(int number)
{
    switch (number) {
    case ENOENT:
    case ENOTDIR:
        return ERR_NOT_FOUND;
    case EACCES:
    case EPERM:
    case EROFS:
        return ERR_PERMISSION;
    case ELOOP:
    case ENAMETOOLONG:
    case EMFILE:
    case ENFILE:
    case ENOMEM:
        return ERR_LIMIT;
    case EEXIST:
    case ENOTEMPTY:
        return ERR_EXISTS;
    case EBUSY:
    case ETXTBSY:
    case EAGAIN:
        return ERR_BUSY;
    case ENOEXEC:
        return ERR_FORMAT;
    case ENOSYS:
    case EOPNOTSUPP:
        return ERR_UNSUPPORTED;
    default:
        return ERR_IO;
    }
}

int posix_fail(struct err *err, int number, const char *format, ...)
{
    char what[sizeof err->message];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(what, sizeof what, format, arguments);
    va_end(arguments);
    const char *words = strerrordesc_np(number);
    int code = err_set(err, code_of(number), "%s", words != NULL ? words : "unknown error");
    err_context(err, "%s", what);
    return code;
}

void posix_close(int *fd)
{
    if (*fd >= 0) {
        int kept = errno;
        close(*fd); /* not again on EINTR: Linux has closed it */
        errno = kept;
        *fd = -1;
    }
}
