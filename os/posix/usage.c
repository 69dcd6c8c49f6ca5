#include "os/process.h"

#include <sys/resource.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "os/clock.h"
#include "os/file.h"

enum { FILE_LIMIT = 4096, DESCRIPTOR_LIMIT = 1024 * 1024 };

/* proc_pid_stat(5): fields counted from 1, here from the third on, behind "pid (name) ". */
enum { FIELD_FIRST = 3, FIELD_THREADS = 20, FIELD_START = 22 };

static char *read_text(struct arena *arena, const char *path)
{
    char *text;
    size_t size;
    return os_file_read(arena, path, FILE_LIMIT, &text, &size, NULL) == 0 ? text : NULL;
}

static void read_memory(struct arena *arena, struct os_process_usage *usage)
{
    const char *text = read_text(arena, "/proc/self/statm");
    long page = sysconf(_SC_PAGESIZE);
    if (text != NULL && page > 0) { /* total and resident pages */
        char *rest;
        usage->virtual_bytes = strtoull(text, &rest, 10) * (unsigned long)page;
        usage->resident_bytes = strtoull(rest, NULL, 10) * (unsigned long)page;
    }
}

static void read_stat(struct arena *arena, struct os_process_usage *usage)
{
    const char *text = read_text(arena, "/proc/self/stat");
    text = text != NULL ? strrchr(text, ')') : NULL; /* the name may hold blanks and ) */
    long ticks = sysconf(_SC_CLK_TCK);
    if (text == NULL || ticks <= 0) {
        return;
    }
    text++;
    for (int field = FIELD_FIRST; *text != '\0' && field <= FIELD_START; field++) {
        text += strspn(text, " ");
        if (field == FIELD_THREADS) {
            usage->threads = strtoull(text, NULL, 10);
        } else if (field == FIELD_START) {
            uint64_t age_ms =
                os_clock_steady_ms() - strtoull(text, NULL, 10) * 1000 / (unsigned long)ticks;
            usage->started_at_ms = os_clock_wall_ms() - (int64_t)age_ms;
        }
        text += strcspn(text, " ");
    }
}

static double seconds(struct timeval time)
{
    return (double)time.tv_sec + (double)time.tv_usec / 1e6;
}

void os_process_usage(struct os_process_usage *out_usage)
{
    CLEANUP(arena_done) struct arena arena = {0};
    *out_usage = (struct os_process_usage){0};
    read_memory(&arena, out_usage);
    read_stat(&arena, out_usage);
    struct os_dir_list list;
    if (os_dir_read(&arena, "/proc/self/fd", DESCRIPTOR_LIMIT, &list, NULL) == 0) {
        out_usage->open_handles = list.count - 1; /* without the one that was used to look */
    }
    struct rusage usage;
    if (getrusage(RUSAGE_SELF, &usage) == 0) {
        out_usage->cpu_seconds = seconds(usage.ru_utime) + seconds(usage.ru_stime);
    }
}
