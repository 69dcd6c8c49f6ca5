#ifndef SERVICE_LOG_FILE_H
#define SERVICE_LOG_FILE_H

/* Log lines into a file as well as to standard error: option log.file. Appends, one write a line;
   a file over LOG_FILE_BYTES is renamed to `<file>.1` first, so the two together stay bounded. */

#include "base/err.h"

enum { LOG_FILE_BYTES = 16 * 1024 * 1024 };

/* NULL ends it. On failure the lines go to standard error alone. */
int log_file_use(const char *path, struct err *err);

#endif
