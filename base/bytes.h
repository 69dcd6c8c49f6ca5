#ifndef BASE_BYTES_H
#define BASE_BYTES_H

/* Bounds-checked reading of a block of bytes that somebody else wrote: the only way the parsers
   of files look at them. Every function answers false instead of reading outside; nothing is
   read through overlaid structs. Little endian, as PE and the ELF files of interest are. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct bytes {
    const uint8_t *data; /* not owned */
    uint64_t size;
};

/* True when [offset, offset + length) lies inside. Safe against overflow. */
bool bytes_has(struct bytes bytes, uint64_t offset, uint64_t length);

bool bytes_u8(struct bytes bytes, uint64_t offset, uint8_t *out_value);
bool bytes_u16(struct bytes bytes, uint64_t offset, uint16_t *out_value);
bool bytes_u32(struct bytes bytes, uint64_t offset, uint32_t *out_value);
bool bytes_u64(struct bytes bytes, uint64_t offset, uint64_t *out_value);

/* The part [offset, offset + length); false when it does not lie inside. */
bool bytes_part(struct bytes bytes, uint64_t offset, uint64_t length, struct bytes *out_part);

/* The NUL-terminated text at offset, of at most `limit` bytes without the NUL; false when there
   is no NUL within the limit and the block. The result points into the block. */
bool bytes_text(struct bytes bytes, uint64_t offset, size_t limit, const char **out_text);

/* The offset of the first occurrence of `needle` at or behind `from`; false when none. */
bool bytes_find(struct bytes bytes, uint64_t from, const void *needle, size_t needle_size,
                uint64_t *out_offset);

#endif
