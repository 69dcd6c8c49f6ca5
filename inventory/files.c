#include "inventory/files.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/log.h"
#include "base/text.h"
#include "inventory/cudnn_files.csv.h"

enum { MAX_FIELDS = 16, MAX_NAME_NUMBER = 999 };

struct table {
    struct arena arena;
    struct cudnn_file *rows;
    size_t count, capacity;
};

/* ---- names ---- */

static bool is_component_character(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_';
}

static char lower(char c)
{
    return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

/* "" -> "shim", "_ops_infer" -> "ops_infer". Anything else after "cudnn" is another product. */
static bool read_component(const char *text, size_t length, bool fold, char out[48])
{
    if (length == 0) {
        return text_copy(out, 48, "shim");
    }
    if (text[0] != '_' || length < 2 || length > 48) {
        return false;
    }
    for (size_t i = 1; i < length; i++) {
        char c = fold ? lower(text[i]) : text[i];
        if (!is_component_character(c)) {
            return false;
        }
        out[i - 1] = c;
    }
    out[length - 1] = '\0';
    return !text_has_prefix(out, "frontend");
}

/* Up to four numbers joined by dots, and nothing else. */
static bool read_numbers(const char *text, struct version *out)
{
    struct version version = {0};
    for (;;) {
        uint32_t number = 0;
        const char *start = text;
        for (; *text >= '0' && *text <= '9'; text++) {
            number = number * 10 + (uint32_t)(*text - '0');
            if (number > MAX_NAME_NUMBER) {
                return false;
            }
        }
        if (text == start || version.count == 4) {
            return false;
        }
        version.part[version.count++] = number;
        if (*text == '\0') {
            *out = version;
            return version.part[0] > 0;
        }
        if (*text++ != '.') {
            return false;
        }
    }
}

static bool parse_windows(const char *name, struct files_name *out)
{
    size_t length = strlen(name);
    char digits[8] = "";
    struct version number;
    if (!text_has_prefix_nocase(name, "cudnn") || !text_has_suffix_nocase(name, ".dll")) {
        return false;
    }
    size_t start = length - strlen(".dll");
    size_t end = start;
    while (start > 0 && name[start - 1] >= '0' && name[start - 1] <= '9') {
        start--;
    }
    if (end - start >= sizeof digits || start < strlen("cudnn64_") ||
        memcmp(name + start - 3, "64_", 3) != 0) {
        return false;
    }
    memcpy(digits, name + start, end - start);
    size_t component = start - 3 - strlen("cudnn");
    if (!read_numbers(digits, &number) ||
        !read_component(name + strlen("cudnn"), component, true, out->component)) {
        return false;
    }
    out->generation = (int)number.part[0];
    out->windows = true;
    return true;
}

static bool parse_linux(const char *name, struct files_name *out)
{
    const char *so = strstr(name, ".so.");
    struct version version;
    if (!text_has_prefix(name, "libcudnn") || so == NULL ||
        !read_numbers(so + strlen(".so."), &version)) {
        return false;
    }
    const char *component = name + strlen("libcudnn");
    if (!read_component(component, (size_t)(so - component), false, out->component)) {
        return false;
    }
    out->generation = (int)version.part[0];
    if (version.count > 1) {
        out->version = version;
    }
    return true;
}

bool files_parse_name(const char *file_name, struct files_name *out_name)
{
    struct files_name name = {0};
    if (!parse_windows(file_name, &name) && !parse_linux(file_name, &name)) {
        return false;
    }
    *out_name = name;
    return true;
}

/* ---- the table ---- */

/* Cuts a line at its commas, in place; the fields of the file need no quotes. */
static size_t split(char *line, char *fields[MAX_FIELDS])
{
    size_t count = 0;
    while (line != NULL && count < MAX_FIELDS) {
        char *comma = strchr(line, ',');
        if (comma != NULL) {
            *comma++ = '\0';
        }
        fields[count++] = text_strip(line);
        line = comma;
    }
    return count;
}

/* "cudnn_ops64_9.dll", 9 -> "libcudnn_ops.so.9" */
static const char *linux_name_of(struct arena *arena, const char *windows_name)
{
    struct files_name name;
    if (!files_parse_name(windows_name, &name)) {
        log_fatal("inventory/cudnn_files.csv: '%s' is no cuDNN library's name", windows_name);
    }
    bool shim = text_equal(name.component, "shim");
    return arena_printf(arena, "libcudnn%s%s.so.%d", shim ? "" : "_", shim ? "" : name.component,
                        name.generation);
}

static enum files_requirement requirement_of(const char *text)
{
    if (text_equal(text, "jit")) {
        return FILES_JIT;
    }
    return text_equal(text, "optional") ? FILES_OPTIONAL : FILES_FULL;
}

/* The columns in the order of the file's head line. */
static void add_row(struct table *table, char *fields[MAX_FIELDS], size_t count)
{
    enum {
        GENERATION,
        COMPONENT,
        WINDOWS_NAME,
        REQUIRED,
        SINCE,
        RESOURCE,
        EXPORT,
        IMPORTS,
        NAMES_CUDA,
        COLUMNS
    };
    uint64_t generation;
    if (count < COLUMNS || !text_to_u64(fields[GENERATION], MAX_NAME_NUMBER, &generation)) {
        log_fatal("inventory/cudnn_files.csv: a row with %zu fields", count);
    }
    struct cudnn_file *row =
        arena_push(&table->arena, &table->rows, &table->count, &table->capacity, sizeof *row);
    row->generation = (int)generation;
    row->component = fields[COMPONENT];
    row->windows_name = fields[WINDOWS_NAME];
    row->linux_name = linux_name_of(&table->arena, fields[WINDOWS_NAME]);
    row->required = requirement_of(fields[REQUIRED]);
    version_parse(fields[SINCE], &row->since); /* stays unknown when empty */
    row->has_resource = !text_equal(fields[RESOURCE], "no");
    row->version_export = fields[EXPORT][0] == '\0' ? NULL : fields[EXPORT];
    row->imports = fields[IMPORTS][0] == '\0' ? NULL : fields[IMPORTS];
    row->names_cuda = text_equal(fields[NAMES_CUDA], "yes");
}

static struct table *parse_table(void)
{
    struct table *table = calloc(1, sizeof *table);
    if (table == NULL) {
        log_fatal("out of memory: the table of cuDNN's files");
    }
    char *line = arena_strndup(&table->arena, inventory_cudnn_files, inventory_cudnn_files_size);
    bool head = true;
    while (line != NULL) {
        char *next = strchr(line, '\n');
        if (next != NULL) {
            *next++ = '\0';
        }
        char *fields[MAX_FIELDS];
        if (line[0] != '#' && line[0] != '\0') {
            size_t count = split(line, fields);
            if (!head) {
                add_row(table, fields, count);
            }
            head = false;
        }
        line = next;
    }
    return table;
}

/* Several threads may come first: each parses, one publishes, the others throw theirs away. */
static const struct table *table_get(void)
{
    static _Atomic(struct table *) published;
    struct table *table = atomic_load(&published);
    if (table != NULL) {
        return table;
    }
    struct table *mine = parse_table();
    if (atomic_compare_exchange_strong(&published, &table, mine)) {
        return mine;
    }
    arena_done(&mine->arena);
    free(mine);
    return table;
}

size_t files_count(void)
{
    return table_get()->count;
}

const struct cudnn_file *files_at(size_t index)
{
    const struct table *table = table_get();
    return index < table->count ? &table->rows[index] : NULL;
}

const struct cudnn_file *files_find(const char *file_name)
{
    struct files_name name;
    if (!files_parse_name(file_name, &name)) {
        return NULL;
    }
    const struct table *table = table_get();
    for (size_t i = 0; i < table->count; i++) {
        const struct cudnn_file *row = &table->rows[i];
        bool same = name.windows ? text_equal_nocase(row->windows_name, file_name)
                                 : text_has_prefix(file_name, row->linux_name) &&
                                       (file_name[strlen(row->linux_name)] == '\0' ||
                                        file_name[strlen(row->linux_name)] == '.');
        if (same) {
            return row;
        }
    }
    return NULL;
}
