#include "base/bytes.h"

#include <string.h>

bool bytes_has(struct bytes bytes, uint64_t offset, uint64_t length)
{
    return offset <= bytes.size && length <= bytes.size - offset;
}

static bool little_endian(struct bytes bytes, uint64_t offset, unsigned width, uint64_t *out_value)
{
    if (!bytes_has(bytes, offset, width)) {
        return false;
    }
    uint64_t value = 0;
    for (unsigned i = 0; i < width; i++) {
        value |= (uint64_t)bytes.data[offset + i] << (8 * i);
    }
    *out_value = value;
    return true;
}

bool bytes_u8(struct bytes bytes, uint64_t offset, uint8_t *out_value)
{
    uint64_t value;
    if (!little_endian(bytes, offset, 1, &value)) {
        return false;
    }
    *out_value = (uint8_t)value;
    return true;
}

bool bytes_u16(struct bytes bytes, uint64_t offset, uint16_t *out_value)
{
    uint64_t value;
    if (!little_endian(bytes, offset, 2, &value)) {
        return false;
    }
    *out_value = (uint16_t)value;
    return true;
}

bool bytes_u32(struct bytes bytes, uint64_t offset, uint32_t *out_value)
{
    uint64_t value;
    if (!little_endian(bytes, offset, 4, &value)) {
        return false;
    }
    *out_value = (uint32_t)value;
    return true;
}

bool bytes_u64(struct bytes bytes, uint64_t offset, uint64_t *out_value)
{
    return little_endian(bytes, offset, 8, out_value);
}

bool bytes_part(struct bytes bytes, uint64_t offset, uint64_t length, struct bytes *out_part)
{
    if (!bytes_has(bytes, offset, length)) {
        return false;
    }
    *out_part = (struct bytes){.data = bytes.data + offset, .size = length};
    return true;
}

bool bytes_text(struct bytes bytes, uint64_t offset, size_t limit, const char **out_text)
{
    if (offset >= bytes.size) {
        return false;
    }
    uint64_t left = bytes.size - offset;
    size_t look = left < (uint64_t)limit + 1 ? (size_t)left : limit + 1;
    if (memchr(bytes.data + offset, '\0', look) == NULL) {
        return false;
    }
    *out_text = (const char *)bytes.data + offset;
    return true;
}

bool bytes_find(struct bytes bytes, uint64_t from, const void *needle, size_t needle_size,
                uint64_t *out_offset)
{
    const uint8_t *wanted = needle;
    while (needle_size > 0 && bytes_has(bytes, from, needle_size)) {
        const uint8_t *hit =
            memchr(bytes.data + from, wanted[0], (size_t)(bytes.size - from - (needle_size - 1)));
        if (hit == NULL) {
            return false;
        }
        from = (uint64_t)(hit - bytes.data);
        if (memcmp(hit, wanted, needle_size) == 0) {
            *out_offset = from;
            return true;
        }
        from++;
    }
    return false;
}
