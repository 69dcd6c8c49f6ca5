#include "os/win32/command_line.h"

#include <stdbool.h>

#include "os/win32/wide.h"

enum { COMMAND_LINE_MAX = 32767 }; /* CreateProcessW, with the final NUL */

/* --- quoting --- */

/* Backslashes are themselves unless a quote follows them: then they are doubled, and the quote
   gets one of its own. `out` has room for twice the word and three more. */
static size_t quote(const wchar_t *word, wchar_t *out)
{
    size_t length = 0, slashes = 0;
    out[length++] = L'"';
    for (; *word != L'\0'; word++) {
        if (*word == L'"') {
            for (slashes++; slashes > 0; slashes--) {
                out[length++] = L'\\';
            }
        }
        slashes = *word == L'\\' ? slashes + 1 : 0;
        out[length++] = *word;
    }
    for (; slashes > 0; slashes--) {
        out[length++] = L'\\';
    }
    out[length++] = L'"';
    return length;
}

static bool needs_quotes(const wchar_t *word)
{
    return *word == L'\0' || wcspbrk(word, L" \t\n\v\"") != NULL;
}

static wchar_t *add_word(struct arena *arena, wchar_t *line, const char *word, struct err *err)
{
    wchar_t *wide = wide_from_text(arena, word, err);
    if (wide == NULL) {
        return NULL;
    }
    wchar_t *quoted = wide;
    if (needs_quotes(wide)) {
        quoted = arena_alloc(arena, (wcslen(wide) * 2 + 3) * sizeof *quoted);
        quoted[quote(wide, quoted)] = L'\0';
    }
    if (line == NULL) {
        return quoted;
    }
    if (wcslen(line) + wcslen(quoted) + 2 > COMMAND_LINE_MAX) {
        err_set(err, ERR_LIMIT, "the command line is longer than Windows allows");
        return NULL;
    }
    return wide_join(arena, wide_join(arena, line, L" "), quoted);
}

wchar_t *command_line_build(struct arena *arena, const char *program, const char *const *arguments,
                            struct err *err)
{
    if (strchr(program, '"') != NULL) {
        err_set(err, ERR_UNSUPPORTED, "a program's path cannot hold a quote");
        return NULL;
    }
    wchar_t *line = add_word(arena, NULL, program, err);
    for (; line != NULL && arguments != NULL && *arguments != NULL; arguments++) {
        line = add_word(arena, line, *arguments, err);
    }
    return line;
}

/* --- environment --- */

struct variables {
    const wchar_t **items; /* "NAME=value" */
    size_t count, capacity;
};

/* The name's length. "=C:=C:\x" (a drive's current directory) has a name that begins with '='. */
static size_t name_length(const wchar_t *variable)
{
    const wchar_t *end = *variable == L'\0' ? NULL : wcschr(variable + 1, L'=');
    return end == NULL ? wcslen(variable) : (size_t)(end - variable);
}

static int compare_names(const wchar_t *a, size_t a_length, const wchar_t *b, size_t b_length)
{
    return CompareStringOrdinal(a, (int)a_length, b, (int)b_length, TRUE) - CSTR_EQUAL;
}

static int compare_variables(const void *a, const void *b)
{
    const wchar_t *const *left = a, *const *right = b;
    return compare_names(*left, name_length(*left), *right, name_length(*right));
}

/* Takes out every variable that `name` names; "LD_*" names all that begin so. */
static void remove_named(struct variables *variables, const wchar_t *name, size_t length)
{
    bool prefix = length > 0 && name[length - 1] == L'*';
    size_t kept = 0, compared = length - prefix;
    for (size_t i = 0; i < variables->count; i++) {
        size_t own = name_length(variables->items[i]);
        bool named = (prefix ? own >= compared : own == compared) &&
                     compare_names(variables->items[i], compared, name, compared) == 0;
        if (!named) {
            variables->items[kept++] = variables->items[i];
        }
    }
    variables->count = kept;
}

static void add_variable(struct arena *arena, struct variables *variables, const wchar_t *variable)
{
    *(const wchar_t **)arena_push(arena, &variables->items, &variables->count, &variables->capacity,
                                  sizeof *variables->items) = variable;
}

static void add_own(struct arena *arena, struct variables *variables)
{
    wchar_t *block = GetEnvironmentStringsW();
    for (const wchar_t *at = block; at != NULL && *at != L'\0'; at += wcslen(at) + 1) {
        add_variable(arena, variables, wide_join(arena, at, L""));
    }
    if (block != NULL) {
        FreeEnvironmentStringsW(block);
    }
}

static wchar_t *join_variables(struct arena *arena, struct variables *variables)
{
    size_t length = 2;
    for (size_t i = 0; i < variables->count; i++) {
        length += wcslen(variables->items[i]) + 1;
    }
    wchar_t *block = arena_alloc(arena, length * sizeof *block), *at = block;
    for (size_t i = 0; i < variables->count; i++) {
        size_t size = wcslen(variables->items[i]) + 1;
        memcpy(at, variables->items[i], size * sizeof *at);
        at += size;
    }
    return block; /* the arena's zeroes end it */
}

wchar_t *command_line_environment(struct arena *arena, const char *const *unset,
                                  const char *const *set, struct err *err)
{
    struct variables variables = {0};
    add_own(arena, &variables);
    for (; unset != NULL && *unset != NULL; unset++) {
        const wchar_t *name = wide_from_text(arena, *unset, err);
        if (name == NULL) {
            return NULL;
        }
        remove_named(&variables, name, wcslen(name));
    }
    for (; set != NULL && *set != NULL; set++) {
        const wchar_t *variable = wide_from_text(arena, *set, err);
        if (variable == NULL) {
            return NULL;
        }
        remove_named(&variables, variable, name_length(variable));
        add_variable(arena, &variables, variable);
    }
    if (variables.count > 0) {
        qsort(variables.items, variables.count, sizeof *variables.items, compare_variables);
    }
    return join_variables(arena, &variables);
}
