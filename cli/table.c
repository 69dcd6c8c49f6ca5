#include "cli/table.h"

struct table_row *table_add(struct arena *arena, struct table *table)
{
    struct table_row *row =
        arena_push(arena, &table->rows, &table->count, &table->capacity, sizeof *row);
    *row = (struct table_row){.colour = ""};
    return row;
}

static size_t width_of(const char *text)
{
    size_t width = 0;
    for (; *text != '\0'; text++) {
        width += ((unsigned char)*text & 0xC0) != 0x80 ? 1 : 0; /* not a continuation byte */
    }
    return width;
}

static const char *cell_text(const char *cell)
{
    return cell == NULL ? "-" : cell;
}

static void print_cells(const char *const *cells, const size_t *widths, size_t columns,
                        FILE *stream)
{
    for (size_t i = 0; i < columns; i++) {
        const char *text = cell_text(cells[i]);
        fputs(text, stream);
        for (size_t pad = width_of(text); i + 1 < columns && pad < widths[i] + 2; pad++) {
            fputc(' ', stream);
        }
    }
}

void table_print(const struct table *table, FILE *stream, const char *colour_off)
{
    size_t widths[TABLE_COLUMNS] = {0};
    for (size_t i = 0; i < table->columns; i++) {
        widths[i] = width_of(table->heads[i]);
        for (size_t r = 0; r < table->count; r++) {
            size_t width = width_of(cell_text(table->rows[r].cells[i]));
            widths[i] = width > widths[i] ? width : widths[i];
        }
    }
    print_cells(table->heads, widths, table->columns, stream);
    fputc('\n', stream);
    for (size_t r = 0; r < table->count; r++) {
        fputs(table->rows[r].colour, stream);
        print_cells(table->rows[r].cells, widths, table->columns, stream);
        fputs(*table->rows[r].colour != '\0' ? colour_off : "", stream);
        fputc('\n', stream);
    }
}
