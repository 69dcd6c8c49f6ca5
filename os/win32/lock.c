#include "os/lock.h"

#include "base/cleanup.h"
#include "base/log.h"
#include "os/win32/native.h"
#include "os/win32/wide.h"

struct os_lock {
    HANDLE file;
};

/* The locked byte lies far behind the end, so that the file can be read all the same. */
static OVERLAPPED locked_byte(void)
{
    return (OVERLAPPED){.OffsetHigh = 0x40000000};
}

int os_lock_take(const char *path, struct os_lock **out_lock, struct err *err)
{
    struct err own_err = {0};
    err = wide_reason(err, &own_err);
    struct arena scratch CLEANUP(arena_done) = {0};
    wchar_t *wide = wide_path(&scratch, path, err);
    if (wide == NULL) {
        return err_context(err, "%s", path);
    }
    HANDLE file CLEANUP(native_close) =
        CreateFileW(wide, GENERIC_READ | GENERIC_WRITE, FILE_SHARE_READ | FILE_SHARE_WRITE, NULL,
                    OPEN_ALWAYS, FILE_ATTRIBUTE_NORMAL, NULL);
    if (file == INVALID_HANDLE_VALUE) {
        return wide_error(err, GetLastError(), "%s", path);
    }
    OVERLAPPED at = locked_byte();
    if (!LockFileEx(file, LOCKFILE_EXCLUSIVE_LOCK | LOCKFILE_FAIL_IMMEDIATELY, 0, 1, 0, &at)) {
        DWORD error = GetLastError();
        if (error == ERROR_LOCK_VIOLATION || error == ERROR_IO_PENDING) {
            return err_set(err, ERR_BUSY, "%s is held by another process", path);
        }
        return wide_error(err, error, "%s", path);
    }
    struct os_lock *lock = malloc(sizeof *lock);
    if (lock == NULL) {
        log_fatal("out of memory while locking %s", path);
    }
    lock->file = file;
    file = NULL;
    *out_lock = lock;
    return 0;
}

void os_lock_release(struct os_lock *lock)
{
    if (lock == NULL) {
        return;
    }
    OVERLAPPED at = locked_byte();
    UnlockFileEx(lock->file, 0, 1, 0, &at); /* at once; closing would do it "in some time" */
    CloseHandle(lock->file);
    free(lock);
}
