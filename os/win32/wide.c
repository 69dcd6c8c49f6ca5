#include "os/win32/wide.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/cleanup.h"

/* --- UTF-8 and UTF-16 --- */

/* Reads one code point, surrogates included. Returns its bytes, 0 when ill-formed (a NUL ends a
   sequence too, so nothing behind the text is read). */
static size_t decode(const unsigned char *bytes, uint32_t *out_point)
{
    static const uint32_t smallest[] = {0, 0, 0x80, 0x800, 0x10000};
    size_t length = bytes[0] < 0x80   ? 1
                    : bytes[0] < 0xC2 ? 0
                    : bytes[0] < 0xE0 ? 2
                    : bytes[0] < 0xF0 ? 3
                    : bytes[0] < 0xF5 ? 4
                                      : 0;
    uint32_t point = length < 2 ? bytes[0] : bytes[0] & (0x7Fu >> length);
    for (size_t i = 1; i < length; i++) {
        if ((bytes[i] & 0xC0) != 0x80) {
            return 0;
        }
        point = point << 6 | (bytes[i] & 0x3Fu);
    }
    if (length == 0 || point < smallest[length] || point > 0x10FFFF) {
        return 0;
    }
    *out_point = point;
    return length;
}

static size_t encode(uint32_t point, char *out)
{
    if (point < 0x80) {
        out[0] = (char)point;
        return 1;
    }
    size_t length = point < 0x800 ? 2 : point < 0x10000 ? 3 : 4;
    for (size_t i = length - 1; i > 0; i--) {
        out[i] = (char)(0x80 | (point & 0x3F));
        point >>= 6;
    }
    out[0] = (char)((0xF00u >> length & 0xFF) | point);
    return length;
}

static bool is_high(uint32_t unit)
{
    return unit >= 0xD800 && unit < 0xDC00;
}

static bool is_low(uint32_t unit)
{
    return unit >= 0xDC00 && unit < 0xE000;
}

wchar_t *wide_from_text(struct arena *arena, const char *text, struct err *err)
{
    const unsigned char *at = (const unsigned char *)text;
    wchar_t *wide = arena_alloc(arena, (strlen(text) + 1) * sizeof *wide);
    size_t length = 0;
    while (*at != '\0') {
        uint32_t point = 0;
        size_t used = decode(at, &point);
        /* Two halves written one by one would give a name a second spelling. */
        bool halves = used > 0 && is_low(point) && length > 0 && is_high(wide[length - 1]);
        if (used == 0 || halves) {
            err_set(err, ERR_FORMAT, "not valid UTF-8 at byte %zu",
                    (size_t)(at - (const unsigned char *)text));
            return NULL;
        }
        at += used;
        if (point >= 0x10000) {
            wide[length++] = (wchar_t)(0xD800 + ((point - 0x10000) >> 10));
            wide[length++] = (wchar_t)(0xDC00 + ((point - 0x10000) & 0x3FF));
        } else {
            wide[length++] = (wchar_t)point;
        }
    }
    wide[length] = L'\0';
    return wide;
}

char *wide_to_text_n(struct arena *arena, const wchar_t *wide, size_t length)
{
    char *text = arena_alloc(arena, length * 3 + 1);
    size_t size = 0;
    for (size_t i = 0; i < length; i++) {
        uint32_t point = wide[i];
        if (is_high(point) && i + 1 < length && is_low(wide[i + 1])) {
            point = 0x10000 + ((point - 0xD800) << 10) + (wide[++i] - 0xDC00u);
        }
        size += encode(point, text + size);
    }
    text[size] = '\0';
    return text;
}

char *wide_to_text(struct arena *arena, const wchar_t *wide)
{
    return wide_to_text_n(arena, wide, wcslen(wide));
}

wchar_t *wide_join(struct arena *arena, const wchar_t *a, const wchar_t *b)
{
    size_t a_length = wcslen(a), b_size = (wcslen(b) + 1) * sizeof *b;
    wchar_t *joined = arena_alloc(arena, a_length * sizeof *a + b_size);
    memcpy(joined, a, a_length * sizeof *a);
    memcpy(joined + a_length, b, b_size);
    return joined;
}

/* --- paths --- */

static bool is_letter(wchar_t c)
{
    return (c >= L'a' && c <= L'z') || (c >= L'A' && c <= L'Z');
}

static bool begins(const wchar_t *text, const wchar_t *prefix)
{
    return _wcsnicmp(text, prefix, wcslen(prefix)) == 0;
}

static bool is_drive_root(const wchar_t *path)
{
    return is_letter(path[0]) && path[1] == L':' && (path[2] == L'\\' || path[2] == L'\0');
}

/* The length of the next component, up to a backslash or the end. */
static size_t component(const wchar_t *at)
{
    return wcscspn(at, L"\\");
}

static const wchar_t *behind_separators(const wchar_t *at)
{
    return at + wcsspn(at, L"\\");
}

/* root + the components of `rest`, without the empty ones, "." and "..". `root` ends with '\\'. */
static wchar_t *assemble(struct arena *arena, const wchar_t *root, const wchar_t *rest)
{
    size_t root_length = wcslen(root), length = root_length;
    wchar_t *path = arena_alloc(arena, (root_length + wcslen(rest) + 2) * sizeof *path);
    memcpy(path, root, root_length * sizeof *path);
    while (*(rest = behind_separators(rest)) != L'\0') {
        size_t size = component(rest);
        if (size == 2 && rest[0] == L'.' && rest[1] == L'.') {
            length -= length > root_length; /* the separator it ends with */
            while (length > root_length && path[length - 1] != L'\\') {
                length--;
            }
        } else if (size != 1 || rest[0] != L'.') {
            memcpy(path + length, rest, size * sizeof *path);
            length += size;
            path[length++] = L'\\';
        }
        rest += size;
    }
    length -= length > root_length;
    path[length] = L'\0';
    return path;
}

static wchar_t *device_refused(const wchar_t *path, struct err *err)
{
    struct arena scratch CLEANUP(arena_done) = {0};
    err_set(err, ERR_UNSUPPORTED, "'%s' is a device, not a file", wide_to_text(&scratch, path));
    return NULL;
}

/* `rest` is "server\share\...". */
static wchar_t *unc_path(struct arena *arena, const wchar_t *rest, struct err *err)
{
    size_t server = component(rest);
    const wchar_t *share = behind_separators(rest + server);
    size_t share_length = component(share);
    if (begins(share, L"pipe\\") || begins(share, L"mailslot\\")) {
        return device_refused(rest, err);
    }
    if (server == 0 || share_length == 0) {
        err_set(err, ERR_NOT_FOUND, "a network path needs a server and a share");
        return NULL;
    }
    wchar_t *root = arena_alloc(arena, (server + share_length + 16) * sizeof *root);
    swprintf(root, server + share_length + 16, L"\\\\?\\UNC\\%.*ls\\%.*ls\\", (int)server, rest,
             (int)share_length, share);
    return assemble(arena, root, share + share_length);
}

static wchar_t *drive_path(struct arena *arena, const wchar_t *path)
{
    wchar_t root[] = L"\\\\?\\X:\\";
    root[4] = path[0];
    return assemble(arena, root, path + 2);
}

/* `rest` is what follows `\\?\` or `\\.\`. */
static wchar_t *prefixed_path(struct arena *arena, const wchar_t *path, struct err *err)
{
    const wchar_t *rest = path + 4;
    if (begins(rest, L"UNC\\")) {
        return unc_path(arena, behind_separators(rest + 4), err);
    }
    if (is_drive_root(rest) && rest[2] == L'\\') {
        return drive_path(arena, rest);
    }
    size_t volume = component(rest);
    if (begins(rest, L"Volume{") && rest[volume] == L'\\') {
        wchar_t *root = arena_alloc(arena, (volume + 8) * sizeof *root);
        swprintf(root, volume + 8, L"\\\\?\\%.*ls\\", (int)volume, rest);
        return assemble(arena, root, rest + volume);
    }
    return device_refused(path, err);
}

/* The current directory of the process, or of a drive ("X:."). */
static wchar_t *current_directory(struct arena *arena, const wchar_t *of, struct err *err)
{
    DWORD size = GetFullPathNameW(of, 0, NULL, NULL);
    wchar_t *directory = size == 0 ? NULL : arena_alloc(arena, (size + 1) * sizeof *directory);
    if (directory == NULL || GetFullPathNameW(of, size, directory, NULL) == 0) {
        wide_error(err, GetLastError(), "no current directory");
        return NULL;
    }
    return directory;
}

static wchar_t *absolute_path(struct arena *arena, const wchar_t *path, struct err *err)
{
    if (begins(path, L"\\\\?\\") || begins(path, L"\\\\.\\") || begins(path, L"\\??\\")) {
        return prefixed_path(arena, path, err);
    }
    return path[0] == L'\\' ? unc_path(arena, behind_separators(path), err)
                            : drive_path(arena, path);
}

wchar_t *wide_path(struct arena *arena, const char *text, struct err *err)
{
    wchar_t *path = wide_from_text(arena, text, err);
    if (path == NULL) {
        return NULL;
    }
    if (*path == L'\0') {
        err_set(err, ERR_NOT_FOUND, "an empty path");
        return NULL;
    }
    for (wchar_t *at = path; *at != L'\0'; at++) {
        *at = *at == L'/' ? L'\\' : *at;
    }
    bool drive = is_letter(path[0]) && path[1] == L':';
    if (begins(path, L"\\\\") || begins(path, L"\\??\\") || (drive && path[2] == L'\\')) {
        return absolute_path(arena, path, err);
    }
    wchar_t of[] = L"X:.";
    of[0] = path[0];
    wchar_t *base = current_directory(arena, drive ? of : path[0] == L'\\' ? L"\\" : L".", err);
    if (base == NULL) {
        return NULL;
    }
    base = wide_join(arena, base, L"\\");
    return absolute_path(arena, wide_join(arena, base, drive ? path + 2 : path), err);
}

char *wide_path_to_text(struct arena *arena, const wchar_t *path)
{
    if (begins(path, L"\\\\?\\UNC\\")) {
        char *text = wide_to_text(arena, path + 6);
        text[0] = '\\';
        return text;
    }
    bool drive = begins(path, L"\\\\?\\") && is_drive_root(path + 4);
    return wide_to_text(arena, drive ? path + 4 : path);
}

const wchar_t *wide_path_plain(struct arena *arena, const wchar_t *path)
{
    const size_t old_limit = 260; /* of paths without the prefix, with the NUL and `\\?\` here */
    if (wcslen(path) >= old_limit) {
        return path;
    }
    if (begins(path, L"\\\\?\\UNC\\")) {
        return wide_join(arena, L"\\\\", path + 8);
    }
    return begins(path, L"\\\\?\\") && is_drive_root(path + 4) ? path + 4 : path;
}

/* --- errors --- */

/* mingw-w64 10 does not have these. */
enum { VIRUS_INFECTED = 225, ELEVATION_REQUIRED = 740 };

static const struct {
    DWORD error;
    int code;
} error_codes[] = {
    {ERROR_FILE_NOT_FOUND, ERR_NOT_FOUND},
    {ERROR_PATH_NOT_FOUND, ERR_NOT_FOUND},
    {ERROR_INVALID_NAME, ERR_NOT_FOUND}, /* no file can have it: wildcards, control characters */
    {ERROR_BAD_PATHNAME, ERR_NOT_FOUND},
    {ERROR_BAD_NETPATH, ERR_NOT_FOUND},
    {ERROR_BAD_NET_NAME, ERR_NOT_FOUND},
    {ERROR_INVALID_DRIVE, ERR_NOT_FOUND},
    {ERROR_NOT_READY, ERR_NOT_FOUND}, /* a drive without a medium */
    {ERROR_MOD_NOT_FOUND, ERR_NOT_FOUND},
    {ERROR_PROC_NOT_FOUND, ERR_NOT_FOUND},
    {ERROR_DELETE_PENDING, ERR_NOT_FOUND},
    {ERROR_ACCESS_DENIED, ERR_PERMISSION},
    {ERROR_PRIVILEGE_NOT_HELD, ERR_PERMISSION},
    {ERROR_NETWORK_ACCESS_DENIED, ERR_PERMISSION},
    {ERROR_LOGON_FAILURE, ERR_PERMISSION},
    {ELEVATION_REQUIRED, ERR_PERMISSION},
    {VIRUS_INFECTED, ERR_PERMISSION},
    {ERROR_SHARING_VIOLATION, ERR_BUSY},
    {ERROR_LOCK_VIOLATION, ERR_BUSY},
    {ERROR_USER_MAPPED_FILE, ERR_BUSY},
    {ERROR_BUSY, ERR_BUSY},
    {ERROR_FILE_EXISTS, ERR_EXISTS},
    {ERROR_ALREADY_EXISTS, ERR_EXISTS},
    {ERROR_DIR_NOT_EMPTY, ERR_EXISTS},
    {ERROR_CANT_RESOLVE_FILENAME, ERR_LIMIT}, /* links that lead in a circle */
    {ERROR_FILENAME_EXCED_RANGE, ERR_LIMIT},
    {ERROR_BAD_EXE_FORMAT, ERR_FORMAT},
    {ERROR_NOT_SUPPORTED, ERR_UNSUPPORTED},
    {ERROR_INVALID_FUNCTION, ERR_UNSUPPORTED},
    {ERROR_CALL_NOT_IMPLEMENTED, ERR_UNSUPPORTED},
    {ERROR_SEM_TIMEOUT, ERR_TIMEOUT},
    {WAIT_TIMEOUT, ERR_TIMEOUT},
    {ERROR_OPERATION_ABORTED, ERR_CANCELLED},
    {ERROR_FILE_CORRUPT, ERR_CORRUPT},
    {ERROR_DISK_CORRUPT, ERR_CORRUPT},
};

int wide_error_code(DWORD error)
{
    for (size_t i = 0; i < sizeof error_codes / sizeof *error_codes; i++) {
        if (error_codes[i].error == error) {
            return error_codes[i].code;
        }
    }
    return ERR_IO;
}

const char *wide_error_text(struct arena *arena, DWORD error)
{
    wchar_t words[512];
    DWORD flags = FORMAT_MESSAGE_FROM_SYSTEM | FORMAT_MESSAGE_IGNORE_INSERTS |
                  FORMAT_MESSAGE_MAX_WIDTH_MASK; /* that: no line breaks */
    DWORD length = FormatMessageW(flags, NULL, error, 0, words, sizeof words / sizeof *words, NULL);
    while (length > 0 && wcschr(L" .\r\n", words[length - 1]) != NULL) {
        length--;
    }
    return length == 0 ? NULL : wide_to_text_n(arena, words, length);
}

int wide_error(struct err *err, DWORD error, const char *format, ...)
{
    struct arena scratch CLEANUP(arena_done) = {0};
    va_list arguments;
    va_start(arguments, format);
    const char *context = arena_vprintf(&scratch, format, arguments);
    va_end(arguments);
    const char *words = wide_error_text(&scratch, error);
    err_set(err, wide_error_code(error), "%s (error %lu)",
            words != NULL ? words : "Windows gives no reason", (unsigned long)error);
    err_context(err, "%s", context);
    return wide_error_code(error);
}
