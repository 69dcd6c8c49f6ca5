#ifndef BASE_BUF_H
#define BASE_BUF_H

/* A growing byte buffer on the heap, born with its ceiling: reaching it is an ordinary error and
   leaves what was there. Always NUL-terminated behind `size`, so `data` may be read as text. */

#include <stdarg.h>
#include <stddef.h>

#include "base/err.h"
#include "base/printf.h"

struct buf {
    char *data;  /* NULL until something was added */
    size_t size; /* bytes in use, without the final NUL */
    size_t capacity;
    size_t ceiling; /* the most `size` may become */
};

void buf_init(struct buf *buf, size_t ceiling);
void buf_done(struct buf *buf);

int buf_add(struct buf *buf, const void *data, size_t size, struct err *err);
int buf_add_text(struct buf *buf, const char *text, struct err *err);
int buf_printf(struct buf *buf, struct err *err, const char *format, ...) PRINTF_LIKE(3, 4);

/* Gives the bytes away (free() them) and leaves the buffer empty. Never NULL. */
char *buf_take(struct buf *buf);

#endif
