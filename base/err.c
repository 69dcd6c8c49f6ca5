#include "base/err.h"

#include <stdarg.h>

#include "base/text.h"

static void clip(char *text, size_t size, int wanted)
{
    if (wanted >= 0 && (size_t)wanted >= size) {
        text_utf8_trim(text);
        size_t length = strlen(text);
        size_t at = length + 4 > size ? size - 4 : length;
        text[at] = '\0';
        text_utf8_trim(text);
        at = strlen(text);
        memcpy(text + at, "...", 4);
    }
}

int err_set(struct err *err, int code, const char *format, ...)
{
    if (err == NULL) {
        return code;
    }
    va_list arguments;
    va_start(arguments, format);
    int wanted = vsnprintf(err->message, sizeof err->message, format, arguments);
    va_end(arguments);
    clip(err->message, sizeof err->message, wanted);
    err->code = code;
    return code;
}

int err_context(struct err *err, const char *format, ...)
{
    if (err == NULL) {
        return ERR_INTERNAL;
    }
    char inner[sizeof err->message];
    memcpy(inner, err->message, sizeof inner);
    char context[sizeof err->message];
    va_list arguments;
    va_start(arguments, format);
    int wanted = vsnprintf(context, sizeof context, format, arguments);
    va_end(arguments);
    clip(context, sizeof context, wanted);
    /* The reason matters more than the place: when both do not fit, the context gives way. */
    size_t room = sizeof err->message - 1 - strlen(inner);
    int context_room = room > 2 ? (int)(room - 2) : 0;
    snprintf(err->message, sizeof err->message, "%.*s", context_room, context);
    text_utf8_trim(err->message);
    if (context_room > 0) {
        size_t at = strlen(err->message);
        snprintf(err->message + at, sizeof err->message - at, ": %s", inner);
    } else {
        memcpy(err->message, inner, sizeof inner);
    }
    return err->code;
}

const char *err_name(int code)
{
    switch (code) {
    case 0:
        return "ok";
#define ERR_CASE(name, value, text)                                                                \
    case name:                                                                                     \
        return text;
        ERR_LIST(ERR_CASE)
#undef ERR_CASE
    default:
        return "unknown";
    }
}
