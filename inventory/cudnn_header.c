#include <string.h>

#include "inventory/identify.h"

static const char *skip_blanks(const char *at, const char *end)
{
    while (at < end && (*at == ' ' || *at == '\t')) {
        at++;
    }
    return at;
}

/* Moves over a word that must be followed by a blank; NULL when something else stands there. */
static const char *skip_word(const char *at, const char *end, const char *word)
{
    size_t length = strlen(word);
    if ((size_t)(end - at) <= length || memcmp(at, word, length) != 0 ||
        (at[length] != ' ' && at[length] != '\t')) {
        return NULL;
    }
    return skip_blanks(at + length, end);
}

/* `#define NAME digits` in one line. */
static bool line_defines(const char *line, const char *end, const char *name, uint32_t *out_value)
{
    uint32_t value = 0;
    int digits = 0;
    const char *at = skip_word(skip_blanks(line, end), end, "#define");
    at = at == NULL ? NULL : skip_word(at, end, name);
    for (; at != NULL && at < end && *at >= '0' && *at <= '9' && digits < 9; at++, digits++) {
        value = value * 10 + (uint32_t)(*at - '0');
    }
    if (digits == 0) {
        return false;
    }
    *out_value = value;
    return true;
}

static bool defined_number(const char *text, size_t size, const char *name, uint32_t *out_value)
{
    const char *end = text + size;
    for (const char *line = text; line < end;) {
        const char *stop = memchr(line, '\n', (size_t)(end - line));
        stop = stop == NULL ? end : stop;
        if (line_defines(line, stop, name, out_value)) {
            return true;
        }
        line = stop == end ? end : stop + 1;
    }
    return false;
}

bool identify_header(const char *text, size_t size, struct version *out_version)
{
    static const char *const names[] = {"CUDNN_MAJOR", "CUDNN_MINOR", "CUDNN_PATCHLEVEL"};
    struct version version = {.count = 3};
    for (size_t i = 0; i < 3; i++) {
        if (!defined_number(text, size, names[i], &version.part[i])) {
            return false;
        }
    }
    *out_version = version;
    return true;
}
