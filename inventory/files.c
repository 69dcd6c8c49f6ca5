#include "inventory/files.h"

#include <pthread.h>
#include <stdint.h>
#include <string.h>

#include "base/arena.h"
#include "base/log.h"
#include "base/text.h"
#include "inventory/cudnn_files.csv.h"

enum { ROWS = 128, COLUMNS = 9 };

static struct cudnn_file rows[ROWS];
static size_t row_count;
static pthread_once_t once = PTHREAD_ONCE_INIT;

/* "cudnn_ops64_9.dll" -> "libcudnn_ops.so.9", "cudnn64_9.dll" -> "libcudnn.so.9" */
static const char *linux_name(struct arena *arena, const char *windows_name, int generation)
{
    const char *end = strstr(windows_name, "64_");
    int length = end == NULL ? (int)strlen(windows_name) : (int)(end - windows_name);
    return arena_printf(arena, "lib%.*s.so.%d", length, windows_name, generation);
}

static void add_row(struct arena *arena, char **cells)
{
    if (row_count == ROWS) {
        log_fatal("cudnn_files.csv has more than %d rows", ROWS);
    }
    struct cudnn_file *row = &rows[row_count++];
    uint64_t generation = 0;
    text_to_u64(cells[0], 99, &generation);
    row->generation = (int)generation;
    row->component = cells[1];
    row->windows_name = cells[2];
    row->linux_name = linux_name(arena, cells[2], row->generation);
    row->required = text_equal(cells[3], "jit")    ? FILES_JIT
                    : text_equal(cells[3], "full") ? FILES_FULL
                                                   : FILES_OPTIONAL;
    version_parse(cells[4], &row->since);
    row->has_resource = text_equal(cells[5], "yes");
    row->version_export = *cells[6] == '\0' ? NULL : cells[6];
    row->imports = *cells[7] == '\0' ? NULL : cells[7];
    row->names_cuda = text_equal(cells[8], "yes");
}

/* Plain CSV: no quotes, `#` begins a comment line, the first other line names the columns. */
static void parse_line(struct arena *arena, char *line, bool *seen_heads)
{
    char *cells[COLUMNS];
    size_t count = 0;
    if (*line == '#' || *line == '\0') {
        return;
    }
    for (char *at = line; at != NULL && count < COLUMNS; count++) {
        cells[count] = at;
        at = strchr(at, ',');
        if (at != NULL) {
            *at++ = '\0';
        }
    }
    if (count != COLUMNS) {
        log_fatal("cudnn_files.csv: a row of %zu columns", count);
    }
    if (*seen_heads) {
        add_row(arena, cells);
    }
    *seen_heads = true;
}

static void parse(void)
{
    static struct arena arena; /* lives as long as the process, like the table */
    bool seen_heads = false;
    char *text = arena_strndup(&arena, inventory_cudnn_files, inventory_cudnn_files_size);
    for (char *line = text; line != NULL;) {
        char *end = strchr(line, '\n');
        if (end != NULL) {
            *end++ = '\0';
        }
        parse_line(&arena, line, &seen_heads);
        line = end;
    }
}

size_t files_count(void)
{
    pthread_once(&once, parse);
    return row_count;
}

const struct cudnn_file *files_at(size_t index)
{
    return index < files_count() ? &rows[index] : NULL;
}

/* "libcudnn_ops.so.9" is libcudnn_ops.so.9 itself and libcudnn_ops.so.9.5.0. */
static bool is_linux_name(const char *file_name, const char *linux_name_text)
{
    size_t length = strlen(linux_name_text);
    return text_has_prefix(file_name, linux_name_text) &&
           (file_name[length] == '\0' || file_name[length] == '.');
}

const struct cudnn_file *files_find(const char *file_name)
{
    for (size_t i = 0; i < files_count(); i++) {
        if (text_equal_nocase(rows[i].windows_name, file_name) ||
            is_linux_name(file_name, rows[i].linux_name)) {
            return &rows[i];
        }
    }
    return NULL;
}

/* "cudnn" or "cudnn_<component>"; what follows the underscore is the component. */
static bool take_component(const char *text, size_t length, struct files_name *name)
{
    static const char base[] = "cudnn";
    size_t base_length = sizeof base - 1;
    if (length == base_length) {
        text_copy(name->component, sizeof name->component, name->generation <= 7 ? "all" : "shim");
        return true;
    }
    if (length < base_length + 2 || text[base_length] != '_' ||
        length - base_length - 1 >= sizeof name->component) {
        return false;
    }
    for (size_t i = 0; i < length - base_length - 1; i++) {
        char c = text[base_length + 1 + i];
        name->component[i] = c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
    }
    name->component[length - base_length - 1] = '\0';
    return true;
}

/* cudnn64_9.dll, cudnn_ops64_9.dll */
static bool parse_windows(const char *file_name, struct files_name *name)
{
    size_t length = strlen(file_name);
    uint64_t generation;
    char digits[4] = "";
    if (!text_has_prefix_nocase(file_name, "cudnn") || !text_has_suffix_nocase(file_name, ".dll")) {
        return false;
    }
    const char *end = file_name + length - 4;
    const char *mark = end;
    while (mark > file_name && mark[-1] >= '0' && mark[-1] <= '9') {
        mark--;
    }
    if (mark == end || end - mark > 2 || mark - file_name < 3 || memcmp(mark - 3, "64_", 3) != 0) {
        return false;
    }
    memcpy(digits, mark, (size_t)(end - mark));
    if (!text_to_u64(digits, 99, &generation)) {
        return false;
    }
    name->generation = (int)generation;
    name->windows = true;
    return take_component(file_name, (size_t)(mark - 3 - file_name), name);
}

/* libcudnn.so.9, libcudnn_ops.so.9.5.0; not libcudnn.so, a development link */
static bool parse_linux(const char *file_name, struct files_name *name)
{
    struct version version = {0};
    const char *mark = strstr(file_name, ".so.");
    if (mark == NULL || !text_has_prefix(file_name, "libcudnn")) {
        return false;
    }
    const char *digits = mark + strlen(".so.");
    if (strspn(digits, "0123456789.") != strlen(digits) || !version_parse(digits, &version) ||
        version.part[0] > 99) {
        return false;
    }
    name->generation = (int)version.part[0];
    if (version.count >= 3) {
        name->version = version;
    }
    return take_component(file_name + 3, (size_t)(mark - file_name - 3), name);
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
