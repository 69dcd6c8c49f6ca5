#include "os/arguments.h"

#include "base/arena.h"
#include "base/err.h"
#include "os/win32/wide.h"

/* The C runtime's own division of the command line, the one main() got its arguments from, but in
   UTF-16. CommandLineToArgvW would do too and bring shell32.dll into every process. */
struct startup_info {
    int new_mode;
};
extern int __wgetmainargs(int *argc, wchar_t ***argv, wchar_t ***environment, int expand_wildcards,
                          struct startup_info *startup);

int os_arguments_utf8(int *argc, char ***argv)
{
    static struct arena kept; /* for the life of the process */
    struct startup_info startup = {0};
    wchar_t **wide = NULL, **environment = NULL;
    int count = 0;
    if (__wgetmainargs(&count, &wide, &environment, 0, &startup) < 0 || count < 0) {
        return ERR_INTERNAL;
    }
    char **arguments = arena_alloc(&kept, ((size_t)count + 1) * sizeof *arguments);
    for (int i = 0; i < count; i++) {
        arguments[i] = wide_to_text(&kept, wide[i]);
    }
    *argc = count;
    *argv = arguments;
    return 0;
}
