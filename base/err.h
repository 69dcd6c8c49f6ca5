#ifndef BASE_ERR_H
#define BASE_ERR_H

/* Errors as values. A function that can fail returns 0 or a negative ERR_* and fills the
   caller's struct err, which lives on the caller's stack. Outputs are written only on success.
   On the way up `err_context` puts what was being done in front of what went wrong.
   Nothing here logs: an error is logged once, at the edge (service loop, handler, command). */

#include "base/printf.h"

/* One row a code: the name in C, its value, and the stable name used in JSON and logs. */
#define ERR_LIST(X)                                                                                \
    X(ERR_IO, -1, "io")                                                                            \
    X(ERR_NOT_FOUND, -2, "not_found")                                                              \
    X(ERR_PERMISSION, -3, "permission")                                                            \
    X(ERR_FORMAT, -4, "format")                                                                    \
    X(ERR_LIMIT, -5, "limit")                                                                      \
    X(ERR_TIMEOUT, -6, "timeout")                                                                  \
    X(ERR_BUSY, -7, "busy")                                                                        \
    X(ERR_USAGE, -8, "usage")                                                                      \
    X(ERR_CONFIG, -9, "config")                                                                    \
    X(ERR_EXISTS, -10, "exists")                                                                   \
    X(ERR_UNSUPPORTED, -11, "unsupported")                                                         \
    X(ERR_CORRUPT, -12, "corrupt")                                                                 \
    X(ERR_CANCELLED, -13, "cancelled")                                                             \
    X(ERR_INTERNAL, -14, "internal")

enum err_code {
#define ERR_ENUM(name, value, text) name = value,
    ERR_LIST(ERR_ENUM)
#undef ERR_ENUM
};

struct err {
    int code;          /* 0 or ERR_* */
    char message[512]; /* UTF-8, one line, no final dot; cut with "..." when longer */
};

/* Sets code and message, returns code. err may be NULL (the caller does not care why). */
int err_set(struct err *err, int code, const char *format, ...) PRINTF_LIKE(3, 4);

/* Puts "context: " before the message, returns err->code (ERR_INTERNAL when err is NULL). */
int err_context(struct err *err, const char *format, ...) PRINTF_LIKE(2, 3);

/* The stable name of a code ("io", "not_found"), "ok" for 0, "unknown" for anything else. */
const char *err_name(int code);

#endif
