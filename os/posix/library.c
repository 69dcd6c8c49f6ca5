#include "os/library.h"

#include <dlfcn.h>

#include "base/cleanup.h"
#include "base/text.h"
#include "os/file.h"
#include "os/path.h"
#include "os/posix/rooted.h"

/* A struct os_library is the loader's own handle and never has a body. */

static int code_of_words(const char *words)
{
    if (strstr(words, "No such file") != NULL) {
        return ERR_NOT_FOUND; /* the file itself was looked at before: one that it needs */
    }
    if (strstr(words, "ermission denied") != NULL) {
        return ERR_PERMISSION;
    }
    return ERR_FORMAT; /* wrong ELF class, invalid header, file too short, undefined symbol */
}

static int load(const char *name, struct os_library **out, struct err *err)
{
    /* RTLD_NOW: a missing symbol is an answer now, not the end of the process later */
    void *handle = dlopen(name, RTLD_NOW | RTLD_LOCAL);
    if (handle == NULL) {
        const char *words = dlerror();
        words = words != NULL ? words : "the loader does not say why";
        return err_set(err, code_of_words(words), "%s", words);
    }
    *out = handle;
    return 0;
}

int os_library_open(const char *path, const char *search_directory, struct os_library **out,
                    struct err *err)
{
    (void)search_directory; /* in LD_LIBRARY_PATH since this process was started */
    struct os_file_info info;
    int code = os_file_stat(path, &info, err);
    if (code != 0) {
        return code;
    }
    if (info.type != OS_FILE_REGULAR) { /* the loader would wait for a pipe's writer */
        return err_set(err, ERR_FORMAT, "'%s' is not a regular file", path);
    }
    CLEANUP(arena_done) struct arena arena = {0};
    bool bare = strchr(path, '/') == NULL; /* the loader would search for it */
    return load(bare ? os_path_join(&arena, ".", path) : path, out, err);
}

static const char *const root_directories[] = {
    "/usr/lib/x86_64-linux-gnu",
    "/lib/x86_64-linux-gnu",
    "/usr/lib64",
    "/usr/lib",
    "/usr/lib/aarch64-linux-gnu",
    "/usr/lib/wsl/lib",
    "/usr/local/nvidia/lib64",
    "/usr/lib/nvidia",
    NULL,
};

/* Where distributions put the driver. WSL's and NixOS's are not always in the loader's cache. */
static const char *const machine_directories[] = {
    "/usr/lib/wsl/lib",
    "/run/opengl-driver/lib",
    "/usr/lib/x86_64-linux-gnu",
    "/lib/x86_64-linux-gnu",
    "/usr/lib/aarch64-linux-gnu",
    "/lib/aarch64-linux-gnu",
    "/usr/lib64",
    "/lib64",
    "/usr/lib",
    "/usr/local/nvidia/lib64",
    "/usr/lib/nvidia",
    NULL,
};

/* Tries the directories in order. One that holds a library of another architecture does not end
   the search, as in ld.so(8); its words are kept for the error. */
static int open_from(const char *root, const char *const *directories, const char *name,
                     struct os_library **out, struct err *err)
{
    CLEANUP(arena_done) struct arena arena = {0};
    int code =
        err_set(err, ERR_NOT_FOUND, "there is no '%s' in the system's library directories", name);
    for (; *directories != NULL; directories++) {
        const char *path =
            posix_rooted_path(&arena, root, os_path_join(&arena, *directories, name));
        if (path == NULL) {
            continue;
        }
        struct err reason = {0};
        if (os_library_open(path, NULL, out, &reason) == 0) {
            return 0;
        }
        code = err_set(err, reason.code, "%s", reason.message);
    }
    return code;
}

int os_library_open_system(const char *root, const char *name, struct os_library **out,
                           struct err *err)
{
    if (name[0] == '\0' || strchr(name, '/') != NULL) {
        return err_set(err, ERR_USAGE, "'%s' is not the bare name of a library", name);
    }
    if (root != NULL) {
        return open_from(root, root_directories, name, out, err);
    }
    /* The loader's own search knows the cache, but begins with LD_LIBRARY_PATH, which a worker
       has for the cuDNN under test: no driver is taken from there. */
    const char *first = getenv("LD_LIBRARY_PATH");
    if (first == NULL || first[0] == '\0') {
        struct err reason = {0};
        int code = load(name, out, &reason);
        if (code != ERR_NOT_FOUND) {
            return code == 0 ? 0 : err_set(err, code, "%s", reason.message);
        }
    }
    return open_from(NULL, machine_directories, name, out, err);
}

os_library_function *os_library_symbol(struct os_library *library, const char *name)
{
    void *address = dlsym(library, name);
    os_library_function *function;
    _Static_assert(sizeof function == sizeof address, "POSIX: one is converted into the other");
    memcpy(&function, &address, sizeof function);
    return function;
}
