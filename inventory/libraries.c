#include "inventory/libraries.h"

#include "base/cleanup.h"
#include "base/text.h"
#include "inventory/files.h"
#include "inventory/identify.h"
#include "inventory/places.h"
#include "os/path.h"

/* ---- names ---- */

static bool parse_name(const char *name, struct files_name *out_parsed)
{
    return files_parse_name(name, out_parsed) && out_parsed->windows == places_windows_names;
}

/* Is there a name of the same library that a loader asks for: the one with the major only? */
static bool has_loader_name(const struct os_dir_list *list, const struct files_name *wanted)
{
    for (size_t i = 0; i < list->count; i++) {
        struct files_name other;
        if (parse_name(list->entries[i].name, &other) && !version_known(other.version) &&
            other.generation == wanted->generation &&
            text_equal(other.component, wanted->component)) {
            return true;
        }
    }
    return false;
}

bool libraries_names(struct look *look, const char *canonical, enum look_care care,
                     const char ***out_names, size_t *out_count)
{
    CLEANUP(arena_done) struct arena scratch = {0};
    struct os_dir_list list;
    size_t capacity = 0;
    *out_names = NULL;
    *out_count = 0;
    if (!look_list(look, &scratch, canonical, care, &list)) {
        return false;
    }
    for (size_t i = 0; i < list.count; i++) {
        struct files_name parsed;
        if (parse_name(list.entries[i].name, &parsed) &&
            !(version_known(parsed.version) && has_loader_name(&list, &parsed))) {
            const char **name =
                arena_push(look->arena, out_names, out_count, &capacity, sizeof *name);
            *name = arena_strdup(look->arena, list.entries[i].name);
        }
    }
    return *out_count > 0;
}

/* ---- what each library says ---- */

static const struct cudnn_file *row_of(const struct library *library)
{
    return files_find(library->file);
}

static void set_corrupt(struct library *library, const char *problem)
{
    library->state = LIBRARY_CORRUPT;
    library->problem = problem;
}

static void take_identity(struct inventory *inventory, const struct identity *identity,
                          struct library *library)
{
    library->version = identity->version;
    library->version_source = identity->version_source;
    library->size_bytes = identity->size_bytes;
    library->modified_at_ms = identity->modified_at_ms;
    library->arch = identity->arch;
    library->internal_name = identity->internal_name;
    library->cuda_major = identity->cuda_major;
    if (identity->from_cache) {
        inventory->files_cached++;
    } else {
        inventory->files_identified++;
    }
    if (!identity->is_library) {
        set_corrupt(library, identity->problem == NULL ? "is no library" : identity->problem);
    }
}

/* The name whose version counts: a link's target has more of it, unless it is called something
   else altogether. */
static const char *telling_name(const struct library *library, const char *canonical)
{
    struct files_name own, target;
    const char *name = os_path_name(canonical);
    bool related = parse_name(library->file, &own) && parse_name(name, &target) &&
                   own.generation == target.generation &&
                   text_equal(own.component, target.component);
    return related ? name : library->file;
}

static void identify(struct look *look, struct inventory *inventory, const char *path,
                     const char *canonical, struct library *library)
{
    struct identity identity = {0};
    struct os_file_info info;
    struct err err = {0};
    const char *system_path = look_system_path(look, canonical);
    int code = os_file_stat(system_path, &info, &err);
    if (code == 0 && info.type != OS_FILE_DIRECTORY) {
        library->size_bytes = info.size_bytes;
        library->modified_at_ms = info.modified_at_ms;
    }
    if (code == 0 && info.type == OS_FILE_DIRECTORY) {
        set_corrupt(library, "is a directory");
    } else if (code == 0 && info.type != OS_FILE_REGULAR) {
        set_corrupt(library, "is a pipe or device");
    } else {
        code = code != 0 ? code
                         : identify_library(look->arena, look->request->cache, system_path,
                                            telling_name(library, canonical), &identity, &err);
        if (code == 0) {
            take_identity(inventory, &identity, library);
        } else {
            look_unreadable(look, LOOK_WANTED, path, &err); /* not known to be damaged */
        }
    }
}

/* False when it vanished after it was listed. */
static bool examine(struct look *look, struct inventory *inventory, const char *directory,
                    bool is_link, struct library *library)
{
    CLEANUP(arena_done) struct arena scratch = {0};
    struct err err = {0};
    char *canonical;
    const char *path = os_path_join(look->arena, directory, library->file);
    int code = os_path_resolve(&scratch, look->request->root, path, &canonical, &err);
    if (code == 0) {
        if (os_path_is_network(os_path_in_root(&scratch, look->request->root, canonical))) {
            look_problem(look, PROBLEM_SKIPPED, path, "is on a network drive, not looked at");
        } else {
            identify(look, inventory, path, canonical, library);
        }
    } else if (code == ERR_LIMIT) {
        set_corrupt(library, "is a link loop");
    } else if (code == ERR_NOT_FOUND && is_link) {
        set_corrupt(library, "is a link to a file that is not there");
    } else if (code == ERR_NOT_FOUND) {
        return false;
    } else {
        look_unreadable(look, LOOK_WANTED, path, &err);
    }
    return true;
}

static bool is_link(const struct os_dir_list *list, const char *name)
{
    for (size_t i = 0; i < list->count; i++) {
        if (strcmp(list->entries[i].name, name) == 0) {
            return list->entries[i].type == OS_FILE_LINK;
        }
    }
    return false;
}

static void read_present(struct look *look, struct inventory *inventory, struct install *install,
                         size_t *capacity)
{
    CLEANUP(arena_done) struct arena scratch = {0};
    struct os_dir_list list = {0};
    const char **names;
    size_t count;
    if (!libraries_names(look, install->path, LOOK_WANTED, &names, &count) ||
        !look_list(look, &scratch, install->path, LOOK_WANTED, &list)) {
        return;
    }
    for (size_t i = 0; i < count && !look_is_cancelled(look); i++) {
        struct files_name parsed;
        parse_name(names[i], &parsed);
        const struct cudnn_file *row = files_find(names[i]);
        struct library library = {
            .file = names[i],
            .component = row != NULL ? row->component : "unknown",
            .generation = parsed.generation,
            .state = LIBRARY_OK,
        };
        if (examine(look, inventory, install->path, is_link(&list, names[i]), &library)) {
            *(struct library *)arena_push(look->arena, &install->libraries, &install->library_count,
                                          capacity, sizeof library) = library;
        }
    }
}

/* ---- what they say together ---- */

static bool is_entry(const struct library *library)
{
    return text_equal(library->component, "shim") || text_equal(library->component, "all");
}

/* The newest generation with an entry library, else the newest there is anything of. */
static int find_generation(const struct install *install)
{
    int with_entry = 0, any = 0;
    for (size_t i = 0; i < install->library_count; i++) {
        const struct library *library = &install->libraries[i];
        any = library->generation > any ? library->generation : any;
        if (is_entry(library) && library->generation > with_entry) {
            with_entry = library->generation;
        }
    }
    return with_entry > 0 ? with_entry : any;
}

const struct library *libraries_entry(const struct install *install)
{
    for (size_t i = 0; i < install->library_count; i++) {
        const struct library *library = &install->libraries[i];
        if (is_entry(library) && library->generation == install->generation &&
            library->state != LIBRARY_MISSING) {
            return library;
        }
    }
    return NULL;
}

/* Does it count when the libraries of the install are asked? */
static bool has_voice(const struct install *install, const struct library *library)
{
    return library->state == LIBRARY_OK && library->generation == install->generation;
}

typedef bool library_agrees(const struct library *a, const struct library *b);
typedef bool library_says(const struct library *library);

static bool same_version(const struct library *a, const struct library *b)
{
    return version_compare(a->version, b->version, 3) == 0;
}

static bool says_version(const struct library *library)
{
    return version_known(library->version) && library->version_source != VERSION_SOURCE_SIBLING;
}

static bool same_arch(const struct library *a, const struct library *b)
{
    return a->arch == b->arch;
}

static bool says_arch(const struct library *library)
{
    return library->arch != ARCH_UNKNOWN;
}

static bool same_cuda(const struct library *a, const struct library *b)
{
    return a->cuda_major == b->cuda_major;
}

static bool says_cuda(const struct library *library)
{
    return library->cuda_major > 0;
}

/* The library whose word about something most others share, the entry library's before all;
   NULL when none says anything. Of equals the first by name. */
static const struct library *spokesman(const struct install *install, library_says *says,
                                       library_agrees *agrees)
{
    const struct library *entry = libraries_entry(install), *best = NULL;
    size_t best_votes = 0;
    if (entry != NULL && has_voice(install, entry) && says(entry)) {
        return entry;
    }
    for (size_t i = 0; i < install->library_count; i++) {
        const struct library *library = &install->libraries[i];
        size_t votes = 0;
        if (!has_voice(install, library) || !says(library)) {
            continue;
        }
        for (size_t k = 0; k < install->library_count; k++) {
            const struct library *other = &install->libraries[k];
            votes += has_voice(install, other) && says(other) && agrees(library, other) ? 1 : 0;
        }
        if (votes > best_votes) {
            best = library;
            best_votes = votes;
        }
    }
    return best;
}

static void agree(struct look *look, struct install *install)
{
    const struct library *version = spokesman(install, says_version, same_version);
    const struct library *arch = spokesman(install, says_arch, same_arch);
    const struct library *cuda = spokesman(install, says_cuda, same_cuda);
    if (version != NULL) {
        install->version = version->version;
        if (version->version.count == 4) {
            install->build = arena_printf(look->arena, "%u", version->version.part[3]);
        }
    }
    if (arch != NULL) {
        install->arch = arch->arch;
    }
    if (cuda != NULL) {
        install->cuda_major = cuda->cuda_major;
        install->cuda_major_source = "strings";
    }
}

/* Libraries without a version of their own (heuristic, engines_tensor_ir; most on Linux) take the
   others' when these are of one mind. */
static void lend_versions(struct install *install)
{
    for (size_t i = 0; i < install->library_count; i++) {
        const struct library *library = &install->libraries[i];
        if (has_voice(install, library) && says_version(library) &&
            version_compare(library->version, install->version, 3) != 0) {
            return;
        }
    }
    for (size_t i = 0; i < install->library_count && version_known(install->version); i++) {
        struct library *library = &install->libraries[i];
        if (has_voice(install, library) && !version_known(library->version)) {
            library->version = install->version;
            library->version.part[3] = 0; /* releases agree, builds need not */
            library->version.count = library->version.count < 3 ? library->version.count : 3;
            library->version_source = VERSION_SOURCE_SIBLING;
        }
    }
}

/* ---- what is missing ---- */

static const char *name_here(const struct cudnn_file *row)
{
    return places_windows_names ? row->windows_name : row->linux_name;
}

/* A library under the name that a loader asks for. */
static bool is_present(const struct install *install, const struct cudnn_file *row)
{
    for (size_t i = 0; i < install->library_count; i++) {
        const struct library *library = &install->libraries[i];
        struct files_name parsed;
        if (library->state != LIBRARY_MISSING && row_of(library) == row &&
            parse_name(library->file, &parsed) && !version_known(parsed.version)) {
            return true;
        }
    }
    return false;
}

/* Three files by design (nvidia-cudnn-jit-*): all of these and none of the others. */
static enum install_layout find_layout(const struct install *install)
{
    size_t jit = 0;
    for (size_t i = 0; i < files_count(); i++) {
        const struct cudnn_file *row = files_at(i);
        if (row->generation != install->generation || row->required == FILES_OPTIONAL) {
            continue;
        }
        bool present = is_present(install, row);
        if (present != (row->required == FILES_JIT)) {
            return INSTALL_LAYOUT_FULL;
        }
        jit += row->required == FILES_JIT ? 1 : 0;
    }
    return jit > 0 ? INSTALL_LAYOUT_JIT : INSTALL_LAYOUT_FULL;
}

static bool is_needed(const struct install *install, const struct cudnn_file *row)
{
    if (row->generation != install->generation || row->required == FILES_OPTIONAL ||
        (install->layout == INSTALL_LAYOUT_JIT && row->required != FILES_JIT)) {
        return false;
    }
    return !version_known(row->since) || (version_known(install->version) &&
                                          version_compare(install->version, row->since, 3) >= 0);
}

static int by_name(const void *a, const void *b)
{
    return strcmp(((const struct library *)a)->file, ((const struct library *)b)->file);
}

static void mark_expected(struct install *install, const struct cudnn_file *row)
{
    for (size_t i = 0; i < install->library_count; i++) {
        struct library *library = &install->libraries[i];
        struct files_name parsed;
        if (row_of(library) == row && parse_name(library->file, &parsed) &&
            !version_known(parsed.version)) {
            library->expected = true;
        }
    }
}

static void add_missing(struct look *look, struct install *install, size_t *capacity)
{
    size_t present = install->library_count;
    for (size_t i = 0; i < files_count(); i++) {
        const struct cudnn_file *row = files_at(i);
        if (!is_needed(install, row)) {
            continue;
        }
        if (is_present(install, row)) {
            mark_expected(install, row);
            continue;
        }
        struct library *library = arena_push(look->arena, &install->libraries,
                                             &install->library_count, capacity, sizeof *library);
        *library = (struct library){.file = name_here(row),
                                    .component = row->component,
                                    .generation = row->generation,
                                    .state = LIBRARY_MISSING,
                                    .expected = true};
    }
    if (install->library_count - present > 1) {
        qsort(install->libraries + present, install->library_count - present,
              sizeof *install->libraries, by_name);
    }
}

static bool is_complete(const struct install *install)
{
    for (size_t i = 0; i < install->library_count; i++) {
        const struct library *library = &install->libraries[i];
        bool other_arch = library->arch != ARCH_UNKNOWN && library->arch != install->arch;
        if (library->expected && (library->state == LIBRARY_MISSING ||
                                  library->state == LIBRARY_CORRUPT || other_arch)) {
            return false;
        }
    }
    return true;
}

bool libraries_read(struct look *look, struct inventory *inventory, struct install *install)
{
    size_t capacity = 0;
    read_present(look, inventory, install, &capacity);
    if (install->library_count == 0) {
        return false;
    }
    install->generation = find_generation(install);
    agree(look, install);
    lend_versions(install);
    install->layout = find_layout(install);
    add_missing(look, install, &capacity);
    install->complete = is_complete(install);
    return true;
}
