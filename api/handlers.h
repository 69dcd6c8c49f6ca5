#ifndef API_HANDLERS_H
#define API_HANDLERS_H

/* One function a kind of route: a request in, an answer out. No HTTP library here, no waiting: a
   published document, a read of the store, or a word with the agent. */

#include "api/request.h"
#include "api/state.h"

void handle_published(struct api_state *state, const struct api_request *request,
                      struct api_response *response);
void handle_status(struct api_state *state, const struct api_request *request,
                   struct api_response *response);
void handle_healthz(struct api_state *state, const struct api_request *request,
                    struct api_response *response);
void handle_readyz(struct api_state *state, const struct api_request *request,
                   struct api_response *response);
void handle_metrics(struct api_state *state, const struct api_request *request,
                    struct api_response *response);
void handle_snapshot(struct api_state *state, const struct api_request *request,
                     struct api_response *response);
void handle_findings(struct api_state *state, const struct api_request *request,
                     struct api_response *response);
void handle_finding(struct api_state *state, const struct api_request *request,
                    struct api_response *response);
void handle_scans(struct api_state *state, const struct api_request *request,
                  struct api_response *response);
void handle_scan_request(struct api_state *state, const struct api_request *request,
                         struct api_response *response);
void handle_scan(struct api_state *state, const struct api_request *request,
                 struct api_response *response);
void handle_rules(struct api_state *state, const struct api_request *request,
                  struct api_response *response);

#endif
