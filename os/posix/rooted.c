#include "os/posix/rooted.h"

#include "os/file.h"
#include "os/path.h"

enum { FILE_LIMIT = 1024 * 1024 };

char *posix_rooted_path(struct arena *arena, const char *root, const char *path)
{
    char *resolved;
    if (os_path_resolve(arena, root, path, &resolved, NULL) != 0) {
        return NULL;
    }
    return os_path_in_root(arena, root, resolved);
}

char *posix_rooted_read(struct arena *arena, const char *root, const char *path)
{
    char *text;
    size_t size;
    const char *host_path = posix_rooted_path(arena, root, path);
    if (host_path == NULL || os_file_read(arena, host_path, FILE_LIMIT, &text, &size, NULL) != 0) {
        return NULL;
    }
    return text;
}
