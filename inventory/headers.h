#ifndef INVENTORY_HEADERS_H
#define INVENTORY_HEADERS_H

/* What a program is built with: the headers and import libraries that belong to a cuDNN's library
   directory, by the table places_development. */

#include "inventory/look.h"

/* Fills in headers, header_version, header_path and import_libraries of an install with a path.
   `toolkit`: the toolkit it lies in, or NULL. */
void headers_read(struct look *look, const struct toolkit *toolkit, struct install *install);

#endif
