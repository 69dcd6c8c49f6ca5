#include "os/registry.h"

#include <wchar.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/text.h"
#include "os/win32/native.h"
#include "os/win32/registry_raw.h"
#include "os/win32/wide.h"

enum {
    ITEMS_MAX = 4096,
    VALUE_MAX = 1 << 20, /* bytes; an environment variable has at most 64 KiB */
    NAME_UNITS = 16384,  /* of a value; a key's has at most 255 */
    EXPANDED_MAX = 64 * 1024,
};

static const struct {
    const char *prefix;
    HKEY root;
    REGSAM view;
} roots[] = {
    {"HKLM\\", HKEY_LOCAL_MACHINE, KEY_WOW64_64KEY},
    {"HKLM32\\", HKEY_LOCAL_MACHINE, KEY_WOW64_32KEY},
    {"HKCU\\", HKEY_CURRENT_USER, KEY_WOW64_64KEY},
    {"HKCU32\\", HKEY_CURRENT_USER, KEY_WOW64_32KEY},
    {"HKU\\", HKEY_USERS, KEY_WOW64_64KEY},
    {"HKU32\\", HKEY_USERS, KEY_WOW64_32KEY},
};

/* NULL when there is no such key or it may not be read. "HKU" alone is a key as well. */
static HKEY open_key(const char *path)
{
    struct arena scratch CLEANUP(arena_done) = {0};
    const char *full = strchr(path, '\\') == NULL ? arena_printf(&scratch, "%s\\", path) : path;
    for (size_t i = 0; i < sizeof roots / sizeof *roots; i++) {
        if (text_has_prefix_nocase(full, roots[i].prefix)) {
            HKEY key = NULL;
            wchar_t *rest = wide_from_text(&scratch, full + strlen(roots[i].prefix), NULL);
            if (rest != NULL &&
                RegOpenKeyExW(roots[i].root, rest, 0, KEY_READ | roots[i].view, &key) == 0) {
                return key;
            }
            return NULL;
        }
    }
    return NULL;
}

/* --- values --- */

/* The bytes of a value with two NULs behind them: what is stored need not end with one. */
static wchar_t *query(struct arena *arena, HKEY key, const wchar_t *name, DWORD *out_type)
{
    DWORD size = 0;
    LSTATUS status = RegQueryValueExW(key, name, NULL, out_type, NULL, &size);
    for (int tries = 0; status == 0 && size <= VALUE_MAX && tries < 4; tries++) {
        wchar_t *data = arena_alloc(arena, size + 2 * sizeof *data);
        DWORD got = size;
        status = RegQueryValueExW(key, name, NULL, out_type, (BYTE *)data, &got);
        if (status == 0) {
            memset((BYTE *)data + (got & ~1u), 0, size + 2 * sizeof *data - (got & ~1u));
            return data;
        }
        if (status == ERROR_MORE_DATA) { /* it grew between the two calls */
            size = got > size ? got : size * 2;
            status = 0;
        }
    }
    return NULL;
}

static bool read_value(struct arena *arena, HKEY key, const wchar_t *name,
                       struct registry_value *out_value)
{
    struct arena scratch CLEANUP(arena_done) = {0};
    DWORD type = REG_NONE;
    const wchar_t *data = query(&scratch, key, name, &type);
    if (data == NULL || (type != REG_SZ && type != REG_EXPAND_SZ)) {
        return false;
    }
    *out_value = (struct registry_value){.name = wide_to_text(arena, name),
                                         .text = wide_to_text(arena, data),
                                         .expandable = type == REG_EXPAND_SZ};
    return true;
}

bool registry_read(struct arena *arena, const char *key_path, const char *name,
                   struct registry_value *out_value)
{
    struct arena scratch CLEANUP(arena_done) = {0};
    HKEY key CLEANUP(native_close_key) = open_key(key_path);
    const wchar_t *wide = key == NULL ? NULL : wide_from_text(&scratch, name, NULL);
    return wide != NULL && read_value(arena, key, wide, out_value);
}

static bool holds(const char *text, const char *part)
{
    for (; *text != '\0'; text++) {
        if (text_has_prefix_nocase(text, part)) {
            return true;
        }
    }
    return false;
}

const char *registry_find_in_list(struct arena *arena, const char *key_path, const char *name,
                                  const char *part)
{
    struct arena scratch CLEANUP(arena_done) = {0};
    HKEY key CLEANUP(native_close_key) = open_key(key_path);
    const wchar_t *wide = key == NULL ? NULL : wide_from_text(&scratch, name, NULL);
    DWORD type = REG_NONE;
    const wchar_t *item = wide == NULL ? NULL : query(&scratch, key, wide, &type);
    if (item == NULL || (type != REG_MULTI_SZ && type != REG_SZ)) {
        return NULL;
    }
    for (; *item != L'\0'; item += wcslen(item) + 1) {
        const char *text = wide_to_text(&scratch, item);
        if (holds(text, part)) {
            return arena_strdup(arena, text);
        }
        if (type == REG_SZ) {
            break;
        }
    }
    return NULL;
}

void registry_read_all(struct arena *arena, const char *key_path, struct registry_value **out_items,
                       size_t *out_count)
{
    struct arena scratch CLEANUP(arena_done) = {0};
    HKEY key CLEANUP(native_close_key) = open_key(key_path);
    wchar_t *name = arena_alloc(&scratch, NAME_UNITS * sizeof *name);
    size_t capacity = 0;
    *out_items = NULL;
    *out_count = 0;
    for (DWORD i = 0; key != NULL && *out_count < ITEMS_MAX; i++) {
        DWORD length = NAME_UNITS;
        struct registry_value value;
        if (RegEnumValueW(key, i, name, &length, NULL, NULL, NULL, NULL) != 0) {
            return;
        }
        if (read_value(arena, key, name, &value)) {
            *(struct registry_value *)arena_push(arena, out_items, out_count, &capacity,
                                                 sizeof **out_items) = value;
        }
    }
}

void os_registry_subkeys(struct arena *arena, const char *key_path, char ***out_names,
                         size_t *out_count)
{
    HKEY key CLEANUP(native_close_key) = open_key(key_path);
    size_t capacity = 0;
    *out_names = NULL;
    *out_count = 0;
    for (DWORD i = 0; key != NULL && *out_count < ITEMS_MAX; i++) {
        wchar_t name[256]; /* the registry's own limit, with the NUL */
        DWORD length = 256;
        if (RegEnumKeyExW(key, i, name, &length, NULL, NULL, NULL, NULL) != 0) {
            return;
        }
        *(char **)arena_push(arena, out_names, out_count, &capacity, sizeof **out_names) =
            wide_to_text(arena, name);
    }
}

/* --- variables --- */

/* Adds what begins at `at`, a variable or one character. Returns the bytes taken. */
static size_t expand_one(struct arena *arena, const char *at, registry_lookup *lookup,
                         void *context, struct buf *out)
{
    const char *end = *at == '%' ? strchr(at + 1, '%') : NULL;
    if (end != NULL && end > at + 1) {
        const char *value = lookup(context, arena_strndup(arena, at + 1, (size_t)(end - at) - 1));
        if (value != NULL) {
            buf_add_text(out, value, NULL);
            return (size_t)(end - at) + 1;
        }
    }
    buf_add(out, at, 1, NULL);
    return 1;
}

char *registry_expand(struct arena *arena, const char *text, registry_lookup *lookup, void *context)
{
    struct arena scratch CLEANUP(arena_done) = {0};
    struct buf out CLEANUP(buf_done);
    buf_init(&out, EXPANDED_MAX);
    buf_add_text(&out, "", NULL);
    while (*text != '\0') {
        text += expand_one(&scratch, text, lookup, context, &out);
    }
    text_utf8_trim(out.data);
    return arena_strdup(arena, out.data);
}

const char *registry_process_variable(struct arena *arena, const char *name)
{
    struct arena scratch CLEANUP(arena_done) = {0};
    const wchar_t *wide = wide_from_text(&scratch, name, NULL);
    DWORD size = wide == NULL ? 0 : GetEnvironmentVariableW(wide, NULL, 0);
    for (int tries = 0; size > 0 && tries < 4; tries++) {
        wchar_t *value = arena_alloc(&scratch, size * sizeof *value);
        DWORD length = GetEnvironmentVariableW(wide, value, size);
        if (length < size) {
            return wide_to_text_n(arena, value, length);
        }
        size = length;
    }
    return NULL;
}

/* Whose variables a value speaks of: in another account's part of HKEY_USERS, not ours. */
struct speaker {
    struct arena *arena;
    const char *profile; /* NULL: this process's own account */
};

static const char *look_up(void *context, const char *name)
{
    static const struct {
        const char *name;
        const char *below;
    } in_profile[] = {
        {"USERPROFILE", ""},
        {"APPDATA", "\\AppData\\Roaming"},
        {"LOCALAPPDATA", "\\AppData\\Local"},
    };
    const struct speaker *speaker = context;
    for (size_t i = 0; speaker->profile != NULL && i < sizeof in_profile / sizeof *in_profile;
         i++) {
        if (text_equal_nocase(name, in_profile[i].name)) {
            return arena_printf(speaker->arena, "%s%s", speaker->profile, in_profile[i].below);
        }
    }
    return registry_process_variable(speaker->arena, name);
}

static const char *profile_of(struct arena *arena, const char *key_path)
{
    if (!text_has_prefix_nocase(key_path, "HKU\\S-1-")) {
        return NULL;
    }
    const char *sid = key_path + strlen("HKU\\");
    return os_registry_text(
        arena,
        arena_printf(arena,
                     "HKLM\\SOFTWARE\\Microsoft\\Windows NT\\CurrentVersion\\ProfileList\\%.*s",
                     (int)strcspn(sid, "\\"), sid),
        "ProfileImagePath");
}

const char *os_registry_text(struct arena *arena, const char *key_path, const char *value_name)
{
    struct arena scratch CLEANUP(arena_done) = {0};
    struct registry_value value;
    if (!registry_read(arena, key_path, value_name, &value)) {
        return NULL;
    }
    if (!value.expandable) {
        return value.text;
    }
    struct speaker speaker = {.arena = &scratch, .profile = profile_of(&scratch, key_path)};
    return registry_expand(arena, value.text, look_up, &speaker);
}
