#include "base/text.h"

#include "base/arena.h"

static char fold(char c)
{
    return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

bool text_equal(const char *a, const char *b)
{
    if (a == NULL || b == NULL) {
        return a == b;
    }
    return strcmp(a, b) == 0;
}

static bool same_start(const char *text, const char *start, bool nocase)
{
    for (; *start != '\0'; text++, start++) {
        char a = nocase ? fold(*text) : *text;
        char b = nocase ? fold(*start) : *start;
        if (a != b) {
            return false; /* also ends at the end of text: NUL differs from *start */
        }
    }
    return true;
}

bool text_equal_nocase(const char *a, const char *b)
{
    if (a == NULL || b == NULL) {
        return a == b;
    }
    return strlen(a) == strlen(b) && same_start(a, b, true);
}

bool text_has_prefix(const char *text, const char *prefix)
{
    return same_start(text, prefix, false);
}

bool text_has_prefix_nocase(const char *text, const char *prefix)
{
    return same_start(text, prefix, true);
}

bool text_has_suffix(const char *text, const char *suffix)
{
    size_t length = strlen(text);
    size_t tail = strlen(suffix);
    return length >= tail && same_start(text + length - tail, suffix, false);
}

bool text_has_suffix_nocase(const char *text, const char *suffix)
{
    size_t length = strlen(text);
    size_t tail = strlen(suffix);
    return length >= tail && same_start(text + length - tail, suffix, true);
}

bool text_copy(char *to, size_t size, const char *from)
{
    if (size == 0) {
        return false;
    }
    size_t length = strlen(from);
    bool fits = length < size;
    size_t take = fits ? length : size - 1;
    memcpy(to, from, take);
    to[take] = '\0';
    if (!fits) {
        text_utf8_trim(to);
    }
    return fits;
}

bool text_to_u64(const char *text, uint64_t max, uint64_t *out_value)
{
    uint64_t value = 0;
    if (*text == '\0') {
        return false;
    }
    for (; *text != '\0'; text++) {
        if (*text < '0' || *text > '9') {
            return false;
        }
        uint64_t digit = (uint64_t)(*text - '0');
        if (value > (UINT64_MAX - digit) / 10) {
            return false;
        }
        value = value * 10 + digit;
        if (value > max) {
            return false;
        }
    }
    *out_value = value;
    return true;
}

/* The length of the well-formed character at `s` (of `left` bytes), 0 when ill-formed.
   Unicode 15, table 3-7 "Well-Formed UTF-8 Byte Sequences". */
static size_t utf8_character(const unsigned char *s, size_t left)
{
    unsigned char first = s[0];
    if (first < 0x80) {
        return 1;
    }
    size_t length = first >= 0xC2 && first <= 0xDF   ? 2
                    : first >= 0xE0 && first <= 0xEF ? 3
                    : first >= 0xF0 && first <= 0xF4 ? 4
                                                     : 0;
    if (length == 0 || left < length) {
        return 0;
    }
    unsigned char low = first == 0xE0 ? 0xA0 : first == 0xF0 ? 0x90 : 0x80;
    unsigned char high = first == 0xED ? 0x9F : first == 0xF4 ? 0x8F : 0xBF;
    if (s[1] < low || s[1] > high) {
        return 0;
    }
    for (size_t i = 2; i < length; i++) {
        if (s[i] < 0x80 || s[i] > 0xBF) {
            return 0;
        }
    }
    return length;
}

bool text_utf8_valid(const char *text, size_t length)
{
    const unsigned char *s = (const unsigned char *)text;
    for (size_t i = 0; i < length;) {
        size_t step = utf8_character(s + i, length - i);
        if (step == 0) {
            return false;
        }
        i += step;
    }
    return true;
}

const char *text_utf8_clean(struct arena *arena, const char *text)
{
    size_t length = strlen(text);
    if (text_utf8_valid(text, length)) {
        return text;
    }
    char *clean = arena_alloc(arena, length * 3 + 1);
    size_t used = 0;
    const unsigned char *s = (const unsigned char *)text;
    for (size_t i = 0; i < length;) {
        size_t step = utf8_character(s + i, length - i);
        if (step == 0) {
            memcpy(clean + used, "\xEF\xBF\xBD", 3);
            used += 3;
            i++;
            continue;
        }
        memcpy(clean + used, text + i, step);
        used += step;
        i += step;
    }
    clean[used] = '\0';
    return clean;
}

void text_utf8_trim(char *text)
{
    size_t length = strlen(text);
    size_t back = 0;
    while (back < 3 && back < length && ((unsigned char)text[length - 1 - back] & 0xC0) == 0x80) {
        back++;
    }
    if (back >= length) {
        return;
    }
    size_t start = length - 1 - back;
    if ((unsigned char)text[start] >= 0xC0 &&
        utf8_character((const unsigned char *)text + start, length - start) == 0) {
        text[start] = '\0';
    }
}

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

char *text_strip(char *text)
{
    while (is_blank(*text)) {
        text++;
    }
    size_t length = strlen(text);
    while (length > 0 && is_blank(text[length - 1])) {
        text[--length] = '\0';
    }
    return text;
}

size_t text_distance(const char *a, const char *b)
{
    enum { LIMIT = 64 };
    size_t row[LIMIT + 1];
    size_t la = strlen(a) > LIMIT ? LIMIT : strlen(a);
    size_t lb = strlen(b) > LIMIT ? LIMIT : strlen(b);
    for (size_t j = 0; j <= lb; j++) {
        row[j] = j;
    }
    for (size_t i = 1; i <= la; i++) {
        size_t diagonal = row[0];
        row[0] = i;
        for (size_t j = 1; j <= lb; j++) {
            size_t replace = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
            size_t other = (row[j] < row[j - 1] ? row[j] : row[j - 1]) + 1;
            diagonal = row[j];
            row[j] = replace < other ? replace : other;
        }
    }
    return row[lb];
}
