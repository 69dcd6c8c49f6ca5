#include "os/process.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/close_range.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/text.h"
#include "os/posix/priority.h"
#include "os/posix/syscall.h"

enum {
    POLL_MS = 50,           /* how late a cancel or timeout may be noticed */
    KILL_WAIT_MS = 3000,    /* a stop of the service takes at most 5 s */
    READ_BYTES = 16 * 1024, /* per look at a pipe, so that a shouting child cannot hold us */
    DRAIN_READS = 64,       /* what may lie in a pipe after the end: 1 MiB at most */
    ABANDONED_MAX = 16,
    CLOSE_MAX = 64 * 1024,
    EXEC_FAILED = 127,
};

static uint64_t now_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now); /* a child does not use up its time during suspend */
    return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

/* ---- what the child is started with, prepared before the fork ---- */

static bool is_unset(const struct os_process_spec *spec, const char *entry)
{
    size_t name_length = strcspn(entry, "=");
    for (const char *const *name = spec->unset; name != NULL && *name != NULL; name++) {
        size_t length = strlen(*name);
        bool by_prefix = length > 0 && (*name)[length - 1] == '*';
        length -= by_prefix;
        if (strncmp(entry, *name, length) == 0 && (by_prefix || name_length == length)) {
            return true;
        }
    }
    return false;
}

static bool is_set(const struct os_process_spec *spec, const char *entry)
{
    size_t length = strcspn(entry, "=") + 1;
    for (const char *const *item = spec->set; item != NULL && *item != NULL; item++) {
        if (strncmp(*item, entry, length) == 0) {
            return true;
        }
    }
    return false;
}

static void push_text(struct arena *arena, char ***items, size_t *count, size_t *capacity,
                      const char *text)
{
    *(char **)arena_push(arena, items, count, capacity, sizeof **items) = arena_strdup(arena, text);
}

static char **build_environment(struct arena *arena, const struct os_process_spec *spec)
{
    char **items = NULL;
    size_t count = 0;
    size_t capacity = 0;
    for (char **entry = environ; entry != NULL && *entry != NULL; entry++) {
        if (!is_unset(spec, *entry) && !is_set(spec, *entry)) {
            push_text(arena, &items, &count, &capacity, *entry);
        }
    }
    for (const char *const *item = spec->set; item != NULL && *item != NULL; item++) {
        push_text(arena, &items, &count, &capacity, *item);
    }
    push_text(arena, &items, &count, &capacity, NULL);
    return items;
}

static char **build_arguments(struct arena *arena, const struct os_process_spec *spec)
{
    char **items = NULL;
    size_t count = 0;
    size_t capacity = 0;
    push_text(arena, &items, &count, &capacity, spec->program);
    for (const char *const *item = spec->arguments; item != NULL && *item != NULL; item++) {
        push_text(arena, &items, &count, &capacity, *item);
    }
    push_text(arena, &items, &count, &capacity, NULL);
    return items;
}

struct plan {
    const struct os_process_spec *spec;
    char **arguments, **environment;
    pid_t parent;
    int input, output, error; /* the child's 0, 1, 2; all above 2 here */
    int report;               /* an errno goes here when the program cannot be started */
};

/* ---- in the child, between fork and exec: only async-signal-safe calls ---- */

static void reset_signals(void)
{
    for (int number = 1; number < NSIG; number++) {
        signal(number, SIG_DFL); /* ignored ones (SIGPIPE) would stay ignored */
    }
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
}

/* Everything above 2 goes with the exec, also what a library opened without O_CLOEXEC. */
static void close_others(void)
{
    if (syscall(SYS_close_range, 3U, ~0U, CLOSE_RANGE_CLOEXEC) == 0) {
        return;
    }
    struct rlimit limit = {0}; /* before Linux 5.11 */
    getrlimit(RLIMIT_NOFILE, &limit);
    int end = limit.rlim_cur > CLOSE_MAX ? CLOSE_MAX : (int)limit.rlim_cur;
    for (int fd = 3; fd < end; fd++) {
        fcntl(fd, F_SETFD, FD_CLOEXEC);
    }
}

static void limit_child(const struct os_process_spec *spec)
{
    const struct rlimit no_core = {0, 0};
    setrlimit(RLIMIT_CORE, &no_core);
    if (spec->memory_bytes > 0) {
        /* Not RLIMIT_AS: CUDA reserves address space of a multiple of the GPU's memory without
           using it, and cannot start under such a limit. This one counts what can be written
           privately: heap, anonymous maps, writable data of libraries. */
        const struct rlimit memory = {spec->memory_bytes, spec->memory_bytes};
        setrlimit(RLIMIT_DATA, &memory);
    }
    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    if (spec->background) {
        posix_lower_priority();
    }
}

_Noreturn static void become_program(const struct plan *plan)
{
    setpgid(0, 0);
    /* Sent when the thread that forked ends; it waits for us in os_process_run() until our end. */
    prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
    if (getppid() != plan->parent) { /* it was gone before that */
        _exit(EXEC_FAILED);
    }
    reset_signals();
    if (dup2(plan->input, 0) == 0 && dup2(plan->output, 1) == 1 && dup2(plan->error, 2) == 2) {
        close_others();
        limit_child(plan->spec);
        execve(plan->spec->program, plan->arguments, plan->environment);
    }
    int number = errno;
    ssize_t ignored = write(plan->report, &number, sizeof number);
    (void)ignored;
    _exit(EXEC_FAILED);
}

/* ---- starting ---- */

/* A descriptor above 2, whatever was free: the child's 0, 1, 2 are put there one by one. */
static int above_standard(int fd)
{
    if (fd < 0 || fd > 2) {
        return fd;
    }
    int moved = fcntl(fd, F_DUPFD_CLOEXEC, 3);
    posix_close(&fd);
    return moved;
}

static int open_pipe(int *out_reader, int *out_writer, struct err *err)
{
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0) {
        return posix_fail(err, errno, "cannot make a pipe");
    }
    *out_reader = above_standard(ends[0]);
    *out_writer = above_standard(ends[1]);
    if (*out_reader < 0 || *out_writer < 0) {
        return posix_fail(err, errno, "cannot make a pipe");
    }
    int flags = fcntl(*out_reader, F_GETFL);
    fcntl(*out_reader, F_SETFL, flags | O_NONBLOCK);
    return 0;
}

/* Our ends, and what is known of the child. */
struct child {
    pid_t id;
    int handle; /* pidfd, -1 on kernels before 5.3: then the end is noticed POLL_MS later */
    int output, error, report;
    int start_error; /* errno of a failed exec */
    uint64_t started_ms;
    struct buf out;
    char tail[OS_PROCESS_ERROR_TAIL];
    size_t tail_size;
    bool too_much;
    bool taken; /* reaped by other code of this process: its number may be anybody's now */
};

static void child_done(struct child *child)
{
    posix_close(&child->handle);
    posix_close(&child->output);
    posix_close(&child->error);
    posix_close(&child->report);
    buf_done(&child->out);
}

static void plan_done(struct plan *plan)
{
    posix_close(&plan->input);
    posix_close(&plan->output);
    posix_close(&plan->error);
    posix_close(&plan->report);
}

static pid_t fork_program(const struct plan *plan)
{
    /* No handler of ours may run in the child before its signals are reset. */
    sigset_t all;
    sigset_t kept;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &kept);
    pid_t id = fork();
    if (id == 0) {
        become_program(plan);
    }
    int number = errno;
    pthread_sigmask(SIG_SETMASK, &kept, NULL);
    errno = number;
    return id;
}

static int start(const struct os_process_spec *spec, struct child *child, struct err *err)
{
    CLEANUP(arena_done) struct arena arena = {0};
    CLEANUP(plan_done)
    struct plan plan = {
        .spec = spec,
        .arguments = build_arguments(&arena, spec),
        .environment = build_environment(&arena, spec),
        .parent = getpid(),
        .input = above_standard(open("/dev/null", O_RDONLY | O_CLOEXEC)),
        .output = -1,
        .error = -1,
        .report = -1,
    };
    if (plan.input < 0) {
        return posix_fail(err, errno, "cannot open '/dev/null'");
    }
    int code = open_pipe(&child->output, &plan.output, err);
    code = code != 0 ? code : open_pipe(&child->error, &plan.error, err);
    code = code != 0 ? code : open_pipe(&child->report, &plan.report, err);
    if (code != 0) {
        return code;
    }
    child->started_ms = now_ms();
    child->id = fork_program(&plan);
    if (child->id < 0) {
        return posix_fail(err, errno, "cannot start '%s'", spec->program);
    }
    setpgid(child->id, child->id); /* both do it: whoever comes first */
    child->handle = (int)syscall(SYS_pidfd_open, child->id, 0U);
    return 0;
}

/* ---- reading what it says ---- */

static void keep_output(struct child *child, const char *data, size_t size)
{
    size_t room = child->out.ceiling - child->out.size;
    if (size > room) {
        child->too_much = true;
        size = room;
    }
    buf_add(&child->out, data, size, NULL);
}

static void keep_tail(struct child *child, const char *data, size_t size)
{
    const size_t most = sizeof child->tail - 1;
    if (size > most) {
        data += size - most;
        size = most;
    }
    if (child->tail_size + size > most) {
        size_t dropped = child->tail_size + size - most;
        child->tail_size -= dropped;
        memmove(child->tail, child->tail + dropped, child->tail_size);
    }
    memcpy(child->tail + child->tail_size, data, size);
    child->tail_size += size;
}

typedef void keep_function(struct child *child, const char *data, size_t size);

/* One look at a pipe; closes it at its end. True when something came. */
static bool read_pipe(struct child *child, int *fd, keep_function *keep)
{
    char chunk[READ_BYTES];
    if (*fd < 0) {
        return false;
    }
    ssize_t got = read(*fd, chunk, sizeof chunk);
    if (got > 0) {
        keep(child, chunk, (size_t)got);
        return true;
    }
    if (got == 0 || (errno != EAGAIN && errno != EINTR)) {
        posix_close(fd);
    }
    return false;
}

/* What the exec said: closed without a word when the program runs. */
static void read_report(struct child *child)
{
    if (child->report >= 0) {
        int number = 0;
        ssize_t got = read(child->report, &number, sizeof number);
        if (got == (ssize_t)sizeof number) {
            child->start_error = number;
        }
        if (got >= 0 || errno != EAGAIN) {
            posix_close(&child->report);
        }
    }
}

/* Reads what lies there. Not until the end of the pipes: a process that got away from the group
   may keep them open for ever, or never stop writing. */
static void drain(struct child *child)
{
    for (int i = 0; i < DRAIN_READS && read_pipe(child, &child->output, keep_output); i++) {
    }
    for (int i = 0; i < DRAIN_READS && read_pipe(child, &child->error, keep_tail); i++) {
    }
    read_report(child);
}

/* Waits for something to happen, and reads it. */
static void look(struct child *child, uint64_t wait_ms)
{
    struct pollfd sources[] = {
        {.fd = child->output, .events = POLLIN}, /* -1: not looked at */
        {.fd = child->error, .events = POLLIN},
        {.fd = child->report, .events = POLLIN},
        {.fd = child->handle, .events = POLLIN},
    };
    poll(sources, sizeof sources / sizeof *sources, wait_ms < POLL_MS ? (int)wait_ms : POLL_MS);
    read_pipe(child, &child->output, keep_output);
    read_pipe(child, &child->error, keep_tail);
    read_report(child);
}

/* ---- ending ---- */

/* Processes that did not die in time. They are our children: reaped when they do, later. */
static struct {
    pthread_mutex_t lock;
    pid_t ids[ABANDONED_MAX];
} abandoned = {.lock = PTHREAD_MUTEX_INITIALIZER};

static void reap_abandoned(pid_t add)
{
    pthread_mutex_lock(&abandoned.lock);
    for (size_t i = 0; i < ABANDONED_MAX; i++) {
        if (abandoned.ids[i] != 0 && waitpid(abandoned.ids[i], NULL, WNOHANG) != 0) {
            abandoned.ids[i] = 0;
        }
        if (abandoned.ids[i] == 0 && add != 0) {
            abandoned.ids[i] = add;
            add = 0;
        }
    }
    pthread_mutex_unlock(&abandoned.lock);
}

/* Did it end? It stays a zombie, so that its number, and its group's, belong to nobody else. */
static bool has_ended(struct child *child)
{
    siginfo_t info = {0};
    if (waitid(P_PID, (id_t)child->id, &info, WEXITED | WNOHANG | WNOWAIT) == 0) {
        return info.si_pid != 0;
    }
    child->taken = errno == ECHILD;
    return child->taken;
}

static bool is_cancelled(const struct os_process_spec *spec)
{
    return spec->cancel != NULL && atomic_load(spec->cancel);
}

/* Until the child ends by itself or has to be ended. */
static enum os_process_end watch(const struct os_process_spec *spec, struct child *child)
{
    for (;;) {
        if (has_ended(child)) {
            return OS_PROCESS_EXITED;
        }
        if (child->too_much) {
            return OS_PROCESS_TOO_MUCH_OUTPUT;
        }
        if (is_cancelled(spec)) {
            return OS_PROCESS_CANCELLED;
        }
        uint64_t used = now_ms() - child->started_ms;
        if (used >= spec->timeout_ms) {
            return OS_PROCESS_TIMED_OUT;
        }
        look(child, spec->timeout_ms - used);
    }
}

/* Kills the whole group: what ended too, for its children that are still there. SIGKILL at once:
   there is nothing a worker has to put in order, and a hanging one does not listen. */
static bool kill_and_wait(struct child *child)
{
    if (child->taken) {
        return true;
    }
    kill(-child->id, SIGKILL);
    kill(child->id, SIGKILL); /* should it have been too early for the group */
    uint64_t killed_ms = now_ms();
    while (!has_ended(child)) {
        if (now_ms() - killed_ms >= KILL_WAIT_MS) {
            return false;
        }
        look(child, POLL_MS);
    }
    return true;
}

static void set_status(struct os_process_result *result, int status)
{
    if (WIFSIGNALED(status)) {
        result->end = OS_PROCESS_CRASHED;
        result->code = (uint32_t)WTERMSIG(status);
    } else {
        result->end = OS_PROCESS_EXITED;
        result->code = (uint32_t)WEXITSTATUS(status);
    }
}

static void set_output(struct os_process_result *result, struct child *child)
{
    result->output_size = child->out.size;
    result->output = buf_take(&child->out);
    for (size_t i = 0; i < child->tail_size; i++) {
        result->error_tail[i] = child->tail[i] != '\0' ? child->tail[i] : ' ';
    }
}

static int finish(struct child *child, enum os_process_end end,
                  struct os_process_result *out_result, struct err *err)
{
    struct os_process_result result = {.end = end};
    result.unkillable = !kill_and_wait(child);
    drain(child);
    int status = 0;
    if (result.unkillable) {
        reap_abandoned(child->id);
    } else if (waitpid(child->id, &status, 0) != child->id) {
        return posix_fail(err, errno, "the end of process %ld was taken by somebody else",
                          (long)child->id);
    }
    result.duration_ms = now_ms() - child->started_ms;
    if (end == OS_PROCESS_EXITED) {
        set_status(&result, status);
        if (child->too_much) {
            result.end = OS_PROCESS_TOO_MUCH_OUTPUT;
            result.code = 0;
        }
    }
    set_output(&result, child);
    *out_result = result;
    return 0;
}

int os_process_run(const struct os_process_spec *spec, struct os_process_result *out_result,
                   struct err *err)
{
    CLEANUP(child_done)
    struct child child = {.handle = -1, .output = -1, .error = -1, .report = -1};
    buf_init(&child.out, spec->output_bytes);
    reap_abandoned(0);
    if (is_cancelled(spec)) {
        *out_result =
            (struct os_process_result){.end = OS_PROCESS_CANCELLED, .output = buf_take(&child.out)};
        return 0;
    }
    int code = start(spec, &child, err);
    if (code != 0) {
        return code;
    }
    struct os_process_result result = {0};
    code = finish(&child, watch(spec, &child), &result, err);
    if (code == 0 && child.start_error != 0) {
        os_process_result_done(&result);
        return posix_fail(err, child.start_error, "cannot start '%s'", spec->program);
    }
    if (code == 0) {
        *out_result = result;
    }
    return code;
}

void os_process_result_done(struct os_process_result *result)
{
    free(result->output);
    result->output = NULL;
    result->output_size = 0;
}

const char *os_process_end_text(const struct os_process_result *result, char *out_text, size_t size)
{
    const char *words = NULL;
    switch (result->end) {
    case OS_PROCESS_EXITED:
        snprintf(out_text, size, "exit status %u", result->code);
        break;
    case OS_PROCESS_CRASHED:
        words = sigdescr_np((int)result->code);
        snprintf(out_text, size, "signal %u (%s)", result->code, words != NULL ? words : "?");
        break;
    case OS_PROCESS_TIMED_OUT:
        snprintf(out_text, size, "no end after %llu ms", (unsigned long long)result->duration_ms);
        break;
    case OS_PROCESS_TOO_MUCH_OUTPUT:
        snprintf(out_text, size, "more than %zu bytes of output", result->output_size);
        break;
    case OS_PROCESS_CANCELLED:
        snprintf(out_text, size, "cancelled");
        break;
    }
    return out_text;
}

/* ---- this process ---- */

/* With 0, 1 or 2 closed, the next file opened would become what everybody prints to. */
static void fill_standard(void)
{
    int fd;
    do {
        fd = open("/dev/null", O_RDWR); /* stays open, for children too */
    } while (fd >= 0 && fd <= 2);
    posix_close(&fd);
}

void os_process_prepare(void)
{
    fill_standard();
    const struct rlimit no_core = {0, 0};
    setrlimit(RLIMIT_CORE, &no_core);
    signal(SIGPIPE, SIG_IGN);
    signal(SIGXFSZ, SIG_IGN); /* a file size limit is a failed write, not the end */
    signal(SIGCHLD, SIG_DFL); /* ignored by the parent, it would lose us how children end */
}

void os_process_drop_rights(void)
{
    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
}

int os_process_own_path(char *out_path, size_t size, struct err *err)
{
    static const char gone[] = " (deleted)"; /* proc_pid_exe(5): replaced by an update */
    char path[PATH_MAX];
    ssize_t length = readlink("/proc/self/exe", path, sizeof path - 1);
    if (length < 0) {
        return posix_fail(err, errno, "cannot find the own program");
    }
    path[length] = '\0';
    if (text_has_suffix(path, gone) && access(path, F_OK) != 0) {
        path[(size_t)length - strlen(gone)] = '\0';
    }
    if (!text_copy(out_path, size, path)) {
        return err_set(err, ERR_LIMIT, "the own program's path is longer than %zu bytes", size);
    }
    return 0;
}
