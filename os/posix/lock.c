#include "os/lock.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "base/text.h"
#include "os/posix/syscall.h"

struct os_lock {
    int fd;
};

static int busy(int fd, const char *path, struct err *err)
{
    char holder[24] = "";
    ssize_t length = pread(fd, holder, sizeof holder - 1, 0);
    holder[length > 0 ? length : 0] = '\0';
    uint64_t process;
    if (!text_to_u64(text_strip(holder), INT32_MAX, &process)) {
        return err_set(err, ERR_BUSY, "another process holds '%s'", path);
    }
    return err_set(err, ERR_BUSY, "process %u holds '%s'", (unsigned)process, path);
}

/* Is the locked file still the one of that name? Else somebody removed it between open and lock,
   and a second process could lock its successor. */
static bool still_there(int fd, const char *path)
{
    struct stat locked;
    struct stat named;
    return fstat(fd, &locked) == 0 && stat(path, &named) == 0 && locked.st_dev == named.st_dev &&
           locked.st_ino == named.st_ino;
}

static int open_and_lock(const char *path, int *out_fd, struct err *err)
{
    CLEANUP(posix_close)
    int fd = open(path, O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC, 0600);
    struct stat status;
    if (fd < 0 || fstat(fd, &status) != 0) {
        return posix_fail(err, errno, "cannot open lock '%s'", path);
    }
    if (!S_ISREG(status.st_mode)) {
        return err_set(err, ERR_UNSUPPORTED, "lock '%s' is not a regular file", path);
    }
    if (flock(fd, LOCK_EX | LOCK_NB) != 0) {
        return errno == EWOULDBLOCK ? busy(fd, path, err)
                                    : posix_fail(err, errno, "cannot lock '%s'", path);
    }
    *out_fd = fd;
    fd = -1;
    return 0;
}

/* For people who look into the file, and for the message of the next one. */
static void write_holder(int fd)
{
    char text[24];
    int length = snprintf(text, sizeof text, "%ld\n", (long)getpid());
    if (ftruncate(fd, 0) != 0 || pwrite(fd, text, (size_t)length, 0) != length) {
        log_debug("the lock file does not name its holder");
    }
}

int os_lock_take(const char *path, struct os_lock **out_lock, struct err *err)
{
    CLEANUP(posix_close) int fd = -1;
    for (int attempt = 0; attempt < 10; attempt++) {
        posix_close(&fd);
        int code = open_and_lock(path, &fd, err);
        if (code != 0) {
            return code;
        }
        if (still_there(fd, path)) {
            write_holder(fd);
            struct os_lock *lock = malloc(sizeof *lock);
            if (lock == NULL) {
                log_fatal("out of memory");
            }
            lock->fd = fd;
            fd = -1;
            *out_lock = lock;
            return 0;
        }
    }
    return err_set(err, ERR_BUSY, "lock '%s' keeps being replaced", path);
}

void os_lock_release(struct os_lock *lock)
{
    if (lock != NULL) {
        posix_close(&lock->fd);
        free(lock);
    }
}
