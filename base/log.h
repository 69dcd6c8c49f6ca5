#ifndef BASE_LOG_H
#define BASE_LOG_H

/* Log lines: a level, a text, one sink. Thread-safe. The default sink writes
   `2026-01-31T12:00:00Z level text` to standard error. Errors are logged once, at the edge. */

#include <stdbool.h>

#include "base/printf.h"

enum log_level { LOG_LEVEL_ERROR, LOG_LEVEL_WARNING, LOG_LEVEL_INFO, LOG_LEVEL_DEBUG };

/* Receives every line at or above the level; text is one line of UTF-8, valid during the call.
   Must not log itself. */
typedef void log_sink(void *context, enum log_level level, const char *text);

void log_set_level(enum log_level level);
void log_set_sink(log_sink *sink, void *context);                  /* NULL: the default sink */
bool log_level_parse(const char *name, enum log_level *out_level); /* error warning info debug */
const char *log_level_name(enum log_level level);

void log_error(const char *format, ...) PRINTF_LIKE(1, 2);
void log_warning(const char *format, ...) PRINTF_LIKE(1, 2);
void log_info(const char *format, ...) PRINTF_LIKE(1, 2);
void log_debug(const char *format, ...) PRINTF_LIKE(1, 2);

/* Logs and aborts: for what cannot be gone on from (memory, broken invariants). */
_Noreturn void log_fatal(const char *format, ...) PRINTF_LIKE(1, 2);

#endif
