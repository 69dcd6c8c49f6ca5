#include "os/dirs.h"

#include <initguid.h>
#include <windows.h>

#include <knownfolders.h>
#include <shlobj.h>

#include "base/cleanup.h"
#include "base/text.h"
#include "os/file.h"
#include "os/path.h"
#include "os/registry.h"
#include "os/win32/native.h"
#include "os/win32/wide.h"

static const char profiles_key[] =
    "HKLM\\SOFTWARE\\Microsoft\\Windows NT\\CurrentVersion\\ProfileList";

/* Asked of the shell, since variables like %ProgramData% are anybody's to set. shell32 is loaded
   only here: few processes need it, and a service's session has little room for what it brings. */
static char *known_folder(struct arena *arena, const KNOWNFOLDERID *folder)
{
    typedef HRESULT WINAPI folder_function(const KNOWNFOLDERID *, DWORD, HANDLE, PWSTR *);
    typedef void WINAPI free_function(LPVOID);
    folder_function *ask = (folder_function *)native_find(L"shell32.dll", "SHGetKnownFolderPath");
    free_function *release = (free_function *)native_find(L"ole32.dll", "CoTaskMemFree");
    PWSTR path = NULL;
    if (ask == NULL || release == NULL) {
        return NULL;
    }
    char *text = ask(folder, KF_FLAG_DONT_VERIFY, NULL, &path) == S_OK
                     ? wide_path_to_text(arena, path)
                     : NULL;
    release(path);
    return text;
}

static char *or_from_registry(struct arena *arena, char *path, const char *key, const char *value,
                              const char *last_resort)
{
    if (path == NULL) {
        const char *text = os_registry_text(arena, key, value);
        path = arena_strdup(arena, text != NULL ? text : last_resort);
    }
    return path;
}

char *os_dirs_system(struct arena *arena)
{
    struct arena scratch CLEANUP(arena_done) = {0};
    UINT size = GetSystemDirectoryW(NULL, 0);
    wchar_t *path = arena_alloc(&scratch, (size + 1) * sizeof *path);
    if (size == 0 || GetSystemDirectoryW(path, size) == 0) {
        return arena_strdup(arena, "C:\\Windows\\System32");
    }
    return wide_to_text(arena, path);
}

char *os_dirs_program_files(struct arena *arena)
{
    return or_from_registry(arena, known_folder(arena, &FOLDERID_ProgramFiles),
                            "HKLM\\SOFTWARE\\Microsoft\\Windows\\CurrentVersion", "ProgramFilesDir",
                            "C:\\Program Files");
}

/* The data directory is the configuration's as well. */
char *os_dirs_data(struct arena *arena, bool service)
{
    char *base = service ? NULL : known_folder(arena, &FOLDERID_LocalAppData);
    if (base == NULL) { /* an account without a profile, too, gets the machine's */
        base = or_from_registry(arena, known_folder(arena, &FOLDERID_ProgramData), profiles_key,
                                "ProgramData", "C:\\ProgramData");
    }
    return os_path_join(arena, base, "cudnnd");
}

char *os_dirs_config_file(struct arena *arena, bool service)
{
    return os_path_join(arena, os_dirs_data(arena, service), "cudnnd.yml");
}

static void add_home(struct arena *arena, const char *path, char ***items, size_t *count,
                     size_t *capacity)
{
    struct os_file_info info;
    if (path == NULL || os_path_is_network(path) || os_file_stat(path, &info, NULL) != 0 ||
        info.type != OS_FILE_DIRECTORY) {
        return;
    }
    for (size_t i = 0; i < *count; i++) {
        if (os_path_equal((*items)[i], path)) {
            return;
        }
    }
    *(char **)arena_push(arena, items, count, capacity, sizeof **items) = arena_strdup(arena, path);
}

void os_dirs_homes(struct arena *arena, const char *root, char ***out_items, size_t *out_count)
{
    struct arena scratch CLEANUP(arena_done) = {0};
    char **items = NULL, **accounts = NULL;
    size_t count = 0, capacity = 0, account_count = 0;
    (void)root; /* POSIX only */
    os_registry_subkeys(&scratch, profiles_key, &accounts, &account_count);
    for (size_t i = 0; i < account_count; i++) {
        /* People: of this machine or a domain, or of Entra ID; not the system's own accounts. */
        if (text_has_prefix(accounts[i], "S-1-5-21-") ||
            text_has_prefix(accounts[i], "S-1-12-1-")) {
            const char *key = arena_printf(&scratch, "%s\\%s", profiles_key, accounts[i]);
            add_home(arena, os_registry_text(&scratch, key, "ProfileImagePath"), &items, &count,
                     &capacity);
        }
    }
    add_home(arena, known_folder(&scratch, &FOLDERID_Profile), &items, &count, &capacity);
    *out_items = items;
    *out_count = count;
}
