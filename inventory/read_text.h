#ifndef INVENTORY_READ_TEXT_H
#define INVENTORY_READ_TEXT_H

/* Copies texts out of a file's bytes: shared by the PE and the ELF parser. The copies are in the
   arena and well-formed UTF-8. */

#include "base/arena.h"
#include "base/bytes.h"

/* The NUL-terminated text at offset, of 1 to `limit` bytes; NULL when there is none. */
const char *read_text(struct arena *arena, struct bytes bytes, uint64_t offset, size_t limit);

/* `units` UTF-16 LE code units at offset, up to a NUL; a lone surrogate becomes U+FFFD. NULL when
   they are not inside, none, or more than READ_TEXT_UNITS. */
enum { READ_TEXT_UNITS = 512 };
const char *read_text_utf16(struct arena *arena, struct bytes bytes, uint64_t offset, size_t units);

#endif
