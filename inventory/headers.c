#include "inventory/headers.h"

#include "base/cleanup.h"
#include "base/text.h"
#include "inventory/identify.h"
#include "inventory/places.h"
#include "os/path.h"

enum { HEADER_LIMIT = 1024 * 1024, HEADERS_LIMIT = 256 };

/* cudnn-frontend's headers are another product's. */
static bool is_header(const char *name)
{
    return places_match("cudnn*.h", name) && !places_match("cudnn_frontend*", name);
}

static bool is_import_library(const char *name)
{
    for (const char *const *pattern = places_import_libraries; *pattern != NULL; pattern++) {
        if (places_match(*pattern, name)) {
            return true;
        }
    }
    return false;
}

/* ---- where ---- */

/* Holds the last components of `path` against the tail, from behind; what '*' stood for (the
   first of the tail, read forwards) in *out_star. */
static bool has_tail(struct arena *arena, const char *path, const char *tail, char **out_star)
{
    const char *end = tail + strlen(tail);
    while (end > tail) {
        const char *start = end;
        while (start > tail && start[-1] != '/') {
            start--;
        }
        char *component = arena_strndup(arena, start, (size_t)(end - start));
        const char *name = os_path_name(path);
        if (*name == '\0' || !places_match(component, name)) {
            return false;
        }
        const char *star = strchr(component, '*');
        if (star != NULL) {
            size_t around = strlen(component) - 1;
            *out_star = arena_strndup(arena, name + (star - component), strlen(name) - around);
        }
        path = os_path_parent(arena, path);
        end = start > tail ? start - 1 : start;
    }
    return true;
}

/* The directory `relative` leads to, with '*' filled in; ".." by the text, since `path` is
   canonical. */
static const char *follow(struct arena *arena, const char *path, const char *relative,
                          const char *star)
{
    while (*relative != '\0') {
        size_t length = strcspn(relative, "/");
        char *component = arena_strndup(arena, relative, length);
        char *at = strchr(component, '*');
        if (strcmp(component, "..") == 0) {
            path = os_path_parent(arena, path);
        } else if (at != NULL) {
            *at = '\0';
            component = arena_printf(arena, "%s%s%s", component, star == NULL ? "" : star, at + 1);
            path = os_path_join(arena, path, component);
        } else if (strcmp(component, ".") != 0) {
            path = os_path_join(arena, path, component);
        }
        relative += length + (relative[length] == '/');
    }
    return path;
}

/* ---- what ---- */

typedef bool name_test(const char *name);

/* The full paths of what passes the test in a directory; false when there is none. */
static bool collect(struct look *look, const char *directory, name_test *test,
                    const char ***out_paths, size_t *out_count)
{
    CLEANUP(arena_done) struct arena scratch = {0};
    struct os_dir_list list;
    size_t capacity = 0;
    const char *canonical = look_directory(look, directory, LOOK_WANTED);
    if (canonical == NULL || !look_list(look, &scratch, canonical, LOOK_WANTED, &list)) {
        return false;
    }
    for (size_t i = 0; i < list.count && *out_count < HEADERS_LIMIT; i++) {
        if (list.entries[i].type != OS_FILE_DIRECTORY && test(list.entries[i].name)) {
            const char **path =
                arena_push(look->arena, out_paths, out_count, &capacity, sizeof *path);
            *path = os_path_join(look->arena, canonical, list.entries[i].name);
        }
    }
    return *out_count > 0;
}

/* Version headers, best first: 8 and later; Debian's package, which leaves the plain name to a
   link; 7 and older. */
static void read_version(struct look *look, struct install *install)
{
    static const char *const patterns[] = {"cudnn_version.h", "cudnn_version_v*.h", "cudnn.h"};
    for (size_t p = 0; p < sizeof patterns / sizeof *patterns; p++) {
        for (size_t i = 0; i < install->header_count; i++) {
            CLEANUP(arena_done) struct arena scratch = {0};
            size_t size;
            const char *path = install->headers[i];
            if (!places_match(patterns[p], os_path_name(path))) {
                continue;
            }
            const char *text = look_read(look, &scratch, path, HEADER_LIMIT, LOOK_WANTED, &size);
            if (text != NULL && identify_header(text, size, &install->header_version)) {
                install->header_path = path;
                return;
            }
        }
    }
}

void headers_read(struct look *look, const struct toolkit *toolkit, struct install *install)
{
    CLEANUP(arena_done) struct arena scratch = {0};
    for (size_t i = 0; i < places_development_count; i++) {
        const struct place_development *row = &places_development[i];
        char *star = NULL;
        if (!has_tail(&scratch, install->path, row->tail, &star)) {
            continue;
        }
        if (install->header_count == 0) {
            collect(look, follow(&scratch, install->path, row->headers, star), is_header,
                    &install->headers, &install->header_count);
        }
        if (install->import_library_count == 0) {
            collect(look, follow(&scratch, install->path, row->import_libraries, star),
                    is_import_library, &install->import_libraries, &install->import_library_count);
        }
    }
    if (install->header_count == 0 && toolkit != NULL) {
        collect(look, os_path_join(&scratch, toolkit->path, "include"), is_header,
                &install->headers, &install->header_count);
    }
    read_version(look, install);
}
