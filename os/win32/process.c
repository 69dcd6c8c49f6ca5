#include "os/process.h"

#include "base/cleanup.h"
#include "base/text.h"
#include "os/win32/native.h"
#include "os/win32/wide.h"

#include <psapi.h> /* these two need windows.h before them */
#include <winternl.h>

/* From <io.h> and <fcntl.h>, whose inline functions use what base/banned.h forbids. */
__declspec(dllimport) int _setmode(int descriptor, int mode);
enum { BINARY_MODE = 0x8000, STDOUT_DESCRIPTOR = 1, STDERR_DESCRIPTOR = 2 };

/* --- the beginning of every program --- */

/* The same bytes on both systems: no carriage returns, UTF-8. Standard output is buffered even on a
   console, since the C library would hand over a character's bytes one by one; who wants a line to
   be seen at once flushes, as for a pipe. */
static void prepare_streams(void)
{
    _setmode(STDOUT_DESCRIPTOR, BINARY_MODE);
    _setmode(STDERR_DESCRIPTOR, BINARY_MODE);
    setvbuf(stdout, NULL, _IOFBF, 8192);
    SetConsoleOutputCP(CP_UTF8);
}

void os_process_prepare(void)
{
    SetDefaultDllDirectories(LOAD_LIBRARY_SEARCH_SYSTEM32);
    SetDllDirectoryW(L""); /* for old-style loads: not the current directory */
    HeapSetInformation(NULL, HeapEnableTerminationOnCorruption, NULL, 0);
    SetErrorMode(SEM_FAILCRITICALERRORS | SEM_NOGPFAULTERRORBOX | SEM_NOOPENFILEERRORBOX);
    _set_error_mode(_OUT_TO_STDERR);
    prepare_streams();
}

/* --- what it may do --- */

static TOKEN_PRIVILEGES *read_privileges(struct arena *arena, HANDLE token)
{
    DWORD size = 0;
    GetTokenInformation(token, TokenPrivileges, NULL, 0, &size);
    if (size == 0) {
        return NULL;
    }
    TOKEN_PRIVILEGES *privileges = arena_alloc(arena, size);
    return GetTokenInformation(token, TokenPrivileges, privileges, size, &size) ? privileges : NULL;
}

void os_process_drop_rights(void)
{
    struct arena scratch CLEANUP(arena_done) = {0};
    HANDLE token CLEANUP(native_close) = NULL;
    LUID walk = {0};
    if (!OpenProcessToken(GetCurrentProcess(), TOKEN_QUERY | TOKEN_ADJUST_PRIVILEGES, &token)) {
        return;
    }
    TOKEN_PRIVILEGES *privileges = read_privileges(&scratch, token);
    bool known = LookupPrivilegeValueW(NULL, SE_CHANGE_NOTIFY_NAME, &walk);
    for (DWORD i = 0; privileges != NULL && i < privileges->PrivilegeCount; i++) {
        LUID_AND_ATTRIBUTES *one = &privileges->Privileges[i];
        /* The right to walk through directories stays: every account has it, and without it files
           whose own list lets us in could not be reached. */
        bool keep =
            known && one->Luid.LowPart == walk.LowPart && one->Luid.HighPart == walk.HighPart;
        if (!keep) {
            one->Attributes = SE_PRIVILEGE_REMOVED;
        }
    }
    if (privileges != NULL) {
        AdjustTokenPrivileges(token, FALSE, privileges, 0, NULL, NULL);
    }
}

/* --- what it is --- */

int os_process_own_path(char *out_path, size_t size, struct err *err)
{
    enum { PATH_UNITS = 32768 }; /* the longest path Windows has */
    struct arena scratch CLEANUP(arena_done) = {0};
    wchar_t *wide = arena_alloc(&scratch, PATH_UNITS * sizeof *wide);
    DWORD length = GetModuleFileNameW(NULL, wide, PATH_UNITS);
    if (length == 0 || length == PATH_UNITS) {
        return wide_error(err, GetLastError(), "cannot find the program's own file");
    }
    const char *path = wide_path_to_text(&scratch, wide);
    if (strlen(path) >= size) {
        return err_set(err, ERR_LIMIT, "the program's own path is longer than %llu bytes",
                       (unsigned long long)size);
    }
    text_copy(out_path, size, path);
    return 0;
}

/* The system's own list of processes, one behind the other (NtQuerySystemInformation, the fields
   that winternl.h names). NULL when it cannot be had. GetProcessHandleCount() and the tool help
   library would be two calls, and the former always answers 0 under Wine. */
static const SYSTEM_PROCESS_INFORMATION *own_entry(struct arena *arena)
{
    typedef LONG NTAPI query_function(ULONG, PVOID, ULONG, PULONG);
    query_function *query = (query_function *)native_find(L"ntdll.dll", "NtQuerySystemInformation");
    const LONG too_small = (LONG)0xC0000004; /* STATUS_INFO_LENGTH_MISMATCH */
    ULONG size = 1 << 18, wanted = 0;
    unsigned char *list = arena_alloc(arena, size);
    while (query != NULL && query(SystemProcessInformation, list, size, &wanted) == too_small) {
        if (size >= 1 << 26) {
            return NULL;
        }
        size *= 2;
        list = arena_alloc(arena, size);
    }
    for (;;) {
        const SYSTEM_PROCESS_INFORMATION *entry = (const void *)list;
        if ((uintptr_t)entry->UniqueProcessId == GetCurrentProcessId()) {
            return entry;
        }
        if (entry->NextEntryOffset == 0) {
            return NULL;
        }
        list += entry->NextEntryOffset;
    }
}

void os_process_usage(struct os_process_usage *out_usage)
{
    HANDLE own = GetCurrentProcess();
    PROCESS_MEMORY_COUNTERS memory = {.cb = sizeof memory};
    FILETIME started, ended, kernel, user;
    struct arena scratch CLEANUP(arena_done) = {0};
    const SYSTEM_PROCESS_INFORMATION *entry = own_entry(&scratch);
    *out_usage = (struct os_process_usage){0};
    if (entry != NULL) {
        out_usage->threads = entry->NumberOfThreads;
        out_usage->open_handles = entry->HandleCount;
    }
    if (GetProcessMemoryInfo(own, &memory, sizeof memory)) {
        out_usage->resident_bytes = memory.WorkingSetSize;
        out_usage->virtual_bytes = memory.PagefileUsage; /* committed: what can run out */
    }
    if (GetProcessTimes(own, &started, &ended, &kernel, &user)) {
        uint64_t busy = native_join(kernel.dwHighDateTime, kernel.dwLowDateTime) +
                        native_join(user.dwHighDateTime, user.dwLowDateTime);
        out_usage->cpu_seconds = (double)busy / 1e7;
        out_usage->started_at_ms = native_unix_ms(started);
    }
}

/* --- how a child ended, in words --- */

static const struct {
    uint32_t code;
    const char *words;
} exceptions[] = {
    {0x80000003, "breakpoint"},
    {0xC0000005, "access violation"},
    {0xC0000006, "a page of a file could not be read"},
    {0xC0000017, "out of memory"},
    {0xC000001D, "illegal instruction"},
    {0xC000007B, "a library is of the wrong architecture"},
    {0xC0000094, "integer division by zero"},
    {0xC0000096, "privileged instruction"},
    {0xC00000FD, "stack overflow"},
    {0xC000012D, "out of paging file"},
    {0xC0000135, "a library it needs is missing"},
    {0xC0000138, "an entry point in a library is missing"},
    {0xC0000139, "an entry point in a library is missing"},
    {0xC000013A, "stopped by Ctrl+C"},
    {0xC0000142, "a library could not be initialised"},
    {0xC0000374, "heap corruption"},
    {0xC0000409, "the program ended itself: fail fast"},
    {0xC0000420, "assertion failure"},
    {0xC06D007E, "a delay-loaded library is missing"},
    {0xC06D007F, "a delay-loaded function is missing"},
    {0xE06D7363, "C++ exception"},
};

static const char *exception_words(uint32_t code)
{
    for (size_t i = 0; i < sizeof exceptions / sizeof *exceptions; i++) {
        if (exceptions[i].code == code) {
            return exceptions[i].words;
        }
    }
    return "unknown";
}

const char *os_process_end_text(const struct os_process_result *result, char *out_text, size_t size)
{
    switch (result->end) {
    case OS_PROCESS_EXITED:
        snprintf(out_text, size, "exit status %u", (unsigned)result->code);
        break;
    case OS_PROCESS_CRASHED:
        snprintf(out_text, size, "exception 0x%08X (%s)", (unsigned)result->code,
                 exception_words(result->code));
        break;
    case OS_PROCESS_TIMED_OUT:
        snprintf(out_text, size, "no answer within %llu ms",
                 (unsigned long long)result->duration_ms);
        break;
    case OS_PROCESS_TOO_MUCH_OUTPUT:
        snprintf(out_text, size, "too much output");
        break;
    case OS_PROCESS_CANCELLED:
        snprintf(out_text, size, "cancelled");
        break;
    default:
        snprintf(out_text, size, "unknown end");
        break;
    }
    return out_text;
}
