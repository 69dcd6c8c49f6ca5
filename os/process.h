#ifndef OS_PROCESS_H
#define OS_PROCESS_H

/* Runs a child process that may hang, crash, shout or eat memory, and answers what became of it.
   The child gets no inherited handles but its three standard ones (stdin is empty), dies with its
   parent, and can be cancelled. Windows: a job object with kill-on-close and a memory limit;
   POSIX: its own process group, RLIMIT_DATA (not RLIMIT_AS: CUDA reserves far more address space
   than it uses), a parent-death signal, no core dump, no new privileges.
   Every way the child can end is data in the result; only failing to start one is an error. */

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

struct os_process_spec {
    const char *program;          /* full path, UTF-8 */
    const char *const *arguments; /* without the program's name, NULL-terminated */
    const char *const *unset;     /* environment variables the child must not see, or NULL;
                                      "LD_*" means every variable with that prefix */
    const char *const *set;       /* "NAME=value", NULL-terminated, or NULL */
    uint64_t timeout_ms;
    uint64_t memory_bytes;     /* 0 = no limit */
    size_t output_bytes;       /* ceiling for stdout; more ends the child */
    bool background;           /* at low CPU and I/O priority */
    const atomic_bool *cancel; /* looked at at least every 50 ms; NULL = never */
};

enum os_process_end {
    OS_PROCESS_EXITED,  /* code = exit status */
    OS_PROCESS_CRASHED, /* code = signal number or NTSTATUS */
    OS_PROCESS_TIMED_OUT,
    OS_PROCESS_TOO_MUCH_OUTPUT,
    OS_PROCESS_CANCELLED,
};

enum { OS_PROCESS_ERROR_TAIL = 4096 };

struct os_process_result {
    enum os_process_end end;
    uint32_t code;
    char *output; /* stdout, NUL-terminated; os_process_result_done() frees it */
    size_t output_size;
    char error_tail[OS_PROCESS_ERROR_TAIL]; /* the last bytes of stderr, NUL-terminated */
    uint64_t duration_ms;
    bool unkillable; /* still alive some seconds after being killed (stuck in a driver) */
};

int os_process_run(const struct os_process_spec *spec, struct os_process_result *out_result,
                   struct err *err);
void os_process_result_done(struct os_process_result *result);

/* In words: "exit status 3", "signal 11 (Segmentation fault)", "exception 0xC0000005 (access
   violation)". Buffer of at least 96 bytes; returns it. */
const char *os_process_end_text(const struct os_process_result *result, char *out_text,
                                size_t size);

/* First line of every program: system-only DLL search, no error boxes, UTF-8 console (Windows);
   no core dumps of vendor memory, SIGPIPE ignored (POSIX). */
void os_process_prepare(void);

/* Drops what rights the calling process can drop for good (worker only): no new privileges;
   Windows: removes every privilege of the token but the one to walk through directories. Never
   fails loudly. */
void os_process_drop_rights(void);

/* Full path of the running program's file. */
int os_process_own_path(char *out_path, size_t size, struct err *err);

struct os_process_usage {
    uint64_t resident_bytes, virtual_bytes, open_handles, threads;
    double cpu_seconds;
    int64_t started_at_ms; /* Unix time */
};

/* Unknown fields are 0. */
void os_process_usage(struct os_process_usage *out_usage);

#endif
