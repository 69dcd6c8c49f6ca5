#ifndef API_VIEWS_H
#define API_VIEWS_H

/* The documents of the HTTP interface that are no part of the snapshot as it stands: lists with
   the scan they come from, and /status. Values out, no I/O. */

#include "api/server.h"
#include "base/json.h"

/* Called for every document of a snapshot with its path; takes the value. */
typedef void views_emit(void *context, const char *path, struct json *value);
void views_of_snapshot(const struct snapshot *snapshot, views_emit *emit, void *context);

/* What a snapshot gives to /status; NULL for no snapshot yet. */
struct json *views_status_of_snapshot(const struct snapshot *snapshot);

/* /status: the part above (copied) and the service's own. */
struct json *views_status(const struct json *of_snapshot, const struct api_service *service);

struct json *views_rules(void);

#endif
