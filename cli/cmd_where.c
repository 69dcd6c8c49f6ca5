#include "base/text.h"
#include "cli/command.h"
#include "inventory/files.h"
#include "inventory/inventory.h"
#include "os/dirs.h"
#include "os/file.h"
#include "os/path.h"

/* A file that a loader would find under the wanted name, in the order of the search. */
struct hit {
    const char *name;
    const char *directory;
    const char *scope;
    const struct library *library; /* NULL: not a known cuDNN library */
};

struct hits {
    struct hit *items;
    size_t count, capacity;
};

static const struct library *known_library(const struct inventory *inventory, const char *directory,
                                           const char *name)
{
    for (size_t i = 0; i < inventory->install_count; i++) {
        const struct install *install = &inventory->installs[i];
        for (size_t l = 0; os_path_equal(install->path, directory) && l < install->library_count;
             l++) {
            if (os_path_equal(install->libraries[l].file, name)) {
                return &install->libraries[l];
            }
        }
    }
    return NULL;
}

static void add_if_there(struct arena *arena, const char *root, const struct inventory *inventory,
                         const char *directory, const char *canonical, const char *scope,
                         const char *name, struct hits *hits)
{
    struct os_file_info info;
    const char *path = os_path_in_root(arena, root, os_path_join(arena, canonical, name));
    if (os_file_stat(path, &info, NULL) != 0 || info.type != OS_FILE_REGULAR) {
        return;
    }
    struct hit *hit = arena_push(arena, &hits->items, &hits->count, &hits->capacity, sizeof *hit);
    *hit = (struct hit){.name = name,
                        .directory = directory,
                        .scope = scope,
                        .library = known_library(inventory, canonical, name)};
}

/* The order for a bare name: the system's own directory before PATH (Windows), then the entries. */
static void search(struct arena *arena, const char *root, const struct inventory *inventory,
                   const char *name, struct hits *hits)
{
    const char *system = os_dirs_system(arena);
    if (system != NULL) {
        add_if_there(arena, root, inventory, system, system, "system", name, hits);
    }
    for (size_t i = 0; i < inventory->search_count; i++) {
        const struct search_entry *entry = &inventory->search_path[i];
        if (entry->canonical == NULL || !entry->is_directory ||
            (system != NULL && os_path_equal(entry->canonical, system))) {
            continue;
        }
        add_if_there(arena, root, inventory, entry->directory, entry->canonical,
                     entry->from_loader_cache ? "ld.so.cache" : search_scope_name(entry->scope),
                     name, hits);
    }
}

static const char *hit_version(struct arena *arena, const struct hit *hit)
{
    char text[VERSION_TEXT_SIZE];
    if (hit->library == NULL || !version_known(hit->library->version)) {
        return NULL;
    }
    return arena_strdup(arena, version_text(hit->library->version, 3, text));
}

static struct json *hits_to_json(struct arena *arena, const struct hits *hits)
{
    struct json *array = json_array();
    for (size_t i = 0; i < hits->count; i++) {
        const struct hit *hit = &hits->items[i];
        struct json *object = json_object();
        json_set_text(object, "name", hit->name);
        json_set_text(object, "directory", hit->directory);
        json_set_text(object, "scope", hit->scope);
        json_set_text(object, "version", hit_version(arena, hit));
        json_set_bool(object, "wins", i == 0);
        json_append(array, object);
    }
    return array;
}

static void print_hits(struct arena *arena, const char *name, const struct hits *hits)
{
    if (hits->count == 0) {
        printf("%s: no directory of the search path holds it\n", name);
        return;
    }
    for (size_t i = 0; i < hits->count; i++) {
        const char *version = hit_version(arena, &hits->items[i]);
        printf("%s %s%c%s%s%s  (%s)\n", i == 0 ? "->" : "  ", hits->items[i].directory,
               os_path_separator, name, version == NULL ? "" : "  ", version == NULL ? "" : version,
               hits->items[i].scope);
    }
}

/* Without a name: the entry library of every generation. True when anything was found. */
static bool where(struct arena *arena, const char *root, const struct inventory *inventory,
                  const char *name, struct json *documents)
{
    bool found = false;
    for (size_t i = 0; i < files_count(); i++) {
        const struct cudnn_file *file = files_at(i);
        bool entry = text_equal(file->component, "shim") || text_equal(file->component, "all");
        const char *wanted = name != NULL                ? name
                             : os_path_separator == '\\' ? file->windows_name
                                                         : file->linux_name;
        if (name == NULL && !entry) {
            continue;
        }
        struct hits hits = {0};
        search(arena, root, inventory, wanted, &hits);
        found = found || hits.count > 0;
        if (documents != NULL) {
            json_set(documents, wanted, hits_to_json(arena, &hits));
        } else if (name != NULL || hits.count > 0) {
            print_hits(arena, wanted, &hits);
        }
        if (name != NULL) {
            break;
        }
    }
    return found;
}

int cmd_where(const struct command *command, int argc, char **argv)
{
    bool as_json = false;
    const char *sysroot = NULL;
    const struct cli_option options[] = {
        {"json", &as_json, NULL}, {"sysroot", NULL, &sysroot}, {NULL, NULL, NULL}};
    int status = cli_options(command, options, &argc, argv);
    if (status >= 0) {
        return status;
    }
    if (argc > 2 || (argc == 2 && os_path_name(argv[1]) != argv[1])) {
        return cli_usage(command, "NAME is one file name without a directory");
    }
    struct arena arena = {0};
    struct inventory inventory;
    struct err err = {0};
    char *root = NULL;
    int code = sysroot == NULL ? 0 : os_path_resolve(&arena, NULL, sysroot, &root, &err);
    const struct inventory_request request = {.root = root, .process_environment = true};
    code = code != 0 ? code : inventory_scan(&arena, &request, &inventory, &err);
    if (code != 0) {
        status = cli_error(command, &err);
    } else {
        struct json *documents = as_json ? json_object() : NULL;
        bool found = where(&arena, root, &inventory, argv[1], documents);
        if (as_json) {
            cli_print_json(documents);
        } else if (!found && argc == 1) {
            printf("no directory of the search path holds a cuDNN\n");
        }
        status = found ? CLI_OK : CLI_FAILED;
    }
    arena_done(&arena);
    return status;
}
