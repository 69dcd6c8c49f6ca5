#include "inventory/identify.h"

#include <string.h>

/* The lines looked for: `#define CUDNN_MAJOR 9`. The first definition counts. Whether a line is
   inside a comment or an #if is not asked: NVIDIA's headers define these three once, at the left
   margin, and a preprocessor would be more than this needs. */

enum { MAX_NUMBER = 9999 };

struct cursor {
    const char *at, *end;
};

static void skip_blanks(struct cursor *cursor)
{
    while (cursor->at < cursor->end && (*cursor->at == ' ' || *cursor->at == '\t')) {
        cursor->at++;
    }
}

static bool take_word(struct cursor *cursor, const char *word)
{
    size_t length = strlen(word);
    if ((size_t)(cursor->end - cursor->at) < length || memcmp(cursor->at, word, length) != 0) {
        return false;
    }
    cursor->at += length;
    return true;
}

static bool is_blank_or_end(const struct cursor *cursor)
{
    return cursor->at == cursor->end || *cursor->at == ' ' || *cursor->at == '\t';
}

/* Nothing more, or a comment: a slash alone divides. */
static bool is_end_or_comment(const struct cursor *cursor)
{
    struct cursor rest = *cursor;
    return cursor->at == cursor->end || take_word(&rest, "//") || take_word(&rest, "/*");
}

/* A plain decimal number, alone on the line but for a comment. */
static bool take_number(struct cursor *cursor, uint32_t *out_number)
{
    uint32_t number = 0;
    const char *start = cursor->at;
    while (cursor->at < cursor->end && *cursor->at >= '0' && *cursor->at <= '9') {
        number = number * 10 + (uint32_t)(*cursor->at++ - '0');
        if (number > MAX_NUMBER) {
            return false;
        }
    }
    bool any = cursor->at > start;
    skip_blanks(cursor);
    *out_number = number;
    return any && is_end_or_comment(cursor);
}

/* Which of the three names a line defines: 0, 1, 2; -1 when none or not as a plain number. */
static int read_define(struct cursor line, uint32_t *out_number)
{
    static const char *const names[] = {"CUDNN_MAJOR", "CUDNN_MINOR", "CUDNN_PATCHLEVEL"};
    skip_blanks(&line);
    if (!take_word(&line, "#")) {
        return -1;
    }
    skip_blanks(&line);
    if (!take_word(&line, "define") || !is_blank_or_end(&line)) {
        return -1;
    }
    skip_blanks(&line);
    for (int i = 0; i < 3; i++) {
        struct cursor rest = line;
        if (take_word(&rest, names[i]) && is_blank_or_end(&rest)) {
            skip_blanks(&rest);
            return take_number(&rest, out_number) ? i : -1;
        }
    }
    return -1;
}

bool identify_header(const char *text, size_t size, struct version *out_version)
{
    struct version version = {.count = 3};
    bool found[3] = {false, false, false};
    const char *end = text + size;
    for (const char *start = text; start < end;) {
        const char *newline = memchr(start, '\n', (size_t)(end - start));
        struct cursor line = {.at = start, .end = newline != NULL ? newline : end};
        uint32_t number;
        if (line.end > line.at && line.end[-1] == '\r') {
            line.end--;
        }
        int which = read_define(line, &number);
        if (which >= 0 && !found[which]) {
            found[which] = true;
            version.part[which] = number;
        }
        start = newline != NULL ? newline + 1 : end;
    }
    if (!found[0] || !found[1] || !found[2]) {
        return false;
    }
    *out_version = version;
    return true;
}
