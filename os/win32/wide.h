#ifndef OS_WIN32_WIDE_H
#define OS_WIN32_WIDE_H

/* UTF-8 inside, UTF-16 outside: texts, paths and error codes of Windows' calls. Strict in both
   directions: ill-formed text is an error, never replaced. A lone surrogate, which a file name may
   hold, is three bytes (WTF-8, https://simonsapin.github.io/wtf-8/) and comes back the same.
   Results live in the caller's arena. For os/win32 and *_win32.c only. */

#include <stddef.h>
#include <windows.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/printf.h"
#include "base/printf.h"

/* NULL and ERR_FORMAT when the text is not well formed. */
wchar_t *wide_from_text(struct arena *arena, const char *text, struct err *err);
char *wide_to_text(struct arena *arena, const wchar_t *wide);
char *wide_to_text_n(struct arena *arena, const wchar_t *wide, size_t length);
wchar_t *wide_join(struct arena *arena, const wchar_t *a, const wchar_t *b); /* plain, no '\\' */

/* The path as Windows' calls get it here: absolute, backslashes, no "." and "..", and with `\\?\`
   in front, so that neither its length nor a name like "aux", "nul." or "x " is special: such a
   name is a file or nothing, never a device. Device paths (`\\.\COM1`, `\\host\pipe\x`) are
   refused with ERR_UNSUPPORTED. NULL on error. */
wchar_t *wide_path(struct arena *arena, const char *path, struct err *err);
/* The way back: without `\\?\` and `\\?\UNC\`, but for a volume that has no other name. */
char *wide_path_to_text(struct arena *arena, const wchar_t *path);
/* For the few calls that dislike `\\?\`: without it when the path is short enough to do without. */
const wchar_t *wide_path_plain(struct arena *arena, const wchar_t *path);

/* GetLastError() -> ERR_*, and the whole report: "context: Windows' words (error 5)". Take the
   error code before anything else is called. Returns the ERR_* code. */
int wide_error_code(DWORD error);
int wide_error(struct err *err, DWORD error, const char *format, ...) PRINTF_LIKE(3, 4);
/* `own` when the caller does not want the reason: err_context() needs one for the code alone. */
static inline struct err *wide_reason(struct err *wanted, struct err *own)
{
    return wanted != NULL ? wanted : own;
}
/* Windows' words for a code, one line, no final dot; NULL when it has none. */
const char *wide_error_text(struct arena *arena, DWORD error);

#endif
