#include "os/file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "os/path.h"
#include "os/posix/syscall.h"
#include "os/secure.h"

enum { READ_BYTES = 16 * 1024, COPY_BYTES = 256 * 1024 };

static enum os_file_type type_of(mode_t mode)
{
    if (S_ISREG(mode)) {
        return OS_FILE_REGULAR;
    }
    if (S_ISDIR(mode)) {
        return OS_FILE_DIRECTORY;
    }
    return S_ISLNK(mode) ? OS_FILE_LINK : OS_FILE_OTHER;
}

static struct os_file_info info_of(const struct stat *status)
{
    return (struct os_file_info){
        .type = type_of(status->st_mode),
        .size_bytes = status->st_size > 0 ? (uint64_t)status->st_size : 0,
        .modified_at_ms =
            (int64_t)status->st_mtim.tv_sec * 1000 + status->st_mtim.tv_nsec / 1000000,
        .device = status->st_dev,
        .inode = status->st_ino,
    };
}

int os_file_stat(const char *path, struct os_file_info *out_info, struct err *err)
{
    struct stat status;
    if (stat(path, &status) != 0) {
        return posix_fail(err, errno, "cannot look at '%s'", path);
    }
    *out_info = info_of(&status);
    return 0;
}

/* ---- directories ---- */

static void close_directory(DIR **directory)
{
    if (*directory != NULL) {
        closedir(*directory);
    }
}

static enum os_file_type entry_type(DIR *directory, const struct dirent *entry)
{
    struct stat status;
    switch (entry->d_type) {
    case DT_REG:
        return OS_FILE_REGULAR;
    case DT_DIR:
        return OS_FILE_DIRECTORY;
    case DT_LNK:
        return OS_FILE_LINK;
    case DT_UNKNOWN: /* some file systems do not tell */
        if (fstatat(dirfd(directory), entry->d_name, &status, AT_SYMLINK_NOFOLLOW) == 0) {
            return type_of(status.st_mode);
        }
        return OS_FILE_OTHER;
    default:
        return OS_FILE_OTHER;
    }
}

static int by_name(const void *a, const void *b)
{
    return strcmp(((const struct os_dir_entry *)a)->name, ((const struct os_dir_entry *)b)->name);
}

int os_dir_read(struct arena *arena, const char *path, size_t limit, struct os_dir_list *out_list,
                struct err *err)
{
    /* O_DIRECTORY: a pipe or device of that name is refused, not opened */
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_NONBLOCK | O_CLOEXEC);
    CLEANUP(close_directory) DIR *directory = fd < 0 ? NULL : fdopendir(fd);
    if (directory == NULL) {
        int number = errno;
        posix_close(&fd);
        return posix_fail(err, number, "cannot list '%s'", path);
    }
    struct os_dir_list list = {0};
    size_t capacity = 0;
    for (;;) {
        errno = 0;
        const struct dirent *entry = readdir(directory);
        if (entry == NULL) {
            break;
        }
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0) {
            continue;
        }
        if (list.count == limit) {
            list.cut = true;
            break;
        }
        struct os_dir_entry *item =
            arena_push(arena, &list.entries, &list.count, &capacity, sizeof *item);
        item->name = arena_strdup(arena, entry->d_name);
        item->type = entry_type(directory, entry);
    }
    if (!list.cut && errno != 0) {
        return posix_fail(err, errno, "cannot list '%s'", path);
    }
    if (list.count > 1) {
        qsort(list.entries, list.count, sizeof *list.entries, by_name);
    }
    *out_list = list;
    return 0;
}

/* ---- reading ---- */

static int refuse_irregular(const char *path, const struct stat *status, struct err *err)
{
    if (S_ISREG(status->st_mode)) {
        return 0;
    }
    return err_set(err, ERR_UNSUPPORTED, "'%s' is %s, not a regular file", path,
                   S_ISDIR(status->st_mode) ? "a directory" : "a pipe, socket or device");
}

/* Opening a device can do things (a watchdog starts, a tape rewinds), opening a pipe can wait.
   So the name is opened as a mere place first, looked at, and that very place is opened for
   reading through /proc. Without /proc the name is opened again and held against the place. */
static int open_regular(const char *path, int *out_fd, struct stat *out_status, struct err *err)
{
    CLEANUP(posix_close) int place = open(path, O_PATH | O_CLOEXEC);
    struct stat status;
    if (place < 0 || fstat(place, &status) != 0) {
        return posix_fail(err, errno, "cannot open '%s'", path);
    }
    int code = refuse_irregular(path, &status, err);
    if (code != 0) {
        return code;
    }
    const int flags = O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC;
    char place_path[64];
    snprintf(place_path, sizeof place_path, "/proc/self/fd/%d", place);
    CLEANUP(posix_close) int fd = open(place_path, flags);
    if (fd < 0) {
        fd = open(path, flags);
    }
    struct stat opened;
    if (fd < 0 || fstat(fd, &opened) != 0) {
        return posix_fail(err, errno, "cannot open '%s'", path);
    }
    if (opened.st_dev != status.st_dev || opened.st_ino != status.st_ino) {
        return err_set(err, ERR_IO, "'%s' was replaced while it was opened", path);
    }
    *out_status = opened;
    *out_fd = fd;
    fd = -1;
    return 0;
}

static ssize_t read_some(int fd, void *data, size_t size)
{
    ssize_t got;
    do {
        got = read(fd, data, size);
    } while (got < 0 && errno == EINTR);
    return got;
}

int os_file_read(struct arena *arena, const char *path, size_t limit, char **out_data,
                 size_t *out_size, struct err *err)
{
    CLEANUP(posix_close) int fd = -1;
    struct stat status = {0};
    int code = open_regular(path, &fd, &status, err);
    if (code != 0) {
        return code;
    }
    if (status.st_size > 0 && (uint64_t)status.st_size > limit) {
        return err_set(err, ERR_LIMIT, "'%s' is larger than %zu bytes", path, limit);
    }
    /* The size is only a hint: /proc and /sys say 0 or 4096, other files may grow. */
    CLEANUP(buf_done) struct buf buf;
    buf_init(&buf, limit);
    char chunk[READ_BYTES];
    ssize_t got;
    while ((got = read_some(fd, chunk, sizeof chunk)) > 0) {
        if (buf_add(&buf, chunk, (size_t)got, NULL) != 0) {
            return err_set(err, ERR_LIMIT, "'%s' is larger than %zu bytes", path, limit);
        }
    }
    if (got < 0) {
        return posix_fail(err, errno, "cannot read '%s'", path);
    }
    *out_data = arena_strndup(arena, buf.size > 0 ? buf.data : "", buf.size);
    *out_size = buf.size;
    return 0;
}

/* ---- mapping ---- */

/* One map that a reader is looking at, on the stack of the thread that does. A reader may map
   another file, so they form a chain, innermost first. */
struct guard {
    sigjmp_buf jump;
    void *map;
    size_t size;
    struct guard *outer;
};

static _Thread_local struct guard *volatile innermost_guard;
static struct sigaction previous_action;
static pthread_mutex_t handler_lock = PTHREAD_MUTEX_INITIALIZER;

static bool covers(const struct guard *guard, const void *address)
{
    uintptr_t at = (uintptr_t)address;
    uintptr_t start = (uintptr_t)guard->map;
    return at >= start && at - start < guard->size;
}

/* Not ours: whoever was here first gets it, the system's default included. */
static void pass_on(int number, siginfo_t *info, void *context)
{
    if ((previous_action.sa_flags & SA_SIGINFO) != 0) {
        previous_action.sa_sigaction(number, info, context);
    } else if (previous_action.sa_handler == SIG_DFL || previous_action.sa_handler == SIG_IGN) {
        struct sigaction by_default = {.sa_handler = SIG_DFL};
        sigaction(number, &by_default, NULL);
        raise(number); /* takes effect when this handler returns */
    } else {
        previous_action.sa_handler(number);
    }
}

/* Leaves the reader of `guard`. Maps inside of it that the jump passes over are released here,
   while the frames that hold their guards still exist. */
_Noreturn static void leave_reader(struct guard *guard)
{
    for (struct guard *inner = innermost_guard; inner != guard; inner = inner->outer) {
        munmap(inner->map, inner->size);
    }
    innermost_guard = guard->outer;
    siglongjmp(guard->jump, 1);
}

static void on_bus_error(int number, siginfo_t *info, void *context)
{
    if (info->si_code > 0) { /* from the kernel about an address, not from kill() */
        for (struct guard *guard = innermost_guard; guard != NULL; guard = guard->outer) {
            if (covers(guard, info->si_addr)) {
                leave_reader(guard);
            }
        }
    }
    pass_on(number, info, context);
}

/* Before every map: another library may have taken our place since the last one, or put us back
   with signal(), which loses SA_SIGINFO. */
static void install_handler(void)
{
    struct sigaction current;
    struct sigaction action = {.sa_flags = SA_SIGINFO | SA_ONSTACK};
    action.sa_sigaction = on_bus_error;
    sigemptyset(&action.sa_mask);
    pthread_mutex_lock(&handler_lock);
    sigaction(SIGBUS, NULL, &current);
    bool is_ours = current.sa_sigaction == on_bus_error;
    if (!is_ours) {
        previous_action = current;
    }
    if (!is_ours || (current.sa_flags & SA_SIGINFO) == 0) {
        sigaction(SIGBUS, &action, NULL);
    }
    pthread_mutex_unlock(&handler_lock);
}

/* A SIGBUS that is blocked cannot be caught: the kernel ends the process. */
static void unblock_bus_error(void)
{
    sigset_t bus;
    sigemptyset(&bus);
    sigaddset(&bus, SIGBUS);
    pthread_sigmask(SIG_UNBLOCK, &bus, NULL);
}

static int read_guarded(struct guard *guard, const char *path, os_file_reader *reader,
                        const struct os_file_info *info, void *context, struct err *err)
{
    guard->outer = innermost_guard;
    if (sigsetjmp(guard->jump, 1) != 0) {
        return err_set(err, ERR_IO, "'%s' cannot be read: it shrank meanwhile or the disk failed",
                       path);
    }
    innermost_guard = guard;
    struct bytes bytes = {.data = guard->map, .size = guard->size};
    int code = reader(bytes, info, context, err);
    innermost_guard = guard->outer;
    return code;
}

int os_file_with_map(const char *path, os_file_reader *reader, void *context, struct err *err)
{
    CLEANUP(posix_close) int fd = -1;
    struct stat status = {0};
    int code = open_regular(path, &fd, &status, err);
    if (code != 0) {
        return code;
    }
    struct os_file_info info = info_of(&status);
    if (info.size_bytes == 0) {
        return reader((struct bytes){.data = (const uint8_t *)"", .size = 0}, &info, context, err);
    }
    struct guard guard = {.size = (size_t)info.size_bytes};
    guard.map = mmap(NULL, guard.size, PROT_READ, MAP_PRIVATE, fd, 0);
    if (guard.map == MAP_FAILED) {
        return posix_fail(err, errno, "cannot map '%s'", path);
    }
    posix_close(&fd); /* the map stays; nothing is left to close should a reader be jumped out of */
    madvise(guard.map, guard.size, MADV_RANDOM);
    install_handler();
    unblock_bus_error();
    code = read_guarded(&guard, path, reader, &info, context, err);
    munmap(guard.map, guard.size);
    return code;
}

/* ---- writing ---- */

/* A file beside the one it will replace. While `fd` is open it is unfinished and goes away. */
struct draft {
    int directory;
    int fd;
    char name[48];
};

static void draft_done(struct draft *draft)
{
    if (draft->fd >= 0) {
        posix_close(&draft->fd);
        unlinkat(draft->directory, draft->name, 0);
    }
    posix_close(&draft->directory);
}

static int draft_open(struct draft *draft, const char *path, mode_t mode, struct err *err)
{
    CLEANUP(arena_done) struct arena arena = {0};
    const char *parent = os_path_parent(&arena, path);
    draft->directory = open(parent, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (draft->directory < 0) {
        return posix_fail(err, errno, "cannot open directory '%s'", parent);
    }
    uint64_t random;
    os_secure_random(&random, sizeof random);
    snprintf(draft->name, sizeof draft->name, ".cudnnd-%016" PRIx64 ".tmp", random);
    draft->fd = openat(draft->directory, draft->name,
                       O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode);
    if (draft->fd < 0) {
        return posix_fail(err, errno, "cannot write in directory '%s'", parent);
    }
    return 0;
}

static int write_all(int fd, const char *data, size_t size)
{
    while (size > 0) {
        ssize_t put = write(fd, data, size);
        if (put < 0 && errno != EINTR) {
            return errno;
        }
        if (put > 0) {
            data += put;
            size -= (size_t)put;
        }
    }
    return 0;
}

/* On the disk first, then under its name, then the name on the disk. */
static int draft_publish(struct draft *draft, const char *path, struct err *err)
{
    if (fsync(draft->fd) != 0) {
        return posix_fail(err, errno, "cannot write '%s'", path);
    }
    if (renameat(draft->directory, draft->name, draft->directory, os_path_name(path)) != 0) {
        return posix_fail(err, errno, "cannot replace '%s'", path);
    }
    posix_close(&draft->fd);
    fsync(draft->directory); /* not every file system can; the file itself is complete */
    return 0;
}

int os_file_write(const char *path, const void *data, size_t size, bool private_file,
                  struct err *err)
{
    CLEANUP(draft_done) struct draft draft = {.directory = -1, .fd = -1};
    int code = draft_open(&draft, path, private_file ? 0600 : 0644, err);
    if (code != 0) {
        return err != NULL ? err_context(err, "cannot write '%s'", path) : code;
    }
    int number = write_all(draft.fd, data, size);
    if (number != 0) {
        return posix_fail(err, number, "cannot write '%s'", path);
    }
    return draft_publish(&draft, path, err);
}

static int copy_bytes(int from, int to, uint64_t *out_size)
{
    CLEANUP(cleanup_free) char *chunk = malloc(COPY_BYTES);
    if (chunk == NULL) {
        return ENOMEM;
    }
    ssize_t got;
    while ((got = read_some(from, chunk, COPY_BYTES)) > 0) {
        int number = write_all(to, chunk, (size_t)got);
        if (number != 0) {
            return number;
        }
        *out_size += (uint64_t)got;
    }
    return got < 0 ? errno : 0;
}

int os_file_copy(const char *from, const char *to, struct err *err)
{
    CLEANUP(posix_close) int source = -1;
    struct stat status = {0};
    int code = open_regular(from, &source, &status, err);
    if (code != 0) {
        return code;
    }
    CLEANUP(draft_done) struct draft draft = {.directory = -1, .fd = -1};
    code = draft_open(&draft, to, 0600, err);
    if (code != 0) {
        return err != NULL ? err_context(err, "cannot copy to '%s'", to) : code;
    }
    uint64_t size = 0;
    int number = copy_bytes(source, draft.fd, &size);
    if (number != 0) {
        return posix_fail(err, number, "cannot copy '%s' to '%s'", from, to);
    }
    if (size != (uint64_t)status.st_size) {
        return err_set(err, ERR_IO, "'%s' changed while it was copied", from);
    }
    /* The copy is as usable and as old as the original, but never set-user-ID. */
    const struct timespec times[2] = {status.st_atim, status.st_mtim};
    if (fchmod(draft.fd, status.st_mode & 0777) != 0 || futimens(draft.fd, times) != 0) {
        return posix_fail(err, errno, "cannot set mode and time of '%s'", to);
    }
    return draft_publish(&draft, to, err);
}

int os_file_remove(const char *path, struct err *err)
{
    if (unlink(path) != 0) {
        return posix_fail(err, errno, "cannot remove '%s'", path);
    }
    return 0;
}

int os_file_rename(const char *from, const char *to, struct err *err)
{
    if (rename(from, to) != 0) {
        return posix_fail(err, errno, "cannot rename '%s' to '%s'", from, to);
    }
    return 0;
}

static bool is_directory(const char *path)
{
    struct stat status;
    return stat(path, &status) == 0 && S_ISDIR(status.st_mode);
}

int os_dir_make(const char *path, struct err *err)
{
    if (is_directory(path)) {
        return 0;
    }
    CLEANUP(arena_done) struct arena arena = {0};
    char *part = arena_strdup(&arena, path);
    for (char *end = part + strspn(part, "/");; end++) {
        end += strcspn(end, "/");
        char kept = *end;
        *end = '\0';
        /* what the call says of an existing directory differs (EEXIST, EROFS, EACCES) */
        int number = part[0] == '\0' || mkdir(part, 0755) == 0 ? 0 : errno;
        if (number != 0 && !is_directory(part)) {
            return posix_fail(err, number, "cannot create directory '%s'", part);
        }
        *end = kept;
        if (kept == '\0') {
            return 0;
        }
    }
}

uint64_t os_disk_free_bytes(const char *path)
{
    struct statvfs status;
    return statvfs(path, &status) == 0 ? (uint64_t)status.f_bavail * status.f_frsize : 0;
}
