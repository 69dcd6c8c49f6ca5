#include "os/env.h"

#include <windows.h>

#include "base/cleanup.h"
#include "base/text.h"
#include "os/win32/registry_raw.h"
#include "os/win32/wide.h"

/* The registry is read each time and expanded here rather than by ExpandEnvironmentStringsW(): that
   one knows this process's block, which a service got at boot, and would put yesterday's CUDA_PATH
   into today's PATH. */

enum { NESTING_MAX = 4 }; /* a variable that names itself must end somewhere */

static const char *const keys[] = {
    [OS_ENV_MACHINE] = "HKLM\\SYSTEM\\CurrentControlSet\\Control\\Session Manager\\Environment",
    [OS_ENV_USER] = "HKCU\\Environment",
};

struct expansion {
    struct arena *arena;
    enum os_env_scope scope;
    int depth;
};

static const char *look_up(void *context, const char *name);

static const char *expanded(struct arena *arena, enum os_env_scope scope,
                            const struct registry_value *value, int depth)
{
    if (!value->expandable || depth >= NESTING_MAX) {
        return value->text;
    }
    struct expansion inner = {arena, scope, depth + 1};
    return registry_expand(arena, value->text, look_up, &inner);
}

/* Windows puts an account's own variables over the machine's; what neither sets (SystemRoot,
   USERPROFILE) comes with the process. */
static const char *look_up(void *context, const char *name)
{
    const struct expansion *expansion = context;
    struct registry_value value;
    if (expansion->scope == OS_ENV_USER &&
        registry_read(expansion->arena, keys[OS_ENV_USER], name, &value)) {
        return expanded(expansion->arena, OS_ENV_USER, &value, expansion->depth);
    }
    if (registry_read(expansion->arena, keys[OS_ENV_MACHINE], name, &value)) {
        return expanded(expansion->arena, OS_ENV_MACHINE, &value, expansion->depth);
    }
    return registry_process_variable(expansion->arena, name);
}

const char *os_env_get(struct arena *arena, const char *root, enum os_env_scope scope,
                       const char *name)
{
    (void)root; /* POSIX only */
    if (scope == OS_ENV_PROCESS) {
        return registry_process_variable(arena, name);
    }
    struct arena scratch CLEANUP(arena_done) = {0};
    struct registry_value value;
    if (!registry_read(&scratch, keys[scope], name, &value)) {
        return NULL;
    }
    return arena_strdup(arena, expanded(&scratch, scope, &value, 0));
}

struct variables {
    struct os_env_variable *items;
    size_t count, capacity;
};

static void add(struct arena *arena, struct variables *variables, const char *name,
                const char *value)
{
    struct os_env_variable *item =
        arena_push(arena, &variables->items, &variables->count, &variables->capacity, sizeof *item);
    item->name = arena_strdup(arena, name);
    item->value = arena_strdup(arena, value);
}

static void list_process(struct arena *arena, const char *prefix, struct variables *variables)
{
    struct arena scratch CLEANUP(arena_done) = {0};
    wchar_t *block = GetEnvironmentStringsW();
    for (const wchar_t *at = block; at != NULL && *at != L'\0'; at += wcslen(at) + 1) {
        char *name = wide_to_text(&scratch, at);
        char *equals = strchr(name, '=');
        /* "=C:=C:\x" is a drive's current directory, no variable. */
        if (equals != NULL && equals != name) {
            *equals = '\0';
            if (text_has_prefix_nocase(name, prefix)) {
                add(arena, variables, name, equals + 1);
            }
        }
    }
    if (block != NULL) {
        FreeEnvironmentStringsW(block);
    }
}

static void list_registry(struct arena *arena, enum os_env_scope scope, const char *prefix,
                          struct variables *variables)
{
    struct arena scratch CLEANUP(arena_done) = {0};
    struct registry_value *values = NULL;
    size_t count = 0;
    registry_read_all(&scratch, keys[scope], &values, &count);
    for (size_t i = 0; i < count; i++) {
        if (values[i].name[0] != '\0' && text_has_prefix_nocase(values[i].name, prefix)) {
            add(arena, variables, values[i].name, expanded(&scratch, scope, &values[i], 0));
        }
    }
}

static int compare(const void *a, const void *b)
{
    const struct os_env_variable *left = a, *right = b;
    int order = _stricmp(left->name, right->name);
    return order != 0 ? order : strcmp(left->name, right->name);
}

void os_env_list(struct arena *arena, const char *root, enum os_env_scope scope, const char *prefix,
                 struct os_env_variable **out_items, size_t *out_count)
{
    struct variables variables = {0};
    (void)root;
    if (scope == OS_ENV_PROCESS) {
        list_process(arena, prefix, &variables);
    } else {
        list_registry(arena, scope, prefix, &variables);
    }
    if (variables.count > 0) {
        qsort(variables.items, variables.count, sizeof *variables.items, compare);
    }
    *out_items = variables.items;
    *out_count = variables.count;
}
