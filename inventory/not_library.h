#ifndef INVENTORY_NOT_LIBRARY_H
#define INVENTORY_NOT_LIBRARY_H

/* What a file is when its first bytes are no library's: what downloads, copies and version control
   leave under a library's name. Looks at the first few hundred bytes only. */

#include "base/bytes.h"

enum format { FORMAT_PE, FORMAT_ELF, FORMAT_OTHER };

enum format not_library_format(struct bytes bytes);

/* In words, of a FORMAT_OTHER: "is empty", "is a Git LFS pointer, not a library". Never NULL. */
const char *not_library_problem(struct bytes bytes);

#endif
