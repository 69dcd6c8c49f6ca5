#include "api/state.h"

#include <stdlib.h>
#include <string.h>

#include "api/metrics.h"
#include "api/views.h"
#include "base/log.h"
#include "os/clock.h"

enum { METRICS_AGE_MS = 1000 };

const unsigned api_status_codes[API_STATUS_CODES] = {200, 202, 204, 304, 400, 401, 403, 404,
                                                     405, 413, 414, 421, 431, 500, 503};

static void *grown(void *memory, size_t size)
{
    memory = realloc(memory, size);
    if (memory == NULL) {
        log_fatal("out of memory: the published documents");
    }
    return memory;
}

static char *copied(const char *text)
{
    char *copy = text == NULL ? NULL : strdup(text);
    if (text != NULL && copy == NULL) {
        log_fatal("out of memory: the published documents");
    }
    return copy;
}

/* ---- a publication ---- */

static void publication_add(void *context, const char *path, struct json *value)
{
    struct publication *publication = context;
    if (publication->count == publication->capacity) {
        publication->capacity = publication->capacity == 0 ? 64 : 2 * publication->capacity;
        publication->entries =
            grown(publication->entries, publication->capacity * sizeof *publication->entries);
    }
    publication->entries[publication->count++] = (struct publication_entry){
        .path = copied(path),
        .document = document_of_json(document_json, value, publication->data_at_ms),
    };
}

static int by_path(const void *a, const void *b)
{
    const struct publication_entry *left = a;
    const struct publication_entry *right = b;
    return strcmp(left->path, right->path);
}

static struct publication *publication_new(const struct snapshot *snapshot,
                                           const struct api_service *service)
{
    struct publication *publication = grown(NULL, sizeof *publication);
    *publication = (struct publication){
        .data_at_ms = snapshot->finished_at_ms,
        .error_at_ms = service->last_scan_error_at_ms,
    };
    views_of_snapshot(snapshot, publication_add, publication);
    qsort(publication->entries, publication->count, sizeof *publication->entries, by_path);
    return publication;
}

static void publication_free(struct publication *publication)
{
    for (size_t i = 0; publication != NULL && i < publication->count; i++) {
        free(publication->entries[i].path);
        document_drop(publication->entries[i].document);
    }
    if (publication != NULL) {
        free(publication->entries);
        free(publication);
    }
}

/* ---- life ---- */

/* The service's facts with texts of our own: the caller's may change when the call has ended.
   Under the mutex. */
static void keep_service(struct api_state *state, const struct api_service *service)
{
    struct api_service copy = *service;
    const char **texts[] = {&copy.version, &copy.revision, &copy.last_scan_error,
                            &copy.config_error};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        free(state->service_texts[i]);
        state->service_texts[i] = copied(*texts[i]);
        *texts[i] = state->service_texts[i];
    }
    state->service = copy;
}

static const char *const *copy_list(struct arena *arena, const char *const *items, size_t count)
{
    const char **copies = arena_alloc(arena, (count + 1) * sizeof *copies);
    for (size_t i = 0; i < count; i++) {
        copies[i] = arena_strdup(arena, items[i]);
    }
    return copies;
}

static struct document *word(const char *text)
{
    struct json *document = json_object();
    json_set_text(document, "status", text);
    return document_of_json(document_json, document, 0);
}

void api_state_init(struct api_state *state, const struct api_options *options,
                    const struct api_service *service)
{
    *state = (struct api_state){.options = *options};
    struct api_options *own = &state->options;
    own->addresses = copy_list(&state->arena, own->addresses, own->address_count);
    own->hosts = copy_list(&state->arena, own->hosts, own->host_count);
    own->token = arena_strdup(&state->arena, own->token);
    own->database_path = arena_strdup(&state->arena, own->database_path);
    pthread_mutex_init(&state->mutex, NULL);
    keep_service(state, service);
    state->status = document_of_json(document_json, views_status(NULL, service), 0);
    state->rules = document_of_json(document_json, views_rules(), 0);
    state->alive = word("alive");
    state->ready = word("ready");
}

void api_state_done(struct api_state *state)
{
    publication_free(state->publication);
    document_drop(state->status);
    document_drop(state->rules);
    document_drop(state->alive);
    document_drop(state->ready);
    json_free(state->status_of_snapshot);
    for (int i = 0; i < API_FORMATS; i++) {
        free(state->snapshot_metrics[i]);
        document_drop(state->metrics[i]);
    }
    for (size_t i = 0; i < sizeof state->service_texts / sizeof *state->service_texts; i++) {
        free(state->service_texts[i]);
    }
    for (size_t i = 0; i < state->idle_count; i++) {
        db_reader_close(state->idle_readers[i]);
    }
    pthread_mutex_destroy(&state->mutex);
    arena_done(&state->arena);
}

/* ---- publishing ---- */

static char *print_snapshot_metrics(enum api_format format, const struct snapshot *snapshot)
{
    struct buf page;
    struct err err = {0};
    buf_init(&page, METRICS_CEILING);
    if (metrics_print(&page, format, METRICS_OF_SNAPSHOT, snapshot, NULL, &err) != 0) {
        log_error("/metrics has no families of the snapshot: %s", err.message);
        buf_done(&page);
        return NULL;
    }
    return buf_take(&page);
}

/* Under the mutex: pages made before are of yesterday. */
static void forget_pages(struct api_state *state)
{
    for (int i = 0; i < API_FORMATS; i++) {
        document_drop(state->metrics[i]);
        state->metrics[i] = NULL;
    }
}

void api_state_publish(struct api_state *state, const struct snapshot *snapshot,
                       const struct api_service *service)
{
    struct publication *publication = publication_new(snapshot, service);
    struct json *of_snapshot = views_status_of_snapshot(snapshot);
    struct document *status = document_of_json(document_json, views_status(of_snapshot, service),
                                               snapshot->finished_at_ms);
    char *metrics[API_FORMATS];
    for (int i = 0; i < API_FORMATS; i++) {
        metrics[i] = print_snapshot_metrics((enum api_format)i, snapshot);
    }
    json_free(state->status_of_snapshot);
    state->status_of_snapshot = of_snapshot;

    pthread_mutex_lock(&state->mutex);
    struct publication *old = state->publication;
    struct document *old_status = state->status;
    state->publication = publication;
    state->status = status;
    for (int i = 0; i < API_FORMATS; i++) {
        char *before = state->snapshot_metrics[i];
        state->snapshot_metrics[i] = metrics[i];
        metrics[i] = before;
    }
    keep_service(state, service);
    forget_pages(state);
    pthread_mutex_unlock(&state->mutex);

    publication_free(old);
    document_drop(old_status);
    for (int i = 0; i < API_FORMATS; i++) {
        free(metrics[i]);
    }
}

/* Series of a scan that failed vanish rather than stand still: what was published before is no
   longer what the machine is like. */
static bool is_stale(const struct api_state *state, const struct api_service *service)
{
    return service->last_scan_error != NULL && state->publication != NULL &&
           service->last_scan_error_at_ms != state->publication->error_at_ms;
}

void api_state_update(struct api_state *state, const struct api_service *service)
{
    pthread_mutex_lock(&state->mutex);
    int64_t data_at_ms = state->publication == NULL ? 0 : state->publication->data_at_ms;
    pthread_mutex_unlock(&state->mutex);
    struct document *status = document_of_json(
        document_json, views_status(state->status_of_snapshot, service), data_at_ms);

    pthread_mutex_lock(&state->mutex);
    struct document *old_status = state->status;
    state->status = status;
    if (is_stale(state, service)) {
        for (int i = 0; i < API_FORMATS; i++) {
            free(state->snapshot_metrics[i]);
            state->snapshot_metrics[i] = NULL;
        }
    }
    keep_service(state, service);
    forget_pages(state);
    pthread_mutex_unlock(&state->mutex);
    document_drop(old_status);
}

/* ---- reading ---- */

struct document *api_state_document(struct api_state *state, const char *path, bool *out_published)
{
    union { /* bsearch's key is const, the entry's path is not */
        const char *text;
        char *path;
    } key = {.text = path};
    struct publication_entry wanted = {.path = key.path};
    struct document *document = NULL;
    pthread_mutex_lock(&state->mutex);
    const struct publication *publication = state->publication;
    *out_published = publication != NULL;
    if (publication != NULL) {
        struct publication_entry *entry =
            bsearch(&wanted, publication->entries, publication->count, sizeof wanted, by_path);
        document = entry == NULL ? NULL : document_keep(entry->document);
    }
    pthread_mutex_unlock(&state->mutex);
    return document;
}

struct document *api_state_status(struct api_state *state)
{
    pthread_mutex_lock(&state->mutex);
    struct document *document = document_keep(state->status);
    pthread_mutex_unlock(&state->mutex);
    return document;
}

/* The page as it is now; the live numbers are gathered without the mutex, the texts under it. */
static struct document *make_metrics(struct api_state *state, enum api_format format)
{
    struct metrics_live live = {.service = &state->service, .state = state};
    struct document *document = NULL;
    struct buf page;
    struct err err = {0};
    buf_init(&page, METRICS_CEILING);
    state->options.store_stats(state->options.context, &live.store);
    os_process_usage(&live.process);
    pthread_mutex_lock(&state->mutex);
    const char *snapshot = state->snapshot_metrics[format];
    int code = snapshot == NULL ? 0 : buf_add_text(&page, snapshot, &err);
    code = code != 0 ? code : metrics_print(&page, format, METRICS_LIVE, NULL, &live, &err);
    code = code != 0 ? code : metrics_print_end(&page, format, &err);
    int64_t data_at_ms =
        snapshot == NULL || state->publication == NULL ? 0 : state->publication->data_at_ms;
    if (code == 0) {
        document = document_new(metrics_content_types[format], page.data, page.size, data_at_ms);
        document->varies = true;
        document_drop(state->metrics[format]);
        state->metrics[format] = document_keep(document);
        state->metrics_at_ms[format] = os_clock_steady_ms();
    }
    pthread_mutex_unlock(&state->mutex);
    if (code != 0) {
        log_error("/metrics: %s", err.message);
    }
    buf_done(&page);
    return document;
}

struct document *api_state_metrics(struct api_state *state, enum api_format format)
{
    struct document *document = NULL;
    uint64_t now = os_clock_steady_ms();
    pthread_mutex_lock(&state->mutex);
    if (state->metrics[format] != NULL && now - state->metrics_at_ms[format] < METRICS_AGE_MS) {
        document = document_keep(state->metrics[format]);
    }
    pthread_mutex_unlock(&state->mutex);
    return document != NULL ? document : make_metrics(state, format);
}

int api_state_take_reader(struct api_state *state, struct db_reader **out_reader, struct err *err)
{
    struct db_reader *reader = NULL;
    pthread_mutex_lock(&state->mutex);
    if (state->idle_count > 0) {
        reader = state->idle_readers[--state->idle_count];
    }
    pthread_mutex_unlock(&state->mutex);
    if (reader != NULL) {
        *out_reader = reader;
        return 0;
    }
    return db_reader_open(state->options.database_path, out_reader, err);
}

void api_state_give_reader(struct api_state *state, struct db_reader *reader, bool broken)
{
    pthread_mutex_lock(&state->mutex);
    if (!broken && state->idle_count < API_IDLE_READERS) {
        state->idle_readers[state->idle_count++] = reader;
        reader = NULL;
    }
    pthread_mutex_unlock(&state->mutex);
    db_reader_close(reader);
}

void api_state_count(struct api_state *state, size_t route, unsigned status)
{
    for (size_t i = 0; i < API_STATUS_CODES && api_status_codes[i] != 0; i++) {
        if (api_status_codes[i] == status) {
            atomic_fetch_add_explicit(&state->requests[route][i], 1, memory_order_relaxed);
            return;
        }
    }
}
