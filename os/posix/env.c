#include "os/env.h"

#include <ctype.h>
#include <unistd.h>

#include "base/text.h"
#include "os/posix/rooted.h"

enum { VARIABLE_LIMIT = 4096 };

/* The variables of a scope whose names begin with a prefix. Of equal names the last one added. */
struct variables {
    struct arena *arena;
    const char *prefix;
    struct os_env_variable *items;
    size_t count, capacity;
};

static struct os_env_variable *find(const struct variables *variables, const char *name)
{
    for (size_t i = 0; i < variables->count; i++) {
        if (strcmp(variables->items[i].name, name) == 0) {
            return &variables->items[i];
        }
    }
    return NULL;
}

static void add(struct variables *variables, const char *text, size_t name_length,
                const char *value)
{
    if (!text_has_prefix(text, variables->prefix) || strlen(variables->prefix) > name_length) {
        return;
    }
    const char *name = arena_strndup(variables->arena, text, name_length);
    struct os_env_variable *item = find(variables, name);
    if (item == NULL && variables->count < VARIABLE_LIMIT) {
        item = arena_push(variables->arena, &variables->items, &variables->count,
                          &variables->capacity, sizeof *item);
        item->name = name;
    }
    if (item != NULL) {
        item->value = arena_strdup(variables->arena, value);
    }
}

/* Backwards, because of equal names in the block the first one counts, as for getenv. */
static void read_process(struct variables *variables)
{
    size_t count = 0;
    while (environ != NULL && environ[count] != NULL) {
        count++;
    }
    while (count-- > 0) {
        const char *equals = strchr(environ[count], '=');
        if (equals != NULL && equals != environ[count]) {
            add(variables, environ[count], (size_t)(equals - environ[count]), equals + 1);
        }
    }
}

static size_t name_length(const char *text)
{
    size_t length = 0;
    while (isalnum((unsigned char)text[length]) || text[length] == '_') {
        length++;
    }
    return length;
}

/* One line as pam_env reads it: [export ]NAME=value, one pair of quotes, # begins a comment. */
static void read_line(struct variables *variables, char *line)
{
    line[strcspn(line, "#")] = '\0';
    line = text_strip(line);
    if (text_has_prefix(line, "export ") || text_has_prefix(line, "export\t")) {
        line = text_strip(line + strlen("export "));
    }
    size_t length = name_length(line);
    if (length == 0 || line[length] != '=') {
        return;
    }
    char *value = line + length + 1;
    size_t size = strlen(value);
    if (value[0] == '"' || value[0] == '\'') {
        if (size >= 2 && value[size - 1] == value[0]) {
            value[size - 1] = '\0';
        }
        value++;
    }
    add(variables, line, length, value);
}

static void read_machine(struct variables *variables, const char *root)
{
    char *text = posix_rooted_read(variables->arena, root, "/etc/environment");
    for (char *line; (line = strsep(&text, "\n")) != NULL;) {
        read_line(variables, line);
    }
}

static struct variables read_scope(struct arena *arena, const char *root, enum os_env_scope scope,
                                   const char *prefix)
{
    struct variables variables = {.arena = arena, .prefix = prefix};
    if (scope == OS_ENV_PROCESS) {
        read_process(&variables);
    } else if (scope == OS_ENV_MACHINE) {
        read_machine(&variables, root);
    }
    return variables;
}

const char *os_env_get(struct arena *arena, const char *root, enum os_env_scope scope,
                       const char *name)
{
    if (scope == OS_ENV_PROCESS) {
        return arena_strdup(arena, getenv(name));
    }
    struct variables variables = read_scope(arena, root, scope, name);
    const struct os_env_variable *item = find(&variables, name);
    return item != NULL ? item->value : NULL;
}

static int by_name(const void *a, const void *b)
{
    return strcmp(((const struct os_env_variable *)a)->name,
                  ((const struct os_env_variable *)b)->name);
}

void os_env_list(struct arena *arena, const char *root, enum os_env_scope scope, const char *prefix,
                 struct os_env_variable **out_items, size_t *out_count)
{
    struct variables variables = read_scope(arena, root, scope, prefix);
    if (variables.count > 1) {
        qsort(variables.items, variables.count, sizeof *variables.items, by_name);
    }
    *out_items = variables.items;
    *out_count = variables.count;
}
