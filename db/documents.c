#include "db/documents.h"

#include "base/hash.h"
#include "base/text.h"

enum { SCHEMA = 1 }; /* of the snapshot document: rules/document.c */

/* ---- taking apart ---- */

static void add(struct arena *arena, struct document_list *list, const char *kind, const char *key,
                struct json *document)
{
    struct document *item =
        arena_push(arena, &list->items, &list->count, &list->capacity, sizeof *item);
    char *text = json_print(document);
    json_free(document);
    item->kind = kind;
    item->key = arena_strdup(arena, key);
    item->text = arena_strdup(arena, text);
    item->hash = (int64_t)hash_text(HASH_START, text);
    free(text);
}

static const char *gpu_key(struct arena *arena, const struct gpu *gpu)
{
    if (gpu->uuid != NULL) {
        return gpu->uuid;
    }
    return gpu->pci_bus_id != NULL ? gpu->pci_bus_id : arena_printf(arena, "%d", gpu->index);
}

static const char *or_empty(const char *text)
{
    return text == NULL ? "" : text;
}

/* The snapshot without what is measured anew in every scan. */
static struct snapshot steady(struct arena *arena, const struct snapshot *snapshot)
{
    struct snapshot copy = *snapshot;
    size_t count = snapshot->inventory.install_count;
    if (snapshot->probes != NULL && count > 0) {
        copy.probes = arena_alloc(arena, count * sizeof *copy.probes);
        memcpy(copy.probes, snapshot->probes, count * sizeof *copy.probes);
        for (size_t i = 0; i < count; i++) {
            copy.probes[i].load_ms = -1;
        }
    }
    return copy;
}

static void add_findings(struct arena *arena, struct document_list *list,
                         const struct snapshot *snapshot)
{
    for (size_t i = 0; i < snapshot->finding_count; i++) {
        struct finding finding = snapshot->findings[i];
        finding.first_seen_at_ms = finding.last_seen_at_ms = finding.resolved_at_ms = 0;
        add(arena, list, "finding", finding.id, finding_to_json(&finding));
        list->items[list->count - 1].finding = &snapshot->findings[i];
    }
}

static void add_all(struct arena *arena, struct document_list *list,
                    const struct snapshot *snapshot)
{
    const struct inventory *inventory = &snapshot->inventory;
    add(arena, list, "host", "", snapshot_host_to_json(snapshot));
    add(arena, list, "driver", "", snapshot_driver_to_json(snapshot));
    for (size_t i = 0; i < snapshot->driver.gpu_count; i++) {
        const struct gpu *gpu = &snapshot->driver.gpus[i];
        add(arena, list, "gpu", gpu_key(arena, gpu), snapshot_gpu_to_json(gpu));
    }
    for (size_t i = 0; i < inventory->toolkit_count; i++) {
        const struct toolkit *toolkit = &inventory->toolkits[i];
        add(arena, list, "toolkit", or_empty(toolkit->path), snapshot_toolkit_to_json(toolkit));
    }
    for (size_t i = 0; i < inventory->install_count; i++) {
        add(arena, list, "install", or_empty(inventory->installs[i].path),
            snapshot_install_to_json(snapshot, i));
    }
    for (size_t i = 0; i < inventory->search_count; i++) {
        const struct search_entry *entry = &inventory->search_path[i];
        const char *key = arena_printf(arena, "%s:%s", or_empty(search_scope_name(entry->scope)),
                                       or_empty(entry->directory));
        add(arena, list, "search_entry", key, snapshot_search_entry_to_json(snapshot, i));
    }
    for (size_t i = 0; i < inventory->problem_count; i++) {
        const struct problem *problem = &inventory->problems[i];
        add(arena, list, "problem", or_empty(problem->path), snapshot_problem_to_json(problem));
    }
}

static int compare_names(const struct document *a, const struct document *b)
{
    int order = strcmp(a->kind, b->kind);
    return order != 0 ? order : strcmp(a->key, b->key);
}

/* The text decides among equal keys, so that their numbers do not depend on qsort. */
static int compare_documents(const void *left, const void *right)
{
    const struct document *a = left, *b = right;
    int order = compare_names(a, b);
    return order != 0 ? order : strcmp(a->text, b->text);
}

/* Equal keys lie side by side after sorting. One pass gives them numbers; a number can meet a key
   that looks like it, so this goes on until nothing is equal. */
static bool tell_apart(struct arena *arena, struct document_list *list)
{
    bool changed = false;
    size_t kept = 0, first = 0;
    for (size_t i = 0; i < list->count; i++) {
        struct document item = list->items[i];
        if (i == 0 || compare_names(&list->items[first], &item) != 0) {
            first = kept;
        } else if (item.finding != NULL) {
            continue;
        } else {
            item.key = arena_printf(arena, "%s#%u", item.key, (unsigned)(kept - first + 1));
            changed = true;
        }
        list->items[kept++] = item;
    }
    list->count = kept;
    return changed;
}

void documents_take_apart(struct arena *arena, const struct snapshot *snapshot,
                          struct document_list *out_list)
{
    struct document_list list = {0};
    struct snapshot copy = steady(arena, snapshot);
    add_all(arena, &list, &copy);
    add_findings(arena, &list, snapshot);
    do {
        qsort(list.items, list.count, sizeof *list.items, compare_documents);
    } while (tell_apart(arena, &list));
    *out_list = list;
}

/* ---- putting together ---- */

/* In the order of the whole document. */
static const struct kind {
    const char *name;
    const char *field;
    bool many;
    const char *number; /* the documents' own field that orders them; else by path */
} KINDS[] = {
    {"host", "host", false, NULL},       {"driver", "driver", false, NULL},
    {"gpu", "gpus", true, "index"},      {"toolkit", "toolkits", true, NULL},
    {"install", "installs", true, NULL}, {"search_entry", "search_path", true, "order"},
    {"finding", "findings", true, NULL}, {"problem", "problems", true, NULL},
};

enum { KIND_COUNT = sizeof KINDS / sizeof *KINDS };

struct assembly_part {
    int kind;
    enum health health;
    int64_t number;
    const char *code, *path; /* of the value */
    struct json *value;
};

void assembly_done(struct assembly *assembly)
{
    for (size_t i = 0; i < assembly->count; i++) {
        json_free(assembly->parts[i].value);
    }
    arena_done(&assembly->arena);
    *assembly = (struct assembly){0};
}

static enum health finding_health(const struct json *finding)
{
    const char *severity = or_empty(json_as_text(json_get(finding, "severity")));
    if (text_equal(severity, severity_name(SEVERITY_CRITICAL))) {
        return HEALTH_CRITICAL;
    }
    return text_equal(severity, severity_name(SEVERITY_WARNING)) ? HEALTH_WARNING : HEALTH_OK;
}

int assembly_add(struct assembly *assembly, const char *kind, struct json *document,
                 struct err *err)
{
    int index = 0;
    while (index < KIND_COUNT && !text_equal(KINDS[index].name, kind)) {
        index++;
    }
    if (index == KIND_COUNT) {
        json_free(document);
        return err_set(err, ERR_CORRUPT, "the store holds a document of an unknown kind");
    }
    struct assembly_part *part = arena_push(&assembly->arena, &assembly->parts, &assembly->count,
                                            &assembly->capacity, sizeof *part);
    bool finding = text_equal(kind, "finding");
    const struct json *with_path = finding ? json_get(document, "subject") : document;
    part->kind = index;
    part->value = document;
    part->health = finding ? finding_health(document) : HEALTH_OK;
    part->code = finding ? or_empty(json_as_text(json_get(document, "code"))) : "";
    part->path = or_empty(json_as_text(json_get(with_path, "path")));
    if (KINDS[index].number != NULL) {
        /* Without the number it comes first: better than no document at all. */
        json_read_int_or(document, KINDS[index].number, 0, &part->number, NULL);
    }
    return 0;
}

static int compare_parts(const void *left, const void *right)
{
    const struct assembly_part *a = left, *b = right;
    if (a->kind != b->kind) {
        return a->kind < b->kind ? -1 : 1;
    }
    if (a->health != b->health) { /* worst first */
        return a->health > b->health ? -1 : 1;
    }
    if (a->number != b->number) {
        return a->number < b->number ? -1 : 1;
    }
    int order = strcmp(a->code, b->code);
    return order != 0 ? order : strcmp(a->path, b->path);
}

static enum health worst_health(const struct assembly *assembly)
{
    enum health worst = HEALTH_OK;
    for (size_t i = 0; i < assembly->count; i++) {
        worst = assembly->parts[i].health > worst ? assembly->parts[i].health : worst;
    }
    return worst;
}

struct json *assembly_to_json(struct assembly *assembly, const struct snapshot *scan)
{
    struct json *object = json_object();
    size_t next = 0;
    if (assembly->count > 0) {
        qsort(assembly->parts, assembly->count, sizeof *assembly->parts, compare_parts);
    }
    json_set_int(object, "schema", SCHEMA);
    json_set(object, "scan", snapshot_scan_to_json(scan));
    json_set_text(object, "health", health_name(worst_health(assembly)));
    for (int kind = 0; kind < KIND_COUNT; kind++) {
        struct json *array = KINDS[kind].many ? json_set_array(object, KINDS[kind].field) : NULL;
        for (; next < assembly->count && assembly->parts[next].kind == kind; next++) {
            if (array != NULL) {
                json_append(array, assembly->parts[next].value);
            } else {
                json_set(object, KINDS[kind].field, assembly->parts[next].value);
            }
            assembly->parts[next].value = NULL;
        }
    }
    return object;
}

int document_parse(const char *text, int64_t hash, struct json **out_document, struct err *err)
{
    struct json *document = NULL;
    if (text != NULL && (int64_t)hash_text(HASH_START, text) == hash) {
        document = json_parse(text, strlen(text), NULL);
    }
    if (!json_is_object(document)) {
        json_free(document);
        return err_set(err, ERR_CORRUPT,
                       "a stored document is damaged: check the disk; history before or after it "
                       "can still be read");
    }
    *out_document = document;
    return 0;
}

void document_set_finding_times(struct json *finding, int64_t first_seen_at_ms,
                                int64_t last_seen_at_ms, int64_t resolved_at_ms)
{
    static const char *const keys[] = {"state", "first_seen_at", "last_seen_at", "resolved_at"};
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        json_remove(finding, keys[i]);
    }
    json_set_text(finding, keys[0], resolved_at_ms == 0 ? "active" : "resolved");
    json_set_time(finding, keys[1], first_seen_at_ms);
    json_set_time(finding, keys[2], last_seen_at_ms);
    json_set_time(finding, keys[3], resolved_at_ms);
}
