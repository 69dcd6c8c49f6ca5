#ifndef CLI_TABLE_H
#define CLI_TABLE_H

/* Tables for people: columns as wide as their widest cell, two blanks between, UTF-8 counted by
   characters. Cells are texts in the caller's arena; NULL prints as "-". */

#include <stdio.h>

#include "base/arena.h"

enum { TABLE_COLUMNS = 8 };

struct table {
    const char *heads[TABLE_COLUMNS];
    size_t columns;
    struct table_row {
        const char *cells[TABLE_COLUMNS];
        const char *colour; /* of cli_colour: "" or an escape; for the whole row */
    } * rows;
    size_t count, capacity;
};

struct table_row *table_add(struct arena *arena, struct table *table);
void table_print(const struct table *table, FILE *stream, const char *colour_off);

#endif
