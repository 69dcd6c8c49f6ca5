#ifndef OS_WIN32_COMMAND_LINE_H
#define OS_WIN32_COMMAND_LINE_H

/* What CreateProcessW wants of a child: one command line, quoted as CommandLineToArgvW and the C
   runtimes take it apart, and one block of environment variables. Internal to os/win32. */

#include <wchar.h>

#include "base/arena.h"
#include "base/err.h"

/* `program` is the first word, `arguments` (NULL-terminated, or NULL) follow. ERR_LIMIT beyond what
   Windows takes. NULL on error. */
wchar_t *command_line_build(struct arena *arena, const char *program, const char *const *arguments,
                            struct err *err);

/* This process's variables without `unset` ("NAME", "PREFIX*"), with `set` ("NAME=value"), sorted
   as Windows wants them. Either list may be NULL. Names ignore case. NULL on error. */
wchar_t *command_line_environment(struct arena *arena, const char *const *unset,
                                  const char *const *set, struct err *err);

#endif
