#ifndef API_REQUEST_H
#define API_REQUEST_H

/* What a handler is given and what it answers, without the HTTP library. */

#include "api/document.h"
#include "api/limits.h"

struct api_parameter {
    const char *name, *value;
};

/* Valid until the answer is sent. */
struct api_request {
    const char *method; /* "GET" for HEAD too */
    const char *path;   /* decoded */
    const char *id;     /* the path's last part, where the route has one; NULL */
    struct api_parameter query[API_PARAMETERS];
    size_t query_count;
    const char *body; /* "" when there is none */
    /* Of the HTTP library: how headers are looked up when somebody wants one. */
    const char *(*header)(void *connection, const char *name);
    void *connection;
};

/* A header's value; NULL when it was not sent. */
const char *api_request_header(const struct api_request *request, const char *name);

struct api_response {
    unsigned status;
    struct document *document; /* the response's own reference; NULL = no body */
    const char *location;      /* NULL; in `text` or static */
    const char *allow;         /* 405 and OPTIONS: the methods */
    unsigned retry_after_s;    /* 0 = none */
    char text[128];            /* room for location or allow */
};

/* The value of a query parameter; NULL when it was not given. */
const char *api_request_parameter(const struct api_request *request, const char *name);

/* 200 and the document, whose reference is taken. */
void api_answer(struct api_response *response, struct document *document);

/* An RFC 9457 problem: title and type from the status, `detail` says what happened and what to
   do, in one sentence. */
void api_problem(struct api_response *response, unsigned status, const char *format, ...)
    PRINTF_LIKE(3, 4);

#endif
