#include "os/file.h"

#include <stdatomic.h>

#include "base/cleanup.h"
#include "os/secure.h"
#include "os/win32/access.h"
#include "os/win32/map_guard.h"
#include "os/win32/native.h"
#include "os/win32/wide.h"

enum {
    SHARE_ALL = FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE,
    REPLACE_TRIES = 20, /* a scanner or a reader keeps the old file open for a moment */
    REPLACE_WAIT_MS = 25,
    PIECE_BYTES = 1 << 24,
};

/* --- what it is --- */

static void fill_info(const BY_HANDLE_FILE_INFORMATION *from, struct os_file_info *out_info)
{
    *out_info = (struct os_file_info){
        .type =
            from->dwFileAttributes & FILE_ATTRIBUTE_DIRECTORY ? OS_FILE_DIRECTORY : OS_FILE_REGULAR,
        .modified_at_ms = native_unix_ms(from->ftLastWriteTime),
        .device = from->dwVolumeSerialNumber,
        .inode = native_join(from->nFileIndexHigh, from->nFileIndexLow),
    };
    if (out_info->type == OS_FILE_REGULAR) {
        out_info->size_bytes = native_join(from->nFileSizeHigh, from->nFileSizeLow);
    }
}

/* Opens what a path leads to, links followed, and says what that is. Directories open too, so that
   they can be told from what may not be read. */
static int open_any(const char *path, DWORD access, DWORD flags, HANDLE *out_file,
                    BY_HANDLE_FILE_INFORMATION *out_raw, struct err *err)
{
    struct err own_err = {0};
    err = wide_reason(err, &own_err);
    struct arena scratch CLEANUP(arena_done) = {0};
    wchar_t *wide = wide_path(&scratch, path, err);
    if (wide == NULL) {
        return err_context(err, "%s", path);
    }
    HANDLE file CLEANUP(native_close) = CreateFileW(wide, access, SHARE_ALL, NULL, OPEN_EXISTING,
                                                    FILE_FLAG_BACKUP_SEMANTICS | flags, NULL);
    if (file == INVALID_HANDLE_VALUE) {
        return wide_error(err, GetLastError(), "%s", path);
    }
    if (GetFileType(file) != FILE_TYPE_DISK) {
        return err_set(err, ERR_UNSUPPORTED, "%s: not a file", path);
    }
    if (!GetFileInformationByHandle(file, out_raw)) {
        return wide_error(err, GetLastError(), "%s", path);
    }
    *out_file = file;
    file = NULL;
    return 0;
}

int os_file_stat(const char *path, struct os_file_info *out_info, struct err *err)
{
    HANDLE file CLEANUP(native_close) = NULL;
    BY_HANDLE_FILE_INFORMATION raw;
    int code = open_any(path, FILE_READ_ATTRIBUTES, 0, &file, &raw, err);
    if (code == 0) {
        fill_info(&raw, out_info);
    }
    return code;
}

/* Opens a regular file whose bytes are here: reading one that is kept in a cloud or on tape would
   fetch it, which may take minutes or cost money. */
static int open_regular(const char *path, DWORD flags, HANDLE *out_file,
                        struct os_file_info *out_info, struct err *err)
{
    const DWORD recall_on_data_access = 0x00400000; /* mingw-w64 10 has no name for it */
    const DWORD elsewhere = FILE_ATTRIBUTE_OFFLINE | recall_on_data_access;
    BY_HANDLE_FILE_INFORMATION raw;
    HANDLE file CLEANUP(native_close) = NULL;
    int code = open_any(path, GENERIC_READ, flags, &file, &raw, err);
    if (code != 0) {
        return code;
    }
    fill_info(&raw, out_info);
    if (out_info->type != OS_FILE_REGULAR) {
        return err_set(err, ERR_UNSUPPORTED, "%s: a directory, not a file", path);
    }
    if ((raw.dwFileAttributes & elsewhere) != 0) {
        return err_set(err, ERR_UNSUPPORTED, "%s: its content is not on this machine", path);
    }
    *out_file = file;
    file = NULL;
    return 0;
}

/* --- directories --- */

static enum os_file_type entry_type(const WIN32_FIND_DATAW *found)
{
    if ((found->dwFileAttributes & FILE_ATTRIBUTE_REPARSE_POINT) != 0) {
        switch (found->dwReserved0) {
        case IO_REPARSE_TAG_SYMLINK:
        case IO_REPARSE_TAG_MOUNT_POINT:
            return OS_FILE_LINK;
        case 0x8000001BL: /* IO_REPARSE_TAG_APPEXECLINK: Store programs' stubs, nothing to read */
        case 0x80000023L: /* IO_REPARSE_TAG_AF_UNIX */
            return OS_FILE_OTHER;
        default: /* compressed, deduplicated, in a cloud: a file all the same */
            break;
        }
    }
    return found->dwFileAttributes & FILE_ATTRIBUTE_DIRECTORY ? OS_FILE_DIRECTORY : OS_FILE_REGULAR;
}

static bool is_dots(const wchar_t *name)
{
    return wcscmp(name, L".") == 0 || wcscmp(name, L"..") == 0;
}

static int compare_entries(const void *a, const void *b)
{
    const struct os_dir_entry *left = a, *right = b;
    return strcmp(left->name, right->name);
}

static void find_done(HANDLE *find)
{
    if (*find != NULL && *find != INVALID_HANDLE_VALUE) {
        FindClose(*find);
    }
}

/* The error of an enumeration that ended, 0 at the end of the directory. */
static DWORD collect(struct arena *arena, HANDLE find, WIN32_FIND_DATAW *found, size_t limit,
                     struct os_dir_list *list)
{
    size_t capacity = 0;
    do {
        if (is_dots(found->cFileName)) {
            continue;
        }
        if (list->count == limit) {
            list->cut = true;
            return 0;
        }
        struct os_dir_entry *entry =
            arena_push(arena, &list->entries, &list->count, &capacity, sizeof *list->entries);
        entry->name = wide_to_text(arena, found->cFileName);
        entry->type = entry_type(found);
    } while (FindNextFileW(find, found));
    DWORD error = GetLastError();
    return error == ERROR_NO_MORE_FILES ? 0 : error;
}

int os_dir_read(struct arena *arena, const char *path, size_t limit, struct os_dir_list *out_list,
                struct err *err)
{
    struct err own_err = {0};
    err = wide_reason(err, &own_err);
    struct arena scratch CLEANUP(arena_done) = {0};
    wchar_t *wide = wide_path(&scratch, path, err);
    if (wide == NULL) {
        return err_context(err, "%s", path);
    }
    bool root = wide[wcslen(wide) - 1] == L'\\';
    wchar_t *pattern = wide_join(&scratch, wide, root ? L"*" : L"\\*");
    WIN32_FIND_DATAW found;
    struct os_dir_list list = {0};
    HANDLE find CLEANUP(find_done) = FindFirstFileExW(
        pattern, FindExInfoBasic, &found, FindExSearchNameMatch, NULL, FIND_FIRST_EX_LARGE_FETCH);
    DWORD error =
        find == INVALID_HANDLE_VALUE ? GetLastError() : collect(arena, find, &found, limit, &list);
    if (error == ERROR_FILE_NOT_FOUND && GetFileAttributesW(wide) != INVALID_FILE_ATTRIBUTES) {
        error = 0; /* the root of an empty drive: not even "." */
    }
    if (error != 0) {
        return wide_error(err, error, "%s", path);
    }
    if (list.count > 0) {
        qsort(list.entries, list.count, sizeof *list.entries, compare_entries);
    }
    *out_list = list;
    return 0;
}

static int make_directories(wchar_t *path, size_t root, struct err *err, const char *shown)
{
    if (CreateDirectoryW(path, NULL)) {
        return 0;
    }
    DWORD error = GetLastError();
    if (error == ERROR_PATH_NOT_FOUND) {
        wchar_t *last = wcsrchr(path, L'\\');
        if (last != NULL && (size_t)(last - path) > root) {
            *last = L'\0';
            int code = make_directories(path, root, err, shown);
            *last = L'\\';
            if (code != 0) {
                return code;
            }
            error = CreateDirectoryW(path, NULL) ? 0 : GetLastError();
        }
    }
    if (error == 0) {
        return 0;
    }
    DWORD attributes = GetFileAttributesW(path);
    if (attributes != INVALID_FILE_ATTRIBUTES && (attributes & FILE_ATTRIBUTE_DIRECTORY) != 0) {
        return 0; /* it is there; the root of a drive answers ERROR_ACCESS_DENIED */
    }
    return wide_error(err, error, "cannot make directory %s", shown);
}

int os_dir_make(const char *path, struct err *err)
{
    struct err own_err = {0};
    err = wide_reason(err, &own_err);
    struct arena scratch CLEANUP(arena_done) = {0};
    wchar_t *wide = wide_path(&scratch, path, err);
    if (wide == NULL) {
        return err_context(err, "%s", path);
    }
    return make_directories(wide, wcslen(L"\\\\?\\X:"), err, path);
}

uint64_t os_disk_free_bytes(const char *path)
{
    struct arena scratch CLEANUP(arena_done) = {0};
    wchar_t *wide = wide_path(&scratch, path, NULL);
    DWORD attributes = wide == NULL ? INVALID_FILE_ATTRIBUTES : GetFileAttributesW(wide);
    ULARGE_INTEGER free_bytes = {.QuadPart = 0};
    if (attributes == INVALID_FILE_ATTRIBUTES) {
        return 0;
    }
    if ((attributes & FILE_ATTRIBUTE_DIRECTORY) == 0) {
        wcsrchr(wide, L'\\')[1] = L'\0'; /* only directories are answered for */
    }
    return GetDiskFreeSpaceExW(wide, &free_bytes, NULL, NULL) ? free_bytes.QuadPart : 0;
}

/* --- reading --- */

int os_file_read(struct arena *arena, const char *path, size_t limit, char **out_data,
                 size_t *out_size, struct err *err)
{
    HANDLE file CLEANUP(native_close) = NULL;
    struct os_file_info info;
    int code = open_regular(path, FILE_FLAG_SEQUENTIAL_SCAN, &file, &info, err);
    if (code != 0) {
        return code;
    }
    if (info.size_bytes > limit) {
        return err_set(err, ERR_LIMIT, "%s: %llu bytes, at most %llu are read", path,
                       (unsigned long long)info.size_bytes, (unsigned long long)limit);
    }
    size_t size = (size_t)info.size_bytes, have = 0;
    char *data = arena_alloc(arena, size + 1);
    while (have < size) {
        DWORD wanted = size - have > PIECE_BYTES ? PIECE_BYTES : (DWORD)(size - have), got = 0;
        if (!ReadFile(file, data + have, wanted, &got, NULL)) {
            return wide_error(err, GetLastError(), "%s", path);
        }
        if (got == 0) {
            break; /* it shrank meanwhile; had it grown, the old length is what was asked for */
        }
        have += got;
    }
    data[have] = '\0';
    *out_data = data;
    *out_size = have;
    return 0;
}

static void view_done(const void **view)
{
    if (*view != NULL) {
        UnmapViewOfFile(*view);
    }
}

int os_file_with_map(const char *path, os_file_reader *reader, void *context, struct err *err)
{
    HANDLE file CLEANUP(native_close) = NULL;
    struct os_file_info info;
    int code = open_regular(path, FILE_FLAG_RANDOM_ACCESS, &file, &info, err);
    if (code != 0) {
        return code;
    }
    if (info.size_bytes == 0) {
        static const uint8_t nothing[1];
        return reader((struct bytes){nothing, 0}, &info, context, err);
    }
    /* The size is given, so that a file that shrank since is an error and not a smaller view. */
    HANDLE mapping CLEANUP(native_close) = CreateFileMappingW(
        file, NULL, PAGE_READONLY, (DWORD)(info.size_bytes >> 32), (DWORD)info.size_bytes, NULL);
    if (mapping == NULL) {
        DWORD error = GetLastError();
        return wide_error(err, error, "%s: cannot be mapped", path);
    }
    const void *view CLEANUP(view_done) =
        MapViewOfFile(mapping, FILE_MAP_READ, 0, 0, (SIZE_T)info.size_bytes);
    if (view == NULL) {
        return wide_error(err, GetLastError(), "%s: cannot be mapped", path);
    }
    struct map_guard_call call = {reader, {view, info.size_bytes}, &info, context, err, 0};
    if (!map_guard_run(&call)) {
        return err_set(err, ERR_IO, "%s: a part of the file cannot be read", path);
    }
    return call.result;
}

/* --- writing --- */

/* A name beside `path` that no other writer uses. */
static wchar_t *temporary_name(struct arena *arena, const wchar_t *path)
{
    static atomic_uint counter;
    wchar_t suffix[64];
    uint32_t random = 0;
    os_secure_random(&random, sizeof random);
    swprintf(suffix, sizeof suffix / sizeof *suffix, L".%lx-%x-%x.tmp",
             (unsigned long)GetCurrentProcessId(), atomic_fetch_add(&counter, 1), random);
    return wide_join(arena, path, suffix);
}

static DWORD replace(const wchar_t *from, const wchar_t *to)
{
    for (int tries = 1;; tries++) {
        if (MoveFileExW(from, to, MOVEFILE_REPLACE_EXISTING | MOVEFILE_WRITE_THROUGH)) {
            return 0;
        }
        DWORD error = GetLastError();
        bool passing = error == ERROR_SHARING_VIOLATION || error == ERROR_ACCESS_DENIED ||
                       error == ERROR_USER_MAPPED_FILE;
        DWORD attributes = GetFileAttributesW(to);
        bool directory =
            attributes != INVALID_FILE_ATTRIBUTES && (attributes & FILE_ATTRIBUTE_DIRECTORY) != 0;
        if (!passing || directory || tries == REPLACE_TRIES) {
            return error;
        }
        Sleep(REPLACE_WAIT_MS);
    }
}

static DWORD write_all(HANDLE file, const void *data, size_t size)
{
    for (size_t done = 0; done < size;) {
        DWORD wanted = size - done > PIECE_BYTES ? PIECE_BYTES : (DWORD)(size - done), wrote = 0;
        if (!WriteFile(file, (const char *)data + done, wanted, &wrote, NULL)) {
            return GetLastError();
        }
        done += wrote;
    }
    return FlushFileBuffers(file) ? 0 : GetLastError();
}

static DWORD write_new(const wchar_t *path, const void *data, size_t size,
                       PSECURITY_DESCRIPTOR descriptor)
{
    SECURITY_ATTRIBUTES attributes = {sizeof attributes, descriptor, FALSE};
    HANDLE file CLEANUP(native_close) =
        CreateFileW(path, GENERIC_WRITE, 0, descriptor == NULL ? NULL : &attributes, CREATE_NEW,
                    FILE_ATTRIBUTE_NORMAL, NULL);
    return file == INVALID_HANDLE_VALUE ? GetLastError() : write_all(file, data, size);
}

int os_file_write(const char *path, const void *data, size_t size, bool private_file,
                  struct err *err)
{
    struct err own_err = {0};
    err = wide_reason(err, &own_err);
    struct arena scratch CLEANUP(arena_done) = {0};
    PSECURITY_DESCRIPTOR descriptor CLEANUP(native_local_free) = NULL;
    wchar_t *wide = wide_path(&scratch, path, err);
    if (wide == NULL) {
        return err_context(err, "%s", path);
    }
    if (private_file && (descriptor = access_private(false, err)) == NULL) {
        return err_context(err, "%s", path);
    }
    wchar_t *temporary = temporary_name(&scratch, wide);
    DWORD error = write_new(temporary, data, size, descriptor);
    if (error == 0) {
        error = replace(temporary, wide);
    }
    if (error != 0) {
        DeleteFileW(temporary);
        return wide_error(err, error, "cannot write %s", path);
    }
    return 0;
}

int os_file_remove(const char *path, struct err *err)
{
    struct err own_err = {0};
    err = wide_reason(err, &own_err);
    struct arena scratch CLEANUP(arena_done) = {0};
    wchar_t *wide = wide_path(&scratch, path, err);
    if (wide == NULL) {
        return err_context(err, "%s", path);
    }
    return DeleteFileW(wide) ? 0 : wide_error(err, GetLastError(), "cannot remove %s", path);
}

int os_file_rename(const char *from, const char *to, struct err *err)
{
    struct err own_err = {0};
    err = wide_reason(err, &own_err);
    struct arena scratch CLEANUP(arena_done) = {0};
    wchar_t *wide_from = wide_path(&scratch, from, err);
    wchar_t *wide_to = wide_from == NULL ? NULL : wide_path(&scratch, to, err);
    if (wide_to == NULL) {
        return err_context(err, "cannot rename %s to %s", from, to);
    }
    DWORD error = replace(wide_from, wide_to);
    return error == 0 ? 0 : wide_error(err, error, "cannot rename %s to %s", from, to);
}

/* Data on the disk before the name is: a copy must not turn into zeros after a power cut. */
static DWORD flush(const wchar_t *path)
{
    HANDLE file CLEANUP(native_close) =
        CreateFileW(path, GENERIC_WRITE, SHARE_ALL, NULL, OPEN_EXISTING, 0, NULL);
    return file == INVALID_HANDLE_VALUE || !FlushFileBuffers(file) ? GetLastError() : 0;
}

int os_file_copy(const char *from, const char *to, struct err *err)
{
    struct err own_err = {0};
    err = wide_reason(err, &own_err);
    struct arena scratch CLEANUP(arena_done) = {0};
    HANDLE source CLEANUP(native_close) = NULL;
    struct os_file_info info;
    wchar_t *wide_from = wide_path(&scratch, from, err);
    wchar_t *wide_to = wide_from == NULL ? NULL : wide_path(&scratch, to, err);
    if (wide_to == NULL || open_regular(from, 0, &source, &info, err) != 0) {
        return err_context(err, "cannot copy %s to %s", from, to);
    }
    wchar_t *temporary = temporary_name(&scratch, wide_to);
    DWORD error = CopyFileW(wide_from, temporary, TRUE) ? 0 : GetLastError();
    if (error == 0) {
        /* A copied read-only flag would keep the next copy, and a removal, from working. */
        SetFileAttributesW(temporary, FILE_ATTRIBUTE_NORMAL);
        error = flush(temporary);
    }
    if (error == 0) {
        error = replace(temporary, wide_to);
    }
    if (error != 0) {
        DeleteFileW(temporary);
        return wide_error(err, error, "cannot copy %s to %s", from, to);
    }
    return 0;
}
