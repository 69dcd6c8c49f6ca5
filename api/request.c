#include "api/request.h"

#include <stdarg.h>
#include <stdio.h>

#include "base/arena.h"
#include "base/text.h"

const char *api_request_header(const struct api_request *request, const char *name)
{
    return request->header(request->connection, name);
}

const char *api_request_parameter(const struct api_request *request, const char *name)
{
    for (size_t i = 0; i < request->query_count; i++) {
        if (text_equal(request->query[i].name, name)) {
            return request->query[i].value;
        }
    }
    return NULL;
}

void api_answer(struct api_response *response, struct document *document)
{
    document_drop(response->document);
    response->status = 200;
    response->document = document;
}

/* RFC 9110, section 15: the reason phrases, which are the titles of untyped problems. */
static const char *title_of(unsigned status)
{
    static const struct {
        unsigned status;
        const char *title;
    } titles[] = {
        {400, "Bad Request"},
        {401, "Unauthorized"},
        {403, "Forbidden"},
        {404, "Not Found"},
        {405, "Method Not Allowed"},
        {413, "Content Too Large"},
        {414, "URI Too Long"},
        {421, "Misdirected Request"},
        {431, "Request Header Fields Too Large"},
        {500, "Internal Server Error"},
        {503, "Service Unavailable"},
    };
    for (size_t i = 0; i < sizeof titles / sizeof *titles; i++) {
        if (titles[i].status == status) {
            return titles[i].title;
        }
    }
    return "Error";
}

void api_problem(struct api_response *response, unsigned status, const char *format, ...)
{
    struct arena arena = {0};
    va_list arguments;
    va_start(arguments, format);
    const char *detail = arena_vprintf(&arena, format, arguments);
    va_end(arguments);
    struct json *problem = json_object();
    json_set_text(problem, "type", "about:blank");
    json_set_text(problem, "title", title_of(status));
    json_set_int(problem, "status", status);
    json_set_text(problem, "detail", detail);
    document_drop(response->document);
    response->status = status;
    response->document = document_of_json(document_problem, problem, 0);
    arena_done(&arena);
}
