#include "os/library.h"

#include <stdbool.h>

#include "base/cleanup.h"
#include "os/win32/native.h"
#include "os/win32/wide.h"

/* struct os_library is a module handle under another name. */

static int report(DWORD error, const char *path, struct err *err)
{
    static const struct {
        DWORD error;
        int code;
        const char *words;
    } known[] = {
        {ERROR_MOD_NOT_FOUND, ERR_NOT_FOUND, "the file or a library it needs is missing"},
        {ERROR_PROC_NOT_FOUND, ERR_FORMAT,
         "a function it needs is missing from another library: versions do not match"},
        {ERROR_BAD_EXE_FORMAT, ERR_FORMAT,
         "it, or a library it needs, is damaged or of another architecture"},
        {ERROR_DLL_INIT_FAILED, ERR_IO, "it could not initialise itself"},
        {ERROR_COMMITMENT_LIMIT, ERR_LIMIT, "the paging file is too small for it"},
    };
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        if (known[i].error == error) {
            return err_set(err, known[i].code, "%s: %s (error %lu)", path, known[i].words,
                           (unsigned long)error);
        }
    }
    return wide_error(err, error, "%s", path);
}

/* Where libraries are found by bare name from now on, by this call and by the libraries' own later
   LoadLibrary("sibling.dll"): the added directories and System32, never PATH. */
static int add_search_directory(const char *directory, struct err *err)
{
    struct arena scratch CLEANUP(arena_done) = {0};
    wchar_t *wide = wide_path(&scratch, directory, err);
    if (wide == NULL) {
        return err_context(err, "%s", directory);
    }
    const DWORD search = LOAD_LIBRARY_SEARCH_SYSTEM32 | LOAD_LIBRARY_SEARCH_USER_DIRS;
    if (!SetDefaultDllDirectories(search) ||
        AddDllDirectory(wide_path_plain(&scratch, wide)) == NULL) {
        return wide_error(err, GetLastError(), "%s cannot be searched", directory);
    }
    return 0;
}

int os_library_open(const char *path, const char *search_directory, struct os_library **out,
                    struct err *err)
{
    struct err own_err = {0};
    err = wide_reason(err, &own_err);
    struct arena scratch CLEANUP(arena_done) = {0};
    wchar_t *wide = wide_path(&scratch, path, err);
    if (wide == NULL) {
        return err_context(err, "%s", path);
    }
    if (search_directory != NULL && add_search_directory(search_directory, err) != 0) {
        return err_context(err, "%s", path);
    }
    if (GetFileAttributesW(wide) == INVALID_FILE_ATTRIBUTES) {
        return wide_error(err, GetLastError(), "%s", path); /* not to be taken for a missing need */
    }
    const DWORD search = LOAD_LIBRARY_SEARCH_DLL_LOAD_DIR | LOAD_LIBRARY_SEARCH_SYSTEM32 |
                         LOAD_LIBRARY_SEARCH_USER_DIRS;
    HMODULE module = LoadLibraryExW(wide_path_plain(&scratch, wide), NULL, search);
    if (module == NULL) {
        return report(GetLastError(), path, err);
    }
    *out = (struct os_library *)module;
    return 0;
}

static bool in_system_directory(const wchar_t *name)
{
    struct arena scratch CLEANUP(arena_done) = {0};
    UINT size = GetSystemDirectoryW(NULL, 0);
    wchar_t *directory = arena_alloc(&scratch, (size + 1) * sizeof *directory);
    if (size == 0 || GetSystemDirectoryW(directory, size) == 0) {
        return false;
    }
    wchar_t *base = wide_join(&scratch, directory, L"\\");
    return GetFileAttributesW(wide_join(&scratch, base, name)) != INVALID_FILE_ATTRIBUTES;
}

int os_library_open_system(const char *root, const char *name, struct os_library **out,
                           struct err *err)
{
    struct err own_err = {0};
    err = wide_reason(err, &own_err);
    struct arena scratch CLEANUP(arena_done) = {0};
    if (root != NULL) {
        return err_set(err, ERR_UNSUPPORTED, "a root directory is not supported on Windows");
    }
    if (strpbrk(name, "\\/:") != NULL) {
        return err_set(err, ERR_USAGE, "'%s' is a path, not the name of a library", name);
    }
    wchar_t *wide = wide_from_text(&scratch, name, err);
    if (wide == NULL) {
        return err_context(err, "%s", name);
    }
    if (!in_system_directory(wide)) {
        return err_set(err, ERR_NOT_FOUND, "%s is not in the system's directory", name);
    }
    HMODULE module = LoadLibraryExW(wide, NULL, LOAD_LIBRARY_SEARCH_SYSTEM32);
    if (module == NULL) {
        return report(GetLastError(), name, err);
    }
    *out = (struct os_library *)module;
    return 0;
}

os_library_function *os_library_symbol(struct os_library *library, const char *name)
{
    return (os_library_function *)GetProcAddress((HMODULE)library, name);
}
