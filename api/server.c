/* The HTTP side of the room and its only file that knows libmicrohttpd: listening, what is checked
   of every request before a handler sees it, and how an answer becomes a response. */
#include "api/server.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include <microhttpd.h>

#include "api/routes.h"
#include "api/state.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/clock_text.h"
#include "base/log.h"
#include "base/text.h"
#include "os/tcp.h"

struct api_server {
    struct api_state state;
    struct MHD_Daemon **daemons; /* one a listening address */
    size_t daemon_count;
};

/* ---- what is checked of every request ---- */

/* "localhost:9877": one of our own names with our port, or a configured name with any. Another
   name means that a browser was lured here (DNS rebinding). */
static bool is_our_host(const struct api_state *state, const char *host)
{
    const struct api_options *options = &state->options;
    char port[8];
    if (host == NULL) {
        return false;
    }
    const char *after = host[0] == '[' ? strchr(host, ']') : NULL;
    const char *colon = after != NULL ? (after[1] == ':' ? after + 1 : NULL) : strchr(host, ':');
    size_t length = colon == NULL ? strlen(host) : (size_t)(colon - host);
    char name[256];
    if (length == 0 || length >= sizeof name) {
        return false;
    }
    memcpy(name, host, length);
    name[length] = '\0';
    for (size_t i = 0; i < options->host_count; i++) {
        if (text_equal_nocase(name, options->hosts[i])) {
            return true;
        }
    }
    snprintf(port, sizeof port, "%u", (unsigned)state->port);
    if (!text_equal(colon == NULL ? "80" : colon + 1, port)) {
        return false;
    }
    if (text_equal_nocase(name, "localhost") || text_equal(name, "127.0.0.1") ||
        text_equal(name, "[::1]")) {
        return true;
    }
    for (size_t i = 0; i < options->address_count; i++) { /* 127.0.0.2 */
        if (text_equal(name, options->addresses[i])) {
            return true;
        }
    }
    return false;
}

/* Takes as long whatever was sent: compares with every byte of the token. */
static bool is_token(const char *token, const char *authorization)
{
    static const char scheme[] = "Bearer ";
    if (token == NULL || authorization == NULL || !text_has_prefix_nocase(authorization, scheme)) {
        return false;
    }
    const char *sent = authorization + strlen(scheme);
    size_t length = strlen(token);
    size_t sent_length = strlen(sent);
    unsigned differs = length ^ sent_length ? 1 : 0;
    for (size_t i = 0; i < length; i++) {
        char other = i < sent_length ? sent[i] : '\0';
        differs |= (unsigned)(unsigned char)(token[i] ^ other);
    }
    return differs == 0;
}

struct query {
    struct api_request *request;
    bool too_many;
};

static enum MHD_Result add_parameter(void *context, enum MHD_ValueKind kind, const char *name,
                                     const char *value)
{
    struct query *query = context;
    (void)kind;
    if (query->request->query_count == API_PARAMETERS) {
        query->too_many = true;
        return MHD_NO;
    }
    query->request->query[query->request->query_count++] =
        (struct api_parameter){name, value == NULL ? "" : value};
    return MHD_YES;
}

static bool is_known(const struct route *route, const char *name)
{
    for (size_t i = 0; route->parameters[i].name != NULL; i++) {
        if (text_equal(route->parameters[i].name, name)) {
            return true;
        }
    }
    return false;
}

static bool check_query(struct MHD_Connection *connection, const struct route *route,
                        struct api_request *request, struct api_response *response)
{
    struct query query = {.request = request};
    if (route->parameters[0].name == NULL) {
        return true;
    }
    MHD_get_connection_values(connection, MHD_GET_ARGUMENT_KIND, add_parameter, &query);
    if (query.too_many) {
        api_problem(response, 400, "A query has at most %d parameters.", API_PARAMETERS);
        return false;
    }
    for (size_t i = 0; i < request->query_count; i++) {
        const char *name = request->query[i].name;
        if (!is_known(route, name)) {
            api_problem(response, 400, "There is no parameter '%.64s' here.", name);
            return false;
        }
        if (api_request_parameter(request, name) != request->query[i].value) {
            api_problem(response, 400, "The parameter '%.64s' is given twice.", name);
            return false;
        }
    }
    return true;
}

struct sizes {
    size_t target, headers;
};

static enum MHD_Result add_sizes(void *context, enum MHD_ValueKind kind, const char *name,
                                 const char *value)
{
    struct sizes *sizes = context;
    size_t size = strlen(name) + (value == NULL ? 0 : strlen(value)) + strlen(": \r\n");
    if (kind == MHD_HEADER_KIND) {
        sizes->headers += size;
    } else {
        sizes->target += size;
    }
    return MHD_YES;
}

static bool check_sizes(struct MHD_Connection *connection, const char *path,
                        struct api_response *response)
{
    struct sizes sizes = {.target = strlen(path)};
    MHD_get_connection_values(connection,
                              (enum MHD_ValueKind)(MHD_HEADER_KIND | MHD_GET_ARGUMENT_KIND),
                              add_sizes, &sizes);
    if (sizes.target > API_TARGET_BYTES) {
        api_problem(response, 414, "Path and query may be %d bytes long.", API_TARGET_BYTES);
        return false;
    }
    if (sizes.headers > API_HEADER_BYTES) {
        api_problem(response, 431, "The headers may be %d bytes long together.", API_HEADER_BYTES);
        return false;
    }
    return true;
}

static const char *header(void *connection, const char *name)
{
    return MHD_lookup_connection_value(connection, MHD_HEADER_KIND, name);
}

static bool check_token(const struct api_state *state, const struct api_request *request,
                        struct api_response *response)
{
    if (state->options.token == NULL) {
        api_problem(response, 403, "This service has no token, so that nobody may do this.");
        return false;
    }
    if (is_token(state->options.token, api_request_header(request, "Authorization"))) {
        return true;
    }
    api_problem(response, 401,
                "This needs 'Authorization: Bearer TOKEN' with the token from the file 'token' in "
                "the service's data directory.");
    return false;
}

/* ---- one request ---- */

/* A request's body: lives from the headers to the end. Of a GET it is read and forgotten. */
struct upload {
    struct buf body;
    bool too_large;
};

/* Of every GET and HEAD; never written to. */
static struct upload no_upload;

static size_t answer(struct api_state *state, struct MHD_Connection *connection, const char *method,
                     const char *path, const struct upload *upload, struct api_response *response)
{
    struct api_request request = {
        .method = text_equal(method, "HEAD") ? "GET" : method,
        .path = path,
        .body = upload->body.data == NULL ? "" : upload->body.data,
        .header = header,
        .connection = connection,
    };
    if (!check_sizes(connection, path, response)) {
        return routes_count;
    }
    if (!is_our_host(state, header(connection, "Host"))) {
        api_problem(response, 421,
                    "This service is asked as localhost:%u, 127.0.0.1:%u or [::1]:%u; a reverse "
                    "proxy's name belongs into listen.hosts of the configuration.",
                    (unsigned)state->port, (unsigned)state->port, (unsigned)state->port);
        return routes_count;
    }
    const struct route *route =
        routes_find(request.method, path, &request.id, &response->allow, response->text);
    if (route == NULL) {
        if (response->allow == NULL) {
            api_problem(response, 404, "There is no '%.128s' here; /status is a good start.", path);
        } else if (text_equal(method, "OPTIONS")) {
            response->status = 204;
        } else {
            api_problem(response, 405, "%.16s is not possible here, but %s.", method,
                        response->allow);
        }
        return routes_count;
    }
    if (upload->too_large) {
        api_problem(response, 413, "A body may be %d bytes long.", API_BODY_BYTES);
    } else if ((!route->needs_token || check_token(state, &request, response)) &&
               check_query(connection, route, &request, response)) {
        route->answer(state, &request, response);
    }
    return (size_t)(route - routes_table);
}

/* RFC 9110, section 13.1.2. Our tags have no comma and no star in them. */
static bool is_unchanged(struct MHD_Connection *connection, const struct document *document)
{
    const char *tags = header(connection, "If-None-Match");
    return tags != NULL && (text_equal(tags, "*") || strstr(tags, document->etag) != NULL);
}

static void free_document(void *document)
{
    free(document);
}

/* The response holds the document's memory, the document the response: it is freed when neither a
   reference nor an answer on its way needs it any more. */
static void release_prepared(struct document *document)
{
    MHD_destroy_response(atomic_load(&document->prepared));
}

static void add_document_headers(struct MHD_Response *out, const struct document *document)
{
    MHD_add_response_header(out, "ETag", document->etag);
    if (document->data_at_ms > 0) {
        char time[CLOCK_TEXT_SIZE];
        clock_text_format_http(document->data_at_ms, time);
        MHD_add_response_header(out, "Last-Modified", time);
    }
    if (document->varies) {
        MHD_add_response_header(out, "Vary", "Accept");
    }
}

static void add_common_headers(struct MHD_Response *out)
{
    MHD_add_response_header(out, "Cache-Control", "no-cache");
    MHD_add_response_header(out, "X-Content-Type-Options", "nosniff");
}

/* The response of a document's 200, made once for all who ask for it. NULL: out of memory. */
static struct MHD_Response *prepare(struct document *document)
{
    static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
    struct MHD_Response *out = atomic_load(&document->prepared);
    if (out != NULL) {
        return out;
    }
    pthread_mutex_lock(&mutex);
    out = atomic_load(&document->prepared);
    if (out == NULL) {
        out = MHD_create_response_from_buffer_with_free_callback_cls(
            document->size, document->bytes, free_document, document);
        if (out != NULL) {
            add_common_headers(out);
            MHD_add_response_header(out, "Content-Type", document->content_type);
            add_document_headers(out, document);
            document->release = release_prepared;
            atomic_store(&document->prepared, out);
        }
    }
    pthread_mutex_unlock(&mutex);
    return out;
}

/* What is said once: problems, 202, 304. The body is copied. */
static struct MHD_Response *make_response(const struct api_response *response)
{
    const struct document *document = response->document;
    bool unchanged = response->status == 304;
    bool body = document != NULL && !unchanged;
    union { /* the library's parameter is not const, but it copies */
        const char *bytes;
        void *buffer;
    } source = {.bytes = body ? document->bytes : ""};
    struct MHD_Response *out = MHD_create_response_from_buffer(
        body ? document->size : 0, source.buffer, MHD_RESPMEM_MUST_COPY);
    if (out == NULL) {
        return NULL;
    }
    add_common_headers(out);
    if (body) {
        MHD_add_response_header(out, "Content-Type", document->content_type);
    }
    if (unchanged && document != NULL) {
        add_document_headers(out, document);
    }
    if (response->location != NULL) {
        MHD_add_response_header(out, "Location", response->location);
    }
    if (response->allow != NULL) {
        MHD_add_response_header(out, "Allow", response->allow);
    }
    if (response->status == 401) {
        MHD_add_response_header(out, "WWW-Authenticate", "Bearer realm=\"cudnnd\"");
    }
    if (response->retry_after_s > 0) {
        char seconds[16];
        snprintf(seconds, sizeof seconds, "%u", response->retry_after_s);
        MHD_add_response_header(out, "Retry-After", seconds);
    }
    return out;
}

static enum MHD_Result send_response(struct MHD_Connection *connection,
                                     const struct api_response *response)
{
    bool shared = response->status == 200 && response->document != NULL;
    struct MHD_Response *out = shared ? prepare(response->document) : make_response(response);
    if (out == NULL) {
        return MHD_NO; /* out of memory: the connection is closed */
    }
    enum MHD_Result result = MHD_queue_response(connection, response->status, out);
    if (!shared) {
        MHD_destroy_response(out);
    }
    return result;
}

static enum MHD_Result respond(struct api_state *state, struct MHD_Connection *connection,
                               const char *method, const char *path, const struct upload *upload)
{
    struct api_response response = {0};
    size_t route = answer(state, connection, method, path, upload, &response);
    if (response.status == 200 && response.document != NULL &&
        is_unchanged(connection, response.document)) {
        response.status = 304;
    }
    api_state_count(state, route, response.status);
    enum MHD_Result result = send_response(connection, &response);
    document_drop(response.document);
    return result;
}

static struct upload *upload_new(void)
{
    struct upload *upload = calloc(1, sizeof *upload);
    if (upload == NULL) {
        log_fatal("out of memory: a request's body");
    }
    buf_init(&upload->body, API_BODY_BYTES);
    return upload;
}

/* A body that says beforehand that it is too large is refused before it is read. */
static bool is_refused(struct MHD_Connection *connection)
{
    uint64_t length;
    const char *text = header(connection, "Content-Length");
    return text != NULL && (!text_to_u64(text, UINT64_MAX, &length) || length > API_BODY_BYTES);
}

/* libmicrohttpd calls once with the headers, for each part of a body, and once at the end. An
   answer at the first call costs the connection, so that only a refusal is given there. */
static enum MHD_Result on_request(void *context, struct MHD_Connection *connection,
                                  const char *path, const char *method, const char *version,
                                  const char *data, size_t *data_size, void **request_context)
{
    struct api_state *state = context;
    struct upload *upload = *request_context;
    (void)version;
    if (upload == NULL) {
        bool reads = text_equal(method, "GET") || text_equal(method, "HEAD");
        *request_context = upload = reads ? &no_upload : upload_new();
        if (!reads) {
            upload->too_large = is_refused(connection);
        }
        return upload->too_large ? respond(state, connection, method, path, upload) : MHD_YES;
    }
    if (*data_size > 0) {
        if (upload != &no_upload && !upload->too_large &&
            buf_add(&upload->body, data, *data_size, NULL) != 0) {
            upload->too_large = true; /* the rest of it is read and forgotten */
        }
        *data_size = 0;
        return MHD_YES;
    }
    return respond(state, connection, method, path, upload);
}

static void on_completed(void *context, struct MHD_Connection *connection, void **request_context,
                         enum MHD_RequestTerminationCode how)
{
    struct upload *upload = *request_context;
    (void)context;
    (void)connection;
    (void)how;
    if (upload != &no_upload && upload != NULL) {
        buf_done(&upload->body);
        free(upload);
    }
    *request_context = NULL;
}

/* ---- life ---- */

static void on_library_log(void *context, const char *format, va_list arguments)
    __attribute__((format(printf, 2, 0)));

static void on_library_log(void *context, const char *format, va_list arguments)
{
    char text[512];
    (void)context;
    vsnprintf(text, sizeof text, format, arguments);
    log_debug("http: %s", text_strip(text));
}

static int start_daemon(struct api_server *server, intptr_t socket, struct err *err)
{
    struct MHD_Daemon *daemon = MHD_start_daemon(
        API_DAEMON_FLAGS, 0, NULL, NULL, on_request, &server->state, MHD_OPTION_EXTERNAL_LOGGER,
        on_library_log, NULL, MHD_OPTION_LISTEN_SOCKET, (MHD_socket)socket,
        MHD_OPTION_THREAD_POOL_SIZE, (unsigned)API_THREADS, MHD_OPTION_CONNECTION_LIMIT,
        (unsigned)API_CONNECTIONS, MHD_OPTION_CONNECTION_TIMEOUT, (unsigned)API_IDLE_SECONDS,
        MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)API_MEMORY_BYTES, MHD_OPTION_NOTIFY_COMPLETED,
        on_completed, NULL, MHD_OPTION_END);
    if (daemon == NULL) {
        return err_set(err, ERR_IO, "the HTTP server cannot be started");
    }
    server->daemons[server->daemon_count++] = daemon;
    return 0;
}

struct sockets {
    intptr_t *items;
    size_t count;
};

static void close_sockets(struct sockets *sockets)
{
    for (size_t i = 0; i < sockets->count; i++) {
        os_tcp_close(sockets->items[i]);
    }
    free(sockets->items);
    *sockets = (struct sockets){0};
}

/* Every address or none, on one port: a free one that the first address has may be taken on the
   next, then another is tried. An address that this machine does not have (IPv6 off) is left out,
   unless it is the only one. */
static int listen_all(const struct api_options *options, uint16_t *port, struct sockets *sockets,
                      struct err *err)
{
    struct err missing = {0};
    for (size_t i = 0; i < options->address_count; i++) {
        intptr_t socket;
        int code = os_tcp_listen(options->addresses[i], port, &socket, err);
        if (code == ERR_UNSUPPORTED) {
            missing = *err;
            continue;
        }
        if (code != 0) {
            close_sockets(sockets);
            return code;
        }
        intptr_t *items = realloc(sockets->items, (sockets->count + 1) * sizeof *items);
        if (items == NULL) {
            log_fatal("out of memory: listening sockets");
        }
        sockets->items = items;
        sockets->items[sockets->count++] = socket;
    }
    if (missing.code != 0) {
        log_warning("%s: not listening there", missing.message);
    }
    return sockets->count > 0 ? 0 : err_set(err, ERR_UNSUPPORTED, "%s", missing.message);
}

static int listen_on_port(const struct api_options *options, uint16_t *out_port,
                          struct sockets *sockets, struct err *err)
{
    enum { TRIES = 16 };
    int code = ERR_BUSY;
    uint16_t port = options->port;
    for (int i = 0; i < (options->port == 0 ? TRIES : 1) && code == ERR_BUSY; i++) {
        port = options->port;
        code = listen_all(options, &port, sockets, err);
    }
    if (code == ERR_BUSY) {
        return err_set(err, ERR_BUSY,
                       "port %u is in use by another program; choose another with --port or "
                       "listen.port in the configuration",
                       (unsigned)port);
    }
    *out_port = port;
    return code;
}

int api_server_start(const struct api_options *options, const struct api_service *service,
                     struct api_server **out_server, struct err *err)
{
    struct sockets CLEANUP(close_sockets) sockets = {0};
    uint16_t port = 0;
    int code = listen_on_port(options, &port, &sockets, err);
    if (code != 0) {
        return code;
    }
    struct api_server *server = calloc(1, sizeof *server);
    if (server == NULL) {
        log_fatal("out of memory: the HTTP server");
    }
    server->daemons = calloc(sockets.count, sizeof(struct MHD_Daemon *));
    if (server->daemons == NULL) {
        log_fatal("out of memory: the HTTP server");
    }
    api_state_init(&server->state, options, service);
    server->state.port = port;
    while (sockets.count > 0 && code == 0) { /* the library closes the sockets it was given */
        code = start_daemon(server, sockets.items[--sockets.count], err);
    }
    if (code != 0) {
        api_server_stop(server);
        return code;
    }
    *out_server = server;
    return 0;
}

uint16_t api_server_port(const struct api_server *server)
{
    return server->state.port;
}

void api_server_publish(struct api_server *server, const struct snapshot *snapshot,
                        const struct api_service *service)
{
    api_state_publish(&server->state, snapshot, service);
}

void api_server_update(struct api_server *server, const struct api_service *service)
{
    api_state_update(&server->state, service);
}

void api_server_stop(struct api_server *server)
{
    if (server == NULL) {
        return;
    }
    for (size_t i = 0; i < server->daemon_count; i++) {
        MHD_stop_daemon(server->daemons[i]);
    }
    api_state_done(&server->state);
    free(server->daemons);
    free(server);
}
