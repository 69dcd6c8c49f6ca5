#include "os/path.h"

#include <stdint.h>

#include "base/cleanup.h"
#include "os/win32/native.h"
#include "os/win32/wide.h"

const char os_path_separator = '\\';
const char os_path_list_separator = ';';

enum { LIST_MAX = 4096 };

static bool is_separator(char c)
{
    return c == '\\' || c == '/';
}

static bool has_drive(const char *path)
{
    char c = path[0];
    return ((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z')) && path[1] == ':';
}

static bool has_two_separators(const char *path)
{
    return is_separator(path[0]) && is_separator(path[1]);
}

/* Behind the component at `at` and the separators that follow it. */
static size_t skip_component(const char *path, size_t at)
{
    while (path[at] != '\0' && !is_separator(path[at])) {
        at++;
    }
    while (is_separator(path[at])) {
        at++;
    }
    return at;
}

/* The part of a path that has no parent: "C:\", "C:", "\", "\\server\share\", "\\?\C:\". */
static size_t root_length(const char *path)
{
    if (has_drive(path)) {
        return is_separator(path[2]) ? skip_component(path, 2) : 2;
    }
    if (!has_two_separators(path)) {
        return skip_component(path, 0) * (size_t)is_separator(path[0]);
    }
    size_t at = skip_component(path, 2); /* the server, or "?" */
    bool prefixed = (path[2] == '?' || path[2] == '.') && is_separator(path[3]);
    if (prefixed && (path[at] | 0x20) == 'u' && (path[at + 1] | 0x20) == 'n') {
        at = skip_component(path, skip_component(path, at)); /* UNC\server\ */
    }
    return skip_component(path, at);
}

bool os_path_is_absolute(const char *path)
{
    return has_two_separators(path) || (has_drive(path) && is_separator(path[2]));
}

static void use_backslashes(char *path)
{
    for (; *path != '\0'; path++) {
        *path = *path == '/' ? '\\' : *path;
    }
}

char *os_path_join(struct arena *arena, const char *directory, const char *name)
{
    size_t length = strlen(directory);
    bool bare = length == 0 || os_path_is_absolute(name);
    bool separated = bare || is_separator(directory[length - 1]);
    char *joined =
        arena_printf(arena, "%s%s%s", bare ? "" : directory, separated ? "" : "\\", name);
    use_backslashes(joined);
    return joined;
}

/* Without the separators at the end, but never shorter than its root. */
static size_t trimmed_length(const char *path, size_t root)
{
    size_t length = strlen(path);
    while (length > root && is_separator(path[length - 1])) {
        length--;
    }
    return length;
}

char *os_path_parent(struct arena *arena, const char *path)
{
    size_t root = root_length(path);
    size_t length = trimmed_length(path, root);
    while (length > root && !is_separator(path[length - 1])) {
        length--;
    }
    while (length > root && is_separator(path[length - 1])) {
        length--;
    }
    char *parent = length == 0 ? arena_strdup(arena, ".") : arena_strndup(arena, path, length);
    use_backslashes(parent);
    return parent;
}

const char *os_path_name(const char *path)
{
    size_t at = strlen(path);
    size_t root = root_length(path);
    while (at > root && !is_separator(path[at - 1])) {
        at--;
    }
    return path + at;
}

/* The text as it is compared: backslashes, none at the end but a root's, no doubled ones. */
static wchar_t *comparable(struct arena *arena, const char *path)
{
    wchar_t *wide = wide_from_text(arena, path, NULL);
    if (wide == NULL) {
        return NULL;
    }
    size_t length = 0;
    for (size_t i = 0; wide[i] != L'\0'; i++) {
        wchar_t c = wide[i] == L'/' ? L'\\' : wide[i];
        if (c != L'\\' || length < 2 || wide[length - 1] != L'\\') {
            wide[length++] = c;
        }
    }
    bool is_root = length <= 1 || (length == 3 && wide[1] == L':');
    length -= !is_root && wide[length - 1] == L'\\';
    wide[length] = L'\0';
    return wide;
}

static bool equal_wide(const wchar_t *a, size_t a_length, const wchar_t *b, size_t b_length)
{
    return a_length <= INT32_MAX && b_length <= INT32_MAX &&
           CompareStringOrdinal(a, (int)a_length, b, (int)b_length, TRUE) == CSTR_EQUAL;
}

bool os_path_equal(const char *a, const char *b)
{
    struct arena scratch CLEANUP(arena_done) = {0};
    const wchar_t *wide_a = comparable(&scratch, a);
    const wchar_t *wide_b = comparable(&scratch, b);
    if (wide_a == NULL || wide_b == NULL) {
        return strcmp(a, b) == 0;
    }
    return equal_wide(wide_a, wcslen(wide_a), wide_b, wcslen(wide_b));
}

/* ".." could lead out of the ancestor again. */
static bool climbs(const wchar_t *rest)
{
    while (*(rest += wcsspn(rest, L"\\")) != L'\0') {
        size_t length = wcscspn(rest, L"\\");
        if (length == 2 && rest[0] == L'.' && rest[1] == L'.') {
            return true;
        }
        rest += length;
    }
    return false;
}

bool os_path_is_below(const char *path, const char *ancestor)
{
    struct arena scratch CLEANUP(arena_done) = {0};
    const wchar_t *inner = comparable(&scratch, path);
    const wchar_t *outer = comparable(&scratch, ancestor);
    if (inner == NULL || outer == NULL) {
        return strcmp(path, ancestor) == 0;
    }
    size_t inner_length = wcslen(inner), length = wcslen(outer);
    if (length == 0 || inner_length < length || !equal_wide(inner, length, outer, length)) {
        return false;
    }
    bool whole = inner_length == length || outer[length - 1] == L'\\' || inner[length] == L'\\';
    return whole && !climbs(inner + length);
}

/* --- the canonical form --- */

/* NULL and the error code when the volume has no name of this kind. */
static wchar_t *final_path(struct arena *arena, HANDLE file, DWORD kind, DWORD *out_error)
{
    DWORD size = GetFinalPathNameByHandleW(file, NULL, 0, kind);
    wchar_t *path = size == 0 ? NULL : arena_alloc(arena, (size + 1) * sizeof *path);
    if (path == NULL || GetFinalPathNameByHandleW(file, path, size, kind) == 0) {
        *out_error = GetLastError();
        return NULL;
    }
    return path;
}

/* Wine 8 fails with ERROR_MORE_DATA beyond 130 characters. There, the kernel's name of a file is a
   path under `\??\` (on Windows it begins with the device, and this is never asked). */
static wchar_t *object_path(struct arena *arena, HANDLE file)
{
    typedef LONG NTAPI query_function(HANDLE, ULONG, PVOID, ULONG, PULONG);
    query_function *query = (query_function *)native_find(L"ntdll.dll", "NtQueryObject");
    struct {
        USHORT length, room; /* UNICODE_STRING, lengths in bytes */
        wchar_t *text;
        wchar_t space[32768];
    } *name = arena_alloc(arena, sizeof *name);
    const ULONG object_name = 1;
    ULONG size = 0;
    if (query == NULL || query(file, object_name, name, sizeof *name, &size) != 0 ||
        wcsncmp(name->text, L"\\??\\", 4) != 0) {
        return NULL;
    }
    name->text[name->length / sizeof *name->text] = L'\0';
    name->text[1] = L'\\'; /* \??\ -> \\?\ */
    return name->text;
}

int os_path_resolve(struct arena *arena, const char *root, const char *path, char **out_path,
                    struct err *err)
{
    struct err own_err = {0};
    err = wide_reason(err, &own_err);
    struct arena scratch CLEANUP(arena_done) = {0};
    if (root != NULL) {
        return err_set(err, ERR_UNSUPPORTED, "a root directory is not supported on Windows");
    }
    wchar_t *wide = wide_path(&scratch, path, err);
    if (wide == NULL) {
        return err_context(err, "%s", path);
    }
    const DWORD share = FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE;
    HANDLE file CLEANUP(native_close) =
        CreateFileW(wide, 0, share, NULL, OPEN_EXISTING, FILE_FLAG_BACKUP_SEMANTICS, NULL);
    if (file == INVALID_HANDLE_VALUE) {
        return wide_error(err, GetLastError(), "%s", path);
    }
    DWORD error = 0;
    wchar_t *final = final_path(&scratch, file, VOLUME_NAME_DOS, &error);
    if (final == NULL && error == ERROR_PATH_NOT_FOUND) {
        /* A volume without a drive letter or a mount point. */
        final = final_path(&scratch, file, VOLUME_NAME_GUID, &error);
    }
    if (final == NULL && error == ERROR_MORE_DATA) {
        final = object_path(&scratch, file);
    }
    if (final == NULL && (error == ERROR_INVALID_FUNCTION || error == ERROR_NOT_SUPPORTED)) {
        final = wide; /* drivers of some RAM disks answer nothing: then its own name has to do */
    }
    if (final == NULL) {
        return wide_error(err, error, "%s", path);
    }
    *out_path = wide_path_to_text(arena, final);
    return 0;
}

char *os_path_in_root(struct arena *arena, const char *root, const char *path)
{
    /* POSIX only: on Windows there is no root. */
    return root == NULL ? arena_strdup(arena, path) : os_path_join(arena, root, path);
}

/* --- where it lies --- */

bool os_path_is_network(const char *path)
{
    const char *rest = path;
    if (has_two_separators(path)) {
        bool prefixed = (path[2] == '?' || path[2] == '.') && is_separator(path[3]);
        if (!prefixed) {
            return true;
        }
        rest = path + 4;
        if (_strnicmp(rest, "UNC", 3) == 0 && is_separator(rest[3])) {
            return true;
        }
    }
    if (!has_drive(rest)) {
        return false;
    }
    wchar_t root[] = L"X:\\";
    root[0] = (wchar_t)rest[0];
    return GetDriveTypeW(root) == DRIVE_REMOTE;
}

static bool is_blank(char c)
{
    return c == ' ' || c == '\t';
}

/* One entry, quotes removed, into `entry`; NULL when nothing is left. A quoted ';' belongs to the
   entry, as for cmd.exe. Moves *at behind the entry and its separator. */
static char *next_entry(char *entry, const char **at)
{
    size_t length = 0;
    bool quoted = false;
    for (; **at != '\0' && (quoted || **at != ';'); (*at)++) {
        if (**at == '"') {
            quoted = !quoted;
        } else {
            entry[length++] = **at;
        }
    }
    *at += **at == ';';
    while (length > 0 && is_blank(entry[length - 1])) {
        length--;
    }
    entry[length] = '\0';
    while (is_blank(*entry)) {
        entry++;
    }
    return *entry == '\0' ? NULL : entry;
}

void os_path_list_split(struct arena *arena, const char *list, char ***out_items, size_t *out_count)
{
    struct arena scratch CLEANUP(arena_done) = {0};
    char **items = NULL;
    size_t count = 0, capacity = 0;
    char *room = arena_alloc(&scratch, strlen(list) + 1); /* for the longest entry */
    while (*list != '\0' && count < LIST_MAX) {
        const char *entry = next_entry(room, &list);
        if (entry != NULL) {
            *(char **)arena_push(arena, &items, &count, &capacity, sizeof *items) =
                arena_strdup(arena, entry);
        }
    }
    *out_items = items;
    *out_count = count;
}
