#include "base/buf.h"

#include "base/log.h"

void buf_init(struct buf *buf, size_t ceiling)
{
    *buf = (struct buf){.ceiling = ceiling};
}

void buf_done(struct buf *buf)
{
    free(buf->data);
    *buf = (struct buf){0};
}

static void grow(struct buf *buf, size_t wanted)
{
    if (wanted < buf->capacity) {
        return;
    }
    size_t capacity = buf->capacity == 0 ? 256 : buf->capacity;
    while (capacity <= wanted) {
        capacity *= 2;
    }
    char *data = realloc(buf->data, capacity);
    if (data == NULL) {
        log_fatal("out of memory: a buffer of %zu bytes wanted", capacity);
    }
    buf->data = data;
    buf->capacity = capacity;
}

int buf_add(struct buf *buf, const void *data, size_t size, struct err *err)
{
    if (size > buf->ceiling - buf->size) {
        return err_set(err, ERR_LIMIT, "more than %zu bytes", buf->ceiling);
    }
    grow(buf, buf->size + size);
    if (size > 0) {
        memcpy(buf->data + buf->size, data, size);
    }
    buf->size += size;
    buf->data[buf->size] = '\0';
    return 0;
}

int buf_add_text(struct buf *buf, const char *text, struct err *err)
{
    return buf_add(buf, text, strlen(text), err);
}

int buf_printf(struct buf *buf, struct err *err, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    va_list again;
    va_copy(again, arguments);
    int length = vsnprintf(NULL, 0, format, arguments);
    va_end(arguments);
    int code = 0;
    if (length < 0) {
        code = err_set(err, ERR_INTERNAL, "cannot format '%s'", format);
    } else if ((size_t)length > buf->ceiling - buf->size) {
        code = err_set(err, ERR_LIMIT, "more than %zu bytes", buf->ceiling);
    } else {
        grow(buf, buf->size + (size_t)length);
        vsnprintf(buf->data + buf->size, (size_t)length + 1, format, again);
        buf->size += (size_t)length;
    }
    va_end(again);
    return code;
}

char *buf_take(struct buf *buf)
{
    grow(buf, buf->size);
    char *data = buf->data;
    data[buf->size] = '\0';
    *buf = (struct buf){.ceiling = buf->ceiling};
    return data;
}
