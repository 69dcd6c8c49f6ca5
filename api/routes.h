#ifndef API_ROUTES_H
#define API_ROUTES_H

/* The route table: method, path, parameters, handler, and what the reference page says. Adding a
   route is a row here and its function in api/handlers.c. */

#include "api/request.h"
#include "api/state.h"

enum { ROUTE_PARAMETERS = 4 };

struct route_parameter {
    const char *name, *meaning;
};

struct route {
    const char *method;  /* "GET" (serves HEAD too), "POST" */
    const char *path;    /* a final "{id}" stands for any one part */
    const char *meaning; /* for the reference */
    bool needs_token;
    void (*answer)(struct api_state *state, const struct api_request *request,
                   struct api_response *response);
    struct route_parameter parameters[ROUTE_PARAMETERS]; /* allowed in the query, NULL-terminated;
                                                            none: the query is not looked at */
};

extern const struct route routes_table[];
extern const size_t routes_count; /* below API_ROUTES_MAX */

/* Finds the route; *out_id points into `path`. NULL when the path is none (*out_allow NULL) or has
   no such method: then *out_allow lists those it has, as an Allow header, in `text`. */
const struct route *routes_find(const char *method, const char *path, const char **out_id,
                                const char **out_allow, char text[64]);

#endif
