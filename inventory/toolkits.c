/* Version sources, best first: version.json (11.1 and later; "cuda": {"version": "12.6.0"}),
   version.txt (10 and older; "CUDA Version 10.1.243"), CUDA_VERSION in include/cuda.h (12060),
   the directory's own name (v12.6, cuda-12.6). */
#include "inventory/toolkits.h"

#include "base/cleanup.h"
#include "base/json.h"
#include "base/text.h"
#include "inventory/places.h"
#include "os/path.h"

enum {
    TOOLKITS_LIMIT = 4096,
    VERSION_FILE_LIMIT = 1024 * 1024,
    HEADER_LIMIT = 8 * 1024 * 1024, /* cuda.h has about 1 MB */
};

struct toolkits {
    struct look *look;
    struct toolkit *items;
    size_t count, capacity;
    bool has_default;
};

typedef bool version_reader(const char *text, size_t size, struct version *out_version);

static bool read_version_json(const char *text, size_t size, struct version *out_version)
{
    CLEANUP(json_done) struct json *document = json_parse(text, size, NULL);
    const struct json *cuda = document == NULL ? NULL : json_get(document, "cuda");
    const char *version = NULL;
    return cuda != NULL && json_read_text(cuda, "version", &version, NULL) == 0 &&
           version_parse(version, out_version);
}

static bool read_version_text(const char *text, size_t size, struct version *out_version)
{
    static const char before[] = "CUDA Version ";
    (void)size;
    const char *at = strstr(text, before);
    return at != NULL && version_parse(at + strlen(before), out_version);
}

static bool read_cuda_header(const char *text, size_t size, struct version *out_version)
{
    static const char before[] = "#define CUDA_VERSION";
    (void)size;
    for (const char *at = strstr(text, before); at != NULL; at = strstr(at + 1, before)) {
        struct version number;
        const char *value = at + strlen(before);
        size_t blanks = strspn(value, " \t");
        if (blanks > 0 && version_parse(value + blanks, &number)) {
            *out_version = version_from_cuda(number.part[0]);
            return version_known(*out_version);
        }
    }
    return false;
}

static const struct {
    const char *file;
    size_t limit;
    version_reader *read;
} version_files[] = {
    {"version.json", VERSION_FILE_LIMIT, read_version_json},
    {"version.txt", VERSION_FILE_LIMIT, read_version_text},
    {"include/cuda.h", HEADER_LIMIT, read_cuda_header},
};

static struct version find_version(struct look *look, const char *root)
{
    struct version version = {0};
    for (size_t i = 0; i < sizeof version_files / sizeof *version_files; i++) {
        CLEANUP(arena_done) struct arena scratch = {0};
        size_t size;
        const char *path = os_path_join(&scratch, root, version_files[i].file);
        const char *text =
            look_read(look, &scratch, path, version_files[i].limit, LOOK_WANTED, &size);
        if (text != NULL && version_files[i].read(text, size, &version)) {
            return version;
        }
    }
    const char *name = os_path_name(root);
    name += strcspn(name, "0123456789");
    if (version_parse(name, &version)) {
        return version;
    }
    return (struct version){0};
}

static bool is_toolkit(struct look *look, const char *root)
{
    for (size_t i = 0; i < places_count; i++) {
        if (places[i].role != PLACE_TOOLKIT_SIGN) {
            continue;
        }
        struct place_hits hits = {0};
        places_below(look, &places[i], root, &hits);
        for (size_t h = 0; h < hits.count; h++) {
            const char *canonical;
            if (look_at(look, hits.items[h].path, LOOK_WANTED, &canonical) == LOOK_FILE) {
                return true;
            }
        }
    }
    return false;
}

static struct toolkit *find_or_add(struct toolkits *toolkits, const char *canonical)
{
    struct look *look = toolkits->look;
    for (size_t i = 0; i < toolkits->count; i++) {
        if (os_path_equal(toolkits->items[i].path, canonical)) {
            return &toolkits->items[i];
        }
    }
    if (!is_toolkit(look, canonical)) {
        return NULL;
    }
    if (toolkits->count >= TOOLKITS_LIMIT) {
        look_limit(look, canonical, TOOLKITS_LIMIT, "toolkits");
        return NULL;
    }
    struct toolkit *toolkit = arena_push(look->arena, &toolkits->items, &toolkits->count,
                                         &toolkits->capacity, sizeof *toolkit);
    *toolkit = (struct toolkit){.id = places_id(look->arena, canonical),
                                .path = canonical,
                                .version = find_version(look, canonical)};
    return toolkit;
}

/* How the row led there; /usr/local/cuda, by its other name, is a link to cuda-12.6. */
static unsigned source_of(const struct place *place, const char *path, const char *canonical)
{
    switch (place->from) {
    case PLACE_VARIABLE:
    case PLACE_VARIABLES:
        return TOOLKIT_FROM_ENV;
    case PLACE_REGISTRY:
        return TOOLKIT_FROM_REGISTRY;
    default:
        return os_path_equal(os_path_name(path), os_path_name(canonical)) ? TOOLKIT_FROM_DIRECTORY
                                                                          : TOOLKIT_FROM_LINK;
    }
}

static void add(struct toolkits *toolkits, const struct place *place, const char *path)
{
    const char *canonical = look_directory(toolkits->look, path, LOOK_WANTED);
    struct toolkit *toolkit = canonical == NULL ? NULL : find_or_add(toolkits, canonical);
    if (toolkit == NULL) {
        return;
    }
    toolkit->sources |= source_of(place, path, canonical);
    if (place->is_default && !toolkits->has_default) {
        toolkit->is_default = true;
        toolkits->has_default = true;
    }
}

static int by_path(const void *a, const void *b)
{
    return strcmp(((const struct toolkit *)a)->path, ((const struct toolkit *)b)->path);
}

void toolkits_find(struct look *look, struct toolkit **out_toolkits, size_t *out_count)
{
    struct toolkits toolkits = {.look = look};
    for (size_t i = 0; i < places_count; i++) {
        struct place_hits hits = {0};
        if (places[i].role == PLACE_TOOLKIT) {
            places_find(look, &places[i], &hits);
        }
        for (size_t h = 0; h < hits.count && !look_is_cancelled(look); h++) {
            add(&toolkits, &places[i], hits.items[h].path);
        }
    }
    if (toolkits.count > 1) {
        qsort(toolkits.items, toolkits.count, sizeof *toolkits.items, by_path);
    }
    *out_toolkits = toolkits.items;
    *out_count = toolkits.count;
}
