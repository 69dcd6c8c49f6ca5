#include "inventory/read_text.h"

#include "base/text.h"

/* The length is measured once and used for the copy, so that a file that changes meanwhile cannot
   make the copy longer than what was measured. */
const char *read_text(struct arena *arena, struct bytes bytes, uint64_t offset, size_t limit)
{
    const char *text;
    if (!bytes_text(bytes, offset, limit, &text)) {
        return NULL;
    }
    size_t length = strnlen(text, limit);
    if (length == 0) {
        return NULL;
    }
    return text_utf8_clean(arena, arena_strndup(arena, text, length));
}

/* One code point as UTF-8; returns the number of bytes. */
static size_t put_utf8(char *to, uint32_t point)
{
    if (point < 0x80) {
        to[0] = (char)point;
        return 1;
    }
    if (point < 0x800) {
        to[0] = (char)(0xC0 | point >> 6);
        to[1] = (char)(0x80 | (point & 0x3F));
        return 2;
    }
    if (point < 0x10000) {
        to[0] = (char)(0xE0 | point >> 12);
        to[1] = (char)(0x80 | (point >> 6 & 0x3F));
        to[2] = (char)(0x80 | (point & 0x3F));
        return 3;
    }
    to[0] = (char)(0xF0 | point >> 18);
    to[1] = (char)(0x80 | (point >> 12 & 0x3F));
    to[2] = (char)(0x80 | (point >> 6 & 0x3F));
    to[3] = (char)(0x80 | (point & 0x3F));
    return 4;
}

/* The code point at unit *at, of `units`; moves *at behind it. Unicode 15, section 3.9, UTF-16. */
static uint32_t next_point(struct bytes bytes, uint64_t offset, size_t units, size_t *at)
{
    uint16_t high = 0;
    uint16_t low = 0;
    bytes_u16(bytes, offset + 2 * (uint64_t)*at, &high);
    (*at)++;
    if (high < 0xD800 || high > 0xDFFF) {
        return high;
    }
    if (high > 0xDBFF || *at >= units) {
        return 0xFFFD;
    }
    bytes_u16(bytes, offset + 2 * (uint64_t)*at, &low);
    if (low < 0xDC00 || low > 0xDFFF) {
        return 0xFFFD;
    }
    (*at)++;
    return 0x10000 + ((uint32_t)(high - 0xD800) << 10) + (uint32_t)(low - 0xDC00);
}

const char *read_text_utf16(struct arena *arena, struct bytes bytes, uint64_t offset, size_t units)
{
    if (units == 0 || units > READ_TEXT_UNITS || !bytes_has(bytes, offset, 2 * (uint64_t)units)) {
        return NULL;
    }
    char text[READ_TEXT_UNITS * 3 + 1]; /* a unit gives at most three bytes, a pair four */
    size_t used = 0;
    for (size_t at = 0; at < units;) {
        uint32_t point = next_point(bytes, offset, units, &at);
        if (point == 0) {
            break;
        }
        used += put_utf8(text + used, point);
    }
    return used == 0 ? NULL : arena_strndup(arena, text, used);
}
