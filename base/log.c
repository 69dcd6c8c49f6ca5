#include "base/log.h"

#include <pthread.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>

#include "base/clock_text.h"

enum { LINE_BYTES = 2048 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static enum log_level threshold = LOG_LEVEL_INFO;
static log_sink *current_sink;
static void *current_context;

static const char *const level_names[] = {"error", "warning", "info", "debug"};

const char *log_level_name(enum log_level level)
{
    return level_names[level];
}

bool log_level_parse(const char *name, enum log_level *out_level)
{
    for (size_t i = 0; i < sizeof level_names / sizeof *level_names; i++) {
        if (strcmp(level_names[i], name) == 0) {
            *out_level = (enum log_level)i;
            return true;
        }
    }
    return false;
}

static void write_to_stderr(enum log_level level, const char *text)
{
    struct timespec now;
    char stamp[CLOCK_TEXT_SIZE] = "";
    if (clock_gettime(CLOCK_REALTIME, &now) == 0) {
        clock_text_format((int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000, stamp);
    }
    fprintf(stderr, "%s %s %s\n", stamp, level_names[level], text);
    fflush(stderr);
}

void log_set_level(enum log_level level)
{
    pthread_mutex_lock(&lock);
    threshold = level;
    pthread_mutex_unlock(&lock);
}

void log_set_sink(log_sink *sink, void *context)
{
    pthread_mutex_lock(&lock);
    current_sink = sink;
    current_context = context;
    pthread_mutex_unlock(&lock);
}

static void one_line(char *text)
{
    for (; *text != '\0'; text++) {
        if ((unsigned char)*text < 0x20 || *text == 0x7F) {
            *text = ' '; /* a file name must not be able to forge log lines */
        }
    }
}

static void write_line(enum log_level level, const char *format, va_list arguments)
    PRINTF_LIKE(2, 0);

static void write_line(enum log_level level, const char *format, va_list arguments)
{
    char text[LINE_BYTES];
    vsnprintf(text, sizeof text, format, arguments);
    one_line(text);
    pthread_mutex_lock(&lock);
    if (level <= threshold) {
        if (current_sink != NULL) {
            current_sink(current_context, level, text);
        } else {
            write_to_stderr(level, text);
        }
    }
    pthread_mutex_unlock(&lock);
}

#define LOG_FUNCTION(name, level)                                                                  \
    void name(const char *format, ...)                                                             \
    {                                                                                              \
        va_list arguments;                                                                         \
        va_start(arguments, format);                                                               \
        write_line(level, format, arguments);                                                      \
        va_end(arguments);                                                                         \
    }

LOG_FUNCTION(log_error, LOG_LEVEL_ERROR)
LOG_FUNCTION(log_warning, LOG_LEVEL_WARNING)
LOG_FUNCTION(log_info, LOG_LEVEL_INFO)
LOG_FUNCTION(log_debug, LOG_LEVEL_DEBUG)

void log_fatal(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    write_line(LOG_LEVEL_ERROR, format, arguments);
    va_end(arguments);
    abort();
}
