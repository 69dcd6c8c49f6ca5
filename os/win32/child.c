#include <stdatomic.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/log.h"
#include "base/text.h"
#include "os/clock.h"
#include "os/process.h"
#include "os/secure.h"
#include "os/win32/command_line.h"
#include "os/win32/native.h"
#include "os/win32/wide.h"

/* os_process_run. One thread waits for everything: the child, its two pipes (named ones, since
   anonymous pipes cannot be read without blocking), the deadline and the cancel flag. */

enum {
    TICK_MS = 40,        /* how often the cancel flag is looked at */
    KILL_WAIT_MS = 5000, /* a process stuck in a driver outlives its own end */
    DRAIN_MS = 2000,     /* for what is still in the pipes when the child is gone */
    PIPE_BYTES = 64 * 1024,
    READS_AT_ONCE = 16, /* a child that never stops writing must not keep the deadline waiting */
    KILL_CODE = 1,
};

struct pipe {
    HANDLE read, write; /* write: the child's end */
    OVERLAPPED state;   /* its event is signalled when there is something to collect */
    bool pending, open;
    char data[PIPE_BYTES];
};

struct child {
    const struct os_process_spec *spec;
    struct pipe output, error;
    HANDLE input, job, process, thread;
    struct buf text;
    char tail[OS_PROCESS_ERROR_TAIL];
    size_t tail_size;
    uint64_t started_ms;
    bool too_much;
};

static void pipe_done(struct pipe *pipe)
{
    if (pipe->pending) {
        /* The system writes into `data` until the read has ended. */
        DWORD ignored = 0;
        CancelIoEx(pipe->read, &pipe->state);
        GetOverlappedResult(pipe->read, &pipe->state, &ignored, TRUE);
    }
    native_close(&pipe->read);
    native_close(&pipe->write);
    native_close(&pipe->state.hEvent);
}

static void child_done(struct child **child_pointer)
{
    struct child *child = *child_pointer;
    if (child != NULL) {
        pipe_done(&child->output);
        pipe_done(&child->error);
        native_close(&child->input);
        native_close(&child->thread);
        native_close(&child->process);
        native_close(&child->job); /* last: whoever is left dies with it */
        buf_done(&child->text);
        free(child);
    }
}

/* --- starting --- */

static DWORD open_pipe(struct pipe *pipe)
{
    static atomic_uint counter;
    SECURITY_ATTRIBUTES inherited = {sizeof inherited, NULL, TRUE};
    wchar_t name[96]; /* unpredictable, so that nobody can be there first */
    uint32_t random[2];
    os_secure_random(random, sizeof random);
    swprintf(name, sizeof name / sizeof *name, L"\\\\.\\pipe\\cudnnd-%lx-%x-%08x%08x",
             (unsigned long)GetCurrentProcessId(), atomic_fetch_add(&counter, 1), random[0],
             random[1]);
    pipe->state.hEvent = CreateEventW(NULL, TRUE, FALSE, NULL);
    pipe->read = CreateNamedPipeW(
        name, PIPE_ACCESS_INBOUND | FILE_FLAG_OVERLAPPED | FILE_FLAG_FIRST_PIPE_INSTANCE,
        PIPE_TYPE_BYTE | PIPE_WAIT | PIPE_REJECT_REMOTE_CLIENTS, 1, 0, PIPE_BYTES, 0, NULL);
    if (pipe->state.hEvent == NULL || pipe->read == INVALID_HANDLE_VALUE) {
        return GetLastError();
    }
    pipe->write = CreateFileW(name, GENERIC_WRITE, 0, &inherited, OPEN_EXISTING, 0, NULL);
    if (pipe->write == INVALID_HANDLE_VALUE) {
        return GetLastError();
    }
    pipe->open = true;
    return 0;
}

static DWORD open_job(struct child *child)
{
    JOBOBJECT_EXTENDED_LIMIT_INFORMATION limits = {0};
    limits.BasicLimitInformation.LimitFlags =
        JOB_OBJECT_LIMIT_KILL_ON_JOB_CLOSE | JOB_OBJECT_LIMIT_DIE_ON_UNHANDLED_EXCEPTION;
    if (child->spec->memory_bytes != 0) {
        limits.BasicLimitInformation.LimitFlags |= JOB_OBJECT_LIMIT_PROCESS_MEMORY;
        limits.ProcessMemoryLimit = (SIZE_T)child->spec->memory_bytes;
    }
    child->job = CreateJobObjectW(NULL, NULL);
    if (child->job == NULL ||
        !SetInformationJobObject(child->job, JobObjectExtendedLimitInformation, &limits,
                                 sizeof limits)) {
        return GetLastError();
    }
    return 0;
}

static DWORD open_channels(struct child *child)
{
    SECURITY_ATTRIBUTES inherited = {sizeof inherited, NULL, TRUE};
    child->input = CreateFileW(L"NUL", GENERIC_READ, FILE_SHARE_READ | FILE_SHARE_WRITE, &inherited,
                               OPEN_EXISTING, 0, NULL);
    if (child->input == INVALID_HANDLE_VALUE) {
        return GetLastError();
    }
    DWORD error = open_pipe(&child->output);
    if (error == 0) {
        error = open_pipe(&child->error);
    }
    return error == 0 ? open_job(child) : error;
}

/* The three standard handles and no other that happens to be inheritable. */
static LPPROC_THREAD_ATTRIBUTE_LIST handle_list(struct arena *arena, HANDLE *handles)
{
    SIZE_T size = 0;
    InitializeProcThreadAttributeList(NULL, 1, 0, &size);
    LPPROC_THREAD_ATTRIBUTE_LIST list = arena_alloc(arena, size);
    if (!InitializeProcThreadAttributeList(list, 1, 0, &size) ||
        !UpdateProcThreadAttribute(list, 0, PROC_THREAD_ATTRIBUTE_HANDLE_LIST, handles,
                                   3 * sizeof *handles, NULL, NULL)) {
        return NULL;
    }
    return list;
}

static DWORD create(struct child *child, struct arena *arena, const wchar_t *program,
                    wchar_t *command_line, wchar_t *environment)
{
    HANDLE *handles = arena_alloc(arena, 3 * sizeof *handles);
    handles[0] = child->input;
    handles[1] = child->output.write;
    handles[2] = child->error.write;
    STARTUPINFOEXW startup = {
        .StartupInfo = {.cb = sizeof startup,
                        .dwFlags = STARTF_USESTDHANDLES,
                        .hStdInput = handles[0],
                        .hStdOutput = handles[1],
                        .hStdError = handles[2]},
        .lpAttributeList = handle_list(arena, handles),
    };
    if (startup.lpAttributeList == NULL) {
        return GetLastError();
    }
    DWORD flags = CREATE_SUSPENDED | CREATE_NO_WINDOW | CREATE_UNICODE_ENVIRONMENT |
                  EXTENDED_STARTUPINFO_PRESENT |
                  (child->spec->background ? BELOW_NORMAL_PRIORITY_CLASS : 0u);
    PROCESS_INFORMATION made;
    BOOL ok = CreateProcessW(program, command_line, NULL, NULL, TRUE, flags, environment, NULL,
                             &startup.StartupInfo, &made);
    DWORD error = ok ? 0 : GetLastError();
    DeleteProcThreadAttributeList(startup.lpAttributeList);
    if (ok) {
        child->process = made.hProcess;
        child->thread = made.hThread;
    }
    return error;
}

/* Disk accesses behind everybody else's. There is no documented call that does this to another
   process; without it the child is merely less polite. */
static void lower_io_priority(HANDLE process)
{
    typedef LONG NTAPI set_function(HANDLE, ULONG, PVOID, ULONG);
    set_function *set = (set_function *)native_find(L"ntdll.dll", "NtSetInformationProcess");
    ULONG low = 1;                /* IoPriorityLow */
    const ULONG io_priority = 33; /* ProcessIoPriority */
    if (set != NULL) {
        set(process, io_priority, &low, sizeof low);
    }
}

/* Into the job before its first instruction, so that nothing it starts can be outside. */
static DWORD release(struct child *child)
{
    if (!AssignProcessToJobObject(child->job, child->process)) {
        DWORD error = GetLastError();
        TerminateProcess(child->process, KILL_CODE);
        return error;
    }
    if (child->spec->background) {
        lower_io_priority(child->process);
    }
    if (ResumeThread(child->thread) == (DWORD)-1) {
        return GetLastError();
    }
    /* Only the child keeps its ends: then their closing means that it is gone. */
    native_close(&child->output.write);
    native_close(&child->error.write);
    native_close(&child->input);
    return 0;
}

static int start(struct child *child, struct err *err)
{
    struct arena scratch CLEANUP(arena_done) = {0};
    const struct os_process_spec *spec = child->spec;
    if (text_has_suffix_nocase(spec->program, ".bat") ||
        text_has_suffix_nocase(spec->program, ".cmd")) {
        /* cmd.exe would take the arguments apart by rules of its own. */
        return err_set(err, ERR_UNSUPPORTED, "a batch file is not run");
    }
    wchar_t *program = wide_path(&scratch, spec->program, err);
    wchar_t *line =
        program == NULL ? NULL : command_line_build(&scratch, spec->program, spec->arguments, err);
    wchar_t *environment =
        line == NULL ? NULL : command_line_environment(&scratch, spec->unset, spec->set, err);
    if (environment == NULL) {
        return err->code;
    }
    DWORD error = open_channels(child);
    if (error == 0) {
        error = create(child, &scratch, wide_path_plain(&scratch, program), line, environment);
    }
    if (error == 0) {
        error = release(child);
    }
    return error == 0 ? 0 : wide_error(err, error, "the system starts no process");
}

/* --- listening --- */

static void keep_tail(struct child *child, const char *data, size_t size)
{
    const size_t room = sizeof child->tail - 1;
    if (size > room) {
        data += size - room;
        size = room;
    }
    size_t keep = child->tail_size + size > room ? room - size : child->tail_size;
    memmove(child->tail, child->tail + child->tail_size - keep, keep);
    memcpy(child->tail + keep, data, size);
    child->tail_size = keep + size;
}

static void keep_output(struct child *child, const char *data, size_t size)
{
    size_t room = child->text.ceiling - child->text.size;
    if (size > room) {
        child->too_much = true;
        size = room;
    }
    if (buf_add(&child->text, data, size, NULL) != 0) {
        child->too_much = true;
    }
}

/* Takes what has arrived and asks for more, until nothing is there. */
static void collect(struct child *child, struct pipe *pipe)
{
    for (int reads = 0; pipe->open && reads < READS_AT_ONCE; reads++) {
        DWORD got = 0;
        if (!pipe->pending) {
            ResetEvent(pipe->state.hEvent);
            pipe->pending = true;
            if (!ReadFile(pipe->read, pipe->data, PIPE_BYTES, NULL, &pipe->state) &&
                GetLastError() != ERROR_IO_PENDING) {
                pipe->pending = pipe->open = false; /* ERROR_BROKEN_PIPE: the other end is gone */
                return;
            }
        }
        if (!GetOverlappedResult(pipe->read, &pipe->state, &got, FALSE)) {
            if (GetLastError() != ERROR_IO_INCOMPLETE) {
                pipe->pending = pipe->open = false;
            }
            return;
        }
        pipe->pending = false;
        if (pipe == &child->output) {
            keep_output(child, pipe->data, got);
            if (child->too_much) {
                return;
            }
        } else {
            keep_tail(child, pipe->data, got);
        }
    }
}

/* Waits until something happens, at most `wait_ms`. */
static void wait_for_news(const struct child *child, bool with_process, uint64_t wait_ms)
{
    HANDLE handles[3];
    DWORD count = 0;
    if (with_process) {
        handles[count++] = child->process;
    }
    if (child->output.open) {
        handles[count++] = child->output.state.hEvent;
    }
    if (child->error.open) {
        handles[count++] = child->error.state.hEvent;
    }
    WaitForMultipleObjects(count, handles, FALSE, (DWORD)wait_ms);
}

static bool has_ended(const struct child *child)
{
    return WaitForSingleObject(child->process, 0) == WAIT_OBJECT_0;
}

static enum os_process_end watch(struct child *child)
{
    const struct os_process_spec *spec = child->spec;
    for (;;) {
        bool ended = has_ended(child); /* asked first: what it wrote before is in the pipes then */
        collect(child, &child->output);
        collect(child, &child->error);
        uint64_t passed_ms = os_clock_steady_ms() - child->started_ms;
        if (child->too_much) {
            return OS_PROCESS_TOO_MUCH_OUTPUT;
        }
        if (ended) {
            return OS_PROCESS_EXITED;
        }
        if (spec->cancel != NULL && atomic_load(spec->cancel)) {
            return OS_PROCESS_CANCELLED;
        }
        if (passed_ms >= spec->timeout_ms) {
            return OS_PROCESS_TIMED_OUT;
        }
        uint64_t left_ms = spec->timeout_ms - passed_ms;
        wait_for_news(child, true, left_ms < TICK_MS ? left_ms : TICK_MS);
    }
}

/* --- ending --- */

/* What it started may still hold the pipes; the job ends that, then they close by themselves. */
static void drain(struct child *child)
{
    uint64_t until_ms = os_clock_steady_ms() + DRAIN_MS;
    for (;;) {
        collect(child, &child->output);
        collect(child, &child->error);
        bool open = child->output.open || child->error.open;
        if (!open || child->too_much || os_clock_steady_ms() >= until_ms) {
            return;
        }
        wait_for_news(child, false, TICK_MS);
    }
}

/* NTSTATUS codes of severity "error". Small negative exit codes look like them and are not. */
static bool is_exception(DWORD code)
{
    return (code >= 0xC0000000 && code < 0xFFFF0000) || code == (DWORD)STATUS_BREAKPOINT;
}

static void fill_result(struct child *child, enum os_process_end end,
                        struct os_process_result *out_result)
{
    DWORD code = 0;
    TerminateJobObject(child->job, KILL_CODE);
    bool dead = WaitForSingleObject(child->process, KILL_WAIT_MS) == WAIT_OBJECT_0;
    if (dead && end == OS_PROCESS_EXITED) {
        drain(child);
        GetExitCodeProcess(child->process, &code);
        end = child->too_much      ? OS_PROCESS_TOO_MUCH_OUTPUT
              : is_exception(code) ? OS_PROCESS_CRASHED
                                   : OS_PROCESS_EXITED;
    }
    *out_result = (struct os_process_result){
        .end = end,
        .code = code,
        .output_size = child->text.size,
        .duration_ms = os_clock_steady_ms() - child->started_ms,
        .unkillable = !dead,
    };
    out_result->output = buf_take(&child->text);
    memcpy(out_result->error_tail, child->tail, child->tail_size);
}

int os_process_run(const struct os_process_spec *spec, struct os_process_result *out_result,
                   struct err *err)
{
    struct err own_err = {0};
    err = wide_reason(err, &own_err);
    struct child *child CLEANUP(child_done) = calloc(1, sizeof *child);
    if (child == NULL) {
        log_fatal("out of memory while starting %s", spec->program);
    }
    child->spec = spec;
    child->started_ms = os_clock_steady_ms();
    buf_init(&child->text, spec->output_bytes);
    if (start(child, err) != 0) {
        return err_context(err, "cannot start %s", spec->program);
    }
    fill_result(child, watch(child), out_result);
    return 0;
}

void os_process_result_done(struct os_process_result *result)
{
    free(result->output);
    result->output = NULL;
    result->output_size = 0;
}
