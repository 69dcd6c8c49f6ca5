/* What is read: pyvenv.cfg (PEP 405: `home = ` leads to the base environment),
   <name>-<version>.dist-info (PEP 376 and 427: the directory's name says both; '-' in a name is
   written '_'), conda-meta/<name>-<version>-<build>.json, torch/version.py. */
#include "inventory/environments.h"

#include "base/cleanup.h"
#include "base/json.h"
#include "base/text.h"
#include "os/path.h"

enum {
    CONFIG_LIMIT = 64 * 1024,
    LIST_FILE_LIMIT = 1024 * 1024,
    RECORD_LIMIT = 4 * 1024 * 1024,
};

static const char dist_info_suffix[] = ".dist-info";

/* ---- finding ---- */

static void read_site(struct look *look, const char *canonical, struct site *out_site)
{
    CLEANUP(arena_done) struct arena scratch = {0};
    struct os_dir_list list;
    size_t capacity = 0;
    *out_site = (struct site){.path = canonical};
    if (!look_list(look, &scratch, canonical, LOOK_WANTED, &list)) {
        return;
    }
    for (size_t i = 0; i < list.count; i++) {
        if (text_has_suffix_nocase(list.entries[i].name, dist_info_suffix)) {
            const char **item = arena_push(look->arena, &out_site->dist_info,
                                           &out_site->dist_info_count, &capacity, sizeof *item);
            *item = arena_strdup(look->arena, list.entries[i].name);
        }
    }
}

/* lib64 is often a link to lib: each canonical directory once. */
static void find_sites(struct look *look, struct environment *environment)
{
    size_t capacity = 0;
    for (size_t i = 0; i < places_count; i++) {
        struct place_hits hits = {0};
        if (places[i].role == PLACE_SITE) {
            places_below(look, &places[i], environment->root, &hits);
        }
        for (size_t h = 0; h < hits.count; h++) {
            const char *canonical = look_directory(look, hits.items[h].path, LOOK_WANTED);
            bool known = canonical == NULL;
            for (size_t s = 0; s < environment->site_count && !known; s++) {
                known = os_path_equal(environment->sites[s].path, canonical);
            }
            if (!known) {
                read_site(look, canonical,
                          arena_push(look->arena, &environment->sites, &environment->site_count,
                                     &capacity, sizeof *environment->sites));
            }
        }
    }
}

static bool is_known(const struct environments *environments, const char *canonical)
{
    for (size_t i = 0; i < environments->count; i++) {
        if (os_path_equal(environments->items[i].root, canonical)) {
            return true;
        }
    }
    return false;
}

static void add(struct look *look, struct environments *environments, const char *path,
                enum look_care care)
{
    const char *canonical = look_directory(look, path, care);
    if (canonical == NULL || is_known(environments, canonical)) {
        return;
    }
    struct environment environment = {.root = canonical};
    const char *meta = os_path_join(look->arena, canonical, "conda-meta");
    environment.is_conda = look_directory(look, meta, care) != NULL;
    find_sites(look, &environment);
    if (environment.site_count == 0 && !environment.is_conda) {
        return;
    }
    if (environments->count >= ENVIRONMENTS_LIMIT) {
        look_limit(look, canonical, ENVIRONMENTS_LIMIT, "Python environments");
        return;
    }
    *(struct environment *)arena_push(look->arena, &environments->items, &environments->count,
                                      &environments->capacity, sizeof environment) = environment;
}

/* The text behind "key =" of a line, or NULL. */
static char *config_value(char *line, const char *key)
{
    line = text_strip(line);
    if (!text_has_prefix_nocase(line, key)) {
        return NULL;
    }
    line = text_strip(line + strlen(key));
    return *line == '=' ? text_strip(line + 1) : NULL;
}

/* Calls `each` with every line of a small text file, blanks at its ends removed. */
typedef void line_reader(struct look *look, struct environments *environments, char *line);

static void read_lines(struct look *look, struct environments *environments, const char *path,
                       size_t limit, enum look_care care, line_reader *each)
{
    CLEANUP(arena_done) struct arena scratch = {0};
    char *text = look_read(look, &scratch, path, limit, care, NULL);
    while (text != NULL && *text != '\0') {
        size_t length = strcspn(text, "\r\n");
        char *next = text + length + (text[length] != '\0');
        text[length] = '\0';
        each(look, environments, text_strip(text));
        text = next;
    }
}

static void add_base(struct look *look, struct environments *environments, char *line)
{
    const char *home = config_value(line, "home");
    if (home != NULL && os_path_is_absolute(home)) {
        add(look, environments, places_python_root(look->arena, home), LOOK_WANTED);
    }
}

/* A line of .conda/environments.txt; the list keeps environments that are long gone. */
static void add_listed(struct look *look, struct environments *environments, char *line)
{
    if (os_path_is_absolute(line)) {
        add(look, environments, arena_strdup(look->arena, line), LOOK_GUESS);
    }
}

/* An interpreter that is a link belongs to two places: a venv's own, and where it really lies. */
static void add_of_program(struct look *look, struct environments *environments, const char *path)
{
    struct arena *arena = look->arena;
    const char *canonical;
    if (look_at(look, path, LOOK_GUESS, &canonical) != LOOK_FILE) {
        return;
    }
    add(look, environments, places_python_root(arena, os_path_parent(arena, path)), LOOK_GUESS);
    add(look, environments, places_python_root(arena, os_path_parent(arena, canonical)),
        LOOK_GUESS);
}

static void find_by_row(struct look *look, const struct place *place,
                        struct environments *environments)
{
    struct place_hits hits = {0};
    enum look_care care = place->from == PLACE_HOME ? LOOK_GUESS : LOOK_WANTED;
    places_find(look, place, &hits);
    for (size_t h = 0; h < hits.count && !look_is_cancelled(look); h++) {
        const char *path = hits.items[h].path;
        if (place->role == PLACE_PYTHON) {
            add(look, environments, path, care);
        } else if (place->role == PLACE_PYTHON_PROGRAM) {
            add_of_program(look, environments, path);
        } else {
            read_lines(look, environments, path, LIST_FILE_LIMIT, care, add_listed);
        }
    }
}

/* A venv's base, a conda base's environments. May grow the list that is being walked. */
static void follow(struct look *look, struct environments *environments, size_t index)
{
    const char *root = environments->items[index].root;
    bool is_conda = environments->items[index].is_conda;
    read_lines(look, environments, os_path_join(look->arena, root, "pyvenv.cfg"), CONFIG_LIMIT,
               LOOK_WANTED, add_base);
    for (size_t i = 0; i < places_count && is_conda; i++) {
        struct place_hits hits = {0};
        if (places[i].role == PLACE_PYTHON && places[i].from == PLACE_IN_ENVIRONMENT) {
            places_below(look, &places[i], root, &hits);
        }
        for (size_t h = 0; h < hits.count; h++) {
            add(look, environments, hits.items[h].path, LOOK_WANTED);
        }
    }
}

void environments_find(struct look *look, struct environments *out_environments)
{
    struct environments environments = {0};
    for (size_t i = 0; i < places_count; i++) {
        enum place_role role = places[i].role;
        if (role == PLACE_PYTHON || role == PLACE_PYTHON_LIST || role == PLACE_PYTHON_PROGRAM) {
            find_by_row(look, &places[i], &environments);
        }
    }
    for (size_t i = 0; i < environments.count && !look_is_cancelled(look); i++) {
        follow(look, &environments, i);
    }
    *out_environments = environments;
}

/* ---- owners ---- */

/* A package's own word about itself. */
struct claim {
    const char *name, *path; /* "nvidia-cudnn-cu12"; its record */
    const char *version;     /* "9.5.0.50" */
    int cuda_major;          /* 0 = it does not say */
};

/* How well a claim fits what lies there: its version counts more than its CUDA. */
static int fitness(const struct claim *claim, const struct install *install)
{
    struct version version;
    int fit = 0;
    if (version_parse(claim->version, &version) && version_known(install->version) &&
        version_compare(version, install->version, 3) == 0) {
        bool both_have_builds = version.count == 4 && install->version.count == 4;
        fit += 4;
        fit += both_have_builds && version_compare(version, install->version, 4) == 0 ? 1 : 0;
    }
    if (claim->cuda_major > 0 && claim->cuda_major == install->cuda_major) {
        fit += 2;
    }
    return fit;
}

/* "nvidia-cudnn-cu12" -> 12 */
static int cuda_of_name(const char *name)
{
    struct version version;
    for (const char *at = strstr(name, "-cu"); at != NULL; at = strstr(at + 1, "-cu")) {
        if (version_parse(at + 3, &version) && version.part[0] < 1000) {
            return (int)version.part[0];
        }
    }
    return 0;
}

static bool claim_of_dist_info(struct arena *arena, const struct site *site, const char *entry,
                               struct claim *out_claim)
{
    size_t length = strlen(entry) - strlen(dist_info_suffix);
    char *name = arena_strndup(arena, entry, length);
    char *dash = strchr(name, '-');
    if (dash == NULL) {
        return false;
    }
    *dash = '\0';
    for (char *at = name; *at != '\0'; at++) {
        *at = *at == '_' ? '-' : *at;
    }
    *out_claim = (struct claim){.name = name,
                                .version = dash + 1,
                                .path = os_path_join(arena, site->path, entry),
                                .cuda_major = cuda_of_name(name)};
    return true;
}

/* Does "nvidia_cudnn_cu12-9.5.0.50.dist-info" belong to a package of this name? */
static bool is_package(struct arena *arena, const char *entry, const char *pattern)
{
    char *name = arena_strndup(arena, entry, strcspn(entry, "-"));
    return places_match(pattern, name);
}

static bool best_dist_info(struct look *look, const struct site *site, const char *pattern,
                           const struct install *install, struct claim *out_claim)
{
    int best = -1;
    for (size_t i = 0; i < site->dist_info_count; i++) {
        struct claim claim;
        if (is_package(look->arena, site->dist_info[i], pattern) &&
            claim_of_dist_info(look->arena, site, site->dist_info[i], &claim) &&
            fitness(&claim, install) > best) {
            best = fitness(&claim, install);
            *out_claim = claim;
        }
    }
    return best >= 0;
}

/* cuDNN's CUDA by conda's words: "cuda-version >=12,<13.0a0" among what it depends on. */
static int cuda_of_depends(const struct json *document)
{
    static const char before[] = "cuda-version >=";
    const struct json *depends = json_get(document, "depends");
    for (size_t i = 0; i < json_count(depends); i++) {
        const char *text = json_as_text(json_at(depends, i));
        struct version version;
        if (text != NULL && text_has_prefix(text, before) &&
            version_parse(text + strlen(before), &version) && version.part[0] < 1000) {
            return (int)version.part[0];
        }
    }
    return 0;
}

static bool claim_of_conda(struct look *look, const char *path, struct claim *out_claim)
{
    CLEANUP(arena_done) struct arena scratch = {0};
    size_t size;
    const char *text = look_read(look, &scratch, path, RECORD_LIMIT, LOOK_WANTED, &size);
    CLEANUP(json_done) struct json *document = text == NULL ? NULL : json_parse(text, size, NULL);
    const char *name, *version;
    if (document == NULL || json_read_text(document, "name", &name, NULL) != 0 ||
        json_read_text(document, "version", &version, NULL) != 0) {
        return false;
    }
    *out_claim = (struct claim){.name = arena_strdup(look->arena, name),
                                .version = arena_strdup(look->arena, version),
                                .path = arena_strdup(look->arena, path),
                                .cuda_major = cuda_of_depends(document)};
    return true;
}

/* "cudnn" (which may only name another) and "libcudnn" (which brings the libraries) are both
   installed where they have been split; the latter is the owner. */
static bool best_conda(struct look *look, const struct environment *environment,
                       const struct install *install, struct claim *out_claim)
{
    CLEANUP(arena_done) struct arena scratch = {0};
    struct os_dir_list list;
    int best = -1;
    const char *meta = os_path_join(look->arena, environment->root, "conda-meta");
    const char *canonical = look_directory(look, meta, LOOK_WANTED);
    if (canonical == NULL || !look_list(look, &scratch, canonical, LOOK_WANTED, &list)) {
        return false;
    }
    for (size_t i = 0; i < list.count; i++) {
        struct claim claim;
        if (!places_match("*cudnn*.json", list.entries[i].name) ||
            strstr(list.entries[i].name, "-dev-") != NULL ||
            !claim_of_conda(look, os_path_join(look->arena, canonical, list.entries[i].name),
                            &claim)) {
            continue;
        }
        int fit = 2 * fitness(&claim, install) + (text_equal(claim.name, "libcudnn") ? 1 : 0);
        if (fit > best) {
            best = fit;
            *out_claim = claim;
        }
    }
    return best >= 0;
}

/* The text between quotes on the line of version.py that begins with `name`; NULL when absent. */
static char *python_text(struct arena *arena, const char *source, const char *name)
{
    for (const char *line = source; line != NULL && *line != '\0';) {
        size_t length = strcspn(line, "\r\n");
        char *copy = arena_strndup(arena, line, length);
        char *equals = strchr(copy, '=');
        size_t name_length = strlen(name);
        if (equals != NULL && text_has_prefix(copy, name) &&
            strchr(" :=", copy[name_length]) != NULL) {
            char *value = text_strip(equals + 1);
            char quote = *value;
            char *end = quote == '\'' || quote == '"' ? strchr(value + 1, quote) : NULL;
            if (end != NULL) {
                *end = '\0';
                return value + 1;
            }
        }
        line += length + strspn(line + length, "\r\n");
    }
    return NULL;
}

static void claim_of_torch(struct look *look, const char *root, struct claim *claim)
{
    CLEANUP(arena_done) struct arena scratch = {0};
    const char *path = os_path_join(look->arena, root, "version.py");
    char *source = look_read(look, &scratch, path, CONFIG_LIMIT, LOOK_WANTED, NULL);
    if (source == NULL) {
        return;
    }
    const char *version = python_text(look->arena, source, "__version__");
    const char *cuda = python_text(look->arena, source, "cuda");
    struct version parsed;
    claim->name = "torch";
    claim->version = version != NULL ? version : claim->version;
    claim->path = claim->path != NULL ? claim->path : path;
    if (cuda != NULL && version_parse(cuda, &parsed) && parsed.part[0] < 1000) {
        claim->cuda_major = (int)parsed.part[0];
    }
}

static const char *owner_type(enum install_kind kind)
{
    return kind == INSTALL_CONDA ? "conda" : kind == INSTALL_TORCH ? "torch" : "wheel";
}

void environments_own(struct look *look, const struct environment *environment,
                      const struct site *site, const struct place *place, const char *root,
                      struct install *install)
{
    struct claim claim = {0};
    if (place->kind == INSTALL_CONDA) {
        best_conda(look, environment, install, &claim);
    } else if (site != NULL) {
        /* "ctranslate2.libs" and "ctranslate2" are both ctranslate2's */
        const char *own = os_path_name(root);
        size_t length = text_has_suffix(own, ".libs") ? strlen(own) - strlen(".libs") : strlen(own);
        const char *pattern =
            place->owner != NULL ? place->owner : arena_strndup(look->arena, own, length);
        best_dist_info(look, site, pattern, install, &claim);
    }
    if (place->kind == INSTALL_TORCH) {
        claim_of_torch(look, root, &claim);
    }
    if (claim.name == NULL) {
        return;
    }
    install->owner_type = owner_type(place->kind);
    install->owner_name = claim.version == NULL
                              ? claim.name
                              : arena_printf(look->arena, "%s %s", claim.name, claim.version);
    install->owner_path = claim.path;
    if (install->cuda_major == 0 && claim.cuda_major > 0) {
        install->cuda_major = claim.cuda_major;
        install->cuda_major_source = "owner";
    }
}
