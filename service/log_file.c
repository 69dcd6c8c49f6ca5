#include "service/log_file.h"

#include <errno.h>
#include <stdio.h>

#include "base/clock_text.h"
#include "base/log.h"
#include "base/text.h"
#include "os/clock.h"
#include "os/file.h"

/* base/log calls the sink under its own lock: no other one is needed for what the sink uses. */
static struct {
    FILE *stream;
    char path[4096];
    long long size;
} file;

static void rotate(void)
{
    char old[sizeof file.path + 2];
    snprintf(old, sizeof old, "%s.1", file.path);
    fclose(file.stream);
    os_file_rename(file.path, old, NULL);
    file.stream = fopen(file.path, "ab");
    file.size = 0;
}

static void write_line(void *context, enum log_level level, const char *text)
{
    (void)context;
    char stamp[CLOCK_TEXT_SIZE];
    clock_text_format(os_clock_wall_ms(), stamp);
    fprintf(stderr, "%s %s %s\n", stamp, log_level_name(level), text);
    if (file.size > LOG_FILE_BYTES && file.stream != NULL) {
        rotate();
    }
    if (file.stream != NULL) {
        int written = fprintf(file.stream, "%s %s %s\n", stamp, log_level_name(level), text);
        fflush(file.stream);
        file.size += written > 0 ? written : 0;
    }
}

int log_file_use(const char *path, struct err *err)
{
    log_set_sink(NULL, NULL);
    if (file.stream != NULL) {
        fclose(file.stream);
        file.stream = NULL;
    }
    if (path == NULL) {
        return 0;
    }
    if (!text_copy(file.path, sizeof file.path, path)) {
        return err_set(err, ERR_LIMIT, "the path of log.file is too long");
    }
    file.stream = fopen(path, "ab");
    if (file.stream == NULL) {
        return err_set(err, ERR_IO, "cannot write the log file '%s': %s", path, strerror(errno));
    }
    struct os_file_info info;
    file.size = os_file_stat(path, &info, NULL) == 0 ? (long long)info.size_bytes : 0;
    log_set_sink(write_line, NULL);
    return 0;
}
