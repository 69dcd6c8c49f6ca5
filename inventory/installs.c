#include "inventory/installs.h"

#include "base/cleanup.h"
#include "base/text.h"
#include "inventory/headers.h"
#include "inventory/libraries.h"
#include "os/path.h"
#include "os/secure.h"

/* ---- candidates ---- */

/* How much a kind says: of two ways to a directory the more telling one names it. */
static int weight(const struct source *source)
{
    static const int weights[] = {
        [INSTALL_OTHER] = 0, [INSTALL_SYSTEM] = 1, [INSTALL_STANDALONE] = 2, [INSTALL_TOOLKIT] = 3,
        [INSTALL_APP] = 4,   [INSTALL_CONDA] = 5,  [INSTALL_WHEEL] = 6,      [INSTALL_TORCH] = 6,
    };
    return source->place == NULL ? -1 : weights[source->place->kind];
}

/* An environment's own lib is conda's only where conda keeps books. */
static bool applies(const struct source *source)
{
    return source->place == NULL || source->place->kind != INSTALL_CONDA ||
           (source->environment != NULL && source->environment->is_conda);
}

static struct candidate *find_candidate(const struct candidates *candidates, uint64_t key,
                                        const char *canonical)
{
    for (size_t i = 0; i < candidates->count; i++) {
        struct candidate *candidate = &candidates->items[i];
        if (candidate->key == key && os_path_equal(candidate->path, canonical)) {
            return candidate;
        }
    }
    return NULL;
}

/* Only what holds a cuDNN: a machine has hundreds of directories that could. */
static struct candidate *add_candidate(struct look *look, struct candidates *candidates,
                                       const char *canonical, uint64_t key, enum look_care care)
{
    const char **names;
    size_t count;
    if (!libraries_names(look, canonical, care, &names, &count)) {
        return NULL;
    }
    if (candidates->count >= INSTALLS_LIMIT) {
        look_limit(look, canonical, INSTALLS_LIMIT, "directories with a cuDNN");
        return NULL;
    }
    struct candidate *candidate = arena_push(look->arena, &candidates->items, &candidates->count,
                                             &candidates->capacity, sizeof *candidate);
    *candidate = (struct candidate){.path = canonical, .key = key};
    return candidate;
}

void candidates_add(struct look *look, struct candidates *candidates, const struct source *source)
{
    bool guessed = source->place != NULL && source->place->from == PLACE_HOME;
    enum look_care care = guessed ? LOOK_GUESS : LOOK_WANTED;
    const char *canonical = applies(source) ? look_directory(look, source->path, care) : NULL;
    if (canonical == NULL) {
        return;
    }
    uint64_t key = places_key(canonical);
    struct candidate *candidate = find_candidate(candidates, key, canonical);
    bool is_new = candidate == NULL;
    candidate = is_new ? add_candidate(look, candidates, canonical, key, care) : candidate;
    if (candidate == NULL) {
        return;
    }
    if (is_new || weight(source) > weight(&candidate->best)) {
        candidate->best = *source;
    }
    if (source->place != NULL && source->place->from == PLACE_IN_TOOLKIT &&
        !candidate->in_toolkit) {
        candidate->in_toolkit = true;
        candidate->toolkit = source->toolkit;
    }
    if (candidate->environment == NULL) {
        candidate->environment = source->environment;
    }
}

/* ---- what an install is ---- */

static bool has_cudnn(const char *name)
{
    for (; *name != '\0'; name++) {
        if (text_has_prefix_nocase(name, "cudnn")) {
            return true;
        }
    }
    return false;
}

/* "cudnn-linux-x86_64-9.5.0.50_cuda12-archive", or "cudnn/9.5.0" as people sort them. */
static bool is_named_after_cudnn(struct look *look, const char *path)
{
    return has_cudnn(os_path_name(path)) ||
           has_cudnn(os_path_name(os_path_parent(look->arena, path)));
}

/* The root of an unpacked archive: a directory named after cuDNN with include beside bin or lib;
   NULL for any other directory. */
static const char *archive_root(struct look *look, const char *path)
{
    static const char *const folders[] = {"bin", "lib", "lib64", NULL};
    const char *root = NULL, *at = path;
    for (int depth = 0; depth < 2 && root == NULL; depth++) {
        for (const char *const *folder = folders; *folder != NULL; folder++) {
            if (places_match(*folder, os_path_name(at))) {
                root = os_path_parent(look->arena, at);
            }
        }
        at = os_path_parent(look->arena, at); /* bin/x64 */
    }
    if (root == NULL || !is_named_after_cudnn(look, root) ||
        look_directory(look, os_path_join(look->arena, root, "include"), LOOK_GUESS) == NULL) {
        return NULL;
    }
    return root;
}

static void set_kind(struct look *look, const struct candidate *candidate, struct install *install)
{
    const struct place *place = candidate->best.place;
    install->kind = place == NULL ? INSTALL_OTHER : place->kind;
    if (install->kind == INSTALL_STANDALONE) {
        install->standalone_root = look_directory(look, candidate->best.root, LOOK_WANTED);
        return;
    }
    const char *root = install->kind == INSTALL_OTHER ? archive_root(look, install->path) : NULL;
    if (root != NULL) {
        install->kind = INSTALL_STANDALONE;
        install->standalone_root = root;
    }
}

static void set_toolkit_owner(struct look *look, const struct toolkit *toolkit,
                              struct install *install)
{
    char text[VERSION_TEXT_SIZE];
    version_text(toolkit->version, 2, text);
    install->owner_type = "toolkit";
    install->owner_name = *text == '\0' ? "CUDA" : arena_printf(look->arena, "CUDA %s", text);
    install->owner_path = toolkit->path;
}

/* Only a directory of the installer's own was put there by it; an archive has no owner. */
static void set_installer_owner(struct look *look, const struct candidate *candidate,
                                struct install *install)
{
    const struct place *place = candidate->best.place;
    if (place != NULL && place->from == PLACE_PROGRAM_FILES && install->standalone_root != NULL) {
        install->owner_type = "installer";
        install->owner_name =
            arena_printf(look->arena, "cuDNN %s", os_path_name(install->standalone_root));
        install->owner_path = install->standalone_root;
    }
}

/* The installer's "bin\12.6": the first component below the root that is a CUDA version. */
static void set_cuda_from_directory(struct look *look, struct install *install)
{
    const char *at = install->path;
    if (install->cuda_major > 0 || install->standalone_root == NULL) {
        return;
    }
    while (os_path_is_below(at, install->standalone_root) &&
           !os_path_equal(at, install->standalone_root)) {
        struct version version;
        const char *name = os_path_name(at);
        if (strspn(name, "0123456789.") == strlen(name) && version_parse(name, &version) &&
            version.part[0] < 1000) {
            install->cuda_major = (int)version.part[0];
            install->cuda_major_source = "directory";
            return;
        }
        at = os_path_parent(look->arena, at);
    }
}

static void set_owner(struct look *look, const struct candidate *candidate,
                      const struct inventory *inventory, struct install *install)
{
    const struct source *source = &candidate->best;
    if (source->environment != NULL) {
        environments_own(look, source->environment, source->site, source->place, source->root,
                         install);
    } else if (install->kind == INSTALL_TOOLKIT && candidate->in_toolkit) {
        set_toolkit_owner(look, &inventory->toolkits[candidate->toolkit], install);
    } else if (install->kind == INSTALL_STANDALONE) {
        set_installer_owner(look, candidate, install);
    }
    set_cuda_from_directory(look, install);
}

/* The directory, and the file behind each name: a link may lead out of the directory. */
static void set_trust(struct look *look, struct install *install)
{
    install->trusted = os_secure_is_trusted(look->arena, look_system_path(look, install->path),
                                            &install->trust_reason);
    for (size_t i = 0; i < install->library_count && install->trusted; i++) {
        CLEANUP(arena_done) struct arena scratch = {0};
        const struct library *library = &install->libraries[i];
        const char *path = os_path_join(&scratch, install->path, library->file);
        char *canonical;
        if (library->state == LIBRARY_OK &&
            os_path_resolve(&scratch, look->request->root, path, &canonical, NULL) == 0) {
            install->trusted = os_secure_is_trusted(
                look->arena, os_path_in_root(&scratch, look->request->root, canonical),
                &install->trust_reason);
        }
    }
}

static bool read_install(struct look *look, const struct candidate *candidate,
                         const struct search_path *search_path, struct inventory *inventory,
                         struct install *out_install)
{
    struct install install = {
        .id = places_id(look->arena, candidate->path),
        .path = candidate->path,
        .on_search_path = search_path_has(search_path, candidate->path),
        .in_toolkit = candidate->in_toolkit,
        .toolkit_index = candidate->toolkit,
        .in_environment = candidate->environment != NULL,
        .environment = candidate->environment == NULL ? NULL : candidate->environment->root,
    };
    if (!libraries_read(look, inventory, &install)) {
        return false;
    }
    set_kind(look, candidate, &install);
    set_owner(look, candidate, inventory, &install);
    headers_read(look, install.in_toolkit ? &inventory->toolkits[install.toolkit_index] : NULL,
                 &install);
    set_trust(look, &install);
    *out_install = install;
    return true;
}

static int by_path(const void *a, const void *b)
{
    return strcmp(((const struct install *)a)->path, ((const struct install *)b)->path);
}

void installs_read(struct look *look, const struct candidates *candidates,
                   const struct search_path *search_path, struct inventory *inventory)
{
    inventory->installs =
        arena_alloc(look->arena, (candidates->count + 1) * sizeof *inventory->installs);
    for (size_t i = 0; i < candidates->count && !look_is_cancelled(look); i++) {
        struct install *install = &inventory->installs[inventory->install_count];
        if (read_install(look, &candidates->items[i], search_path, inventory, install)) {
            inventory->install_count++;
        }
    }
    if (inventory->install_count > 1) {
        qsort(inventory->installs, inventory->install_count, sizeof *inventory->installs, by_path);
    }
}
