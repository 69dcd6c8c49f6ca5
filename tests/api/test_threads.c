/* Publishing while several clients read: for the thread sanitizer, and for whoever mixes the
   documents of two snapshots. */
#include "tests/test.h"

#include <pthread.h>
#include <stdio.h>

#include "base/cleanup.h"
#include "tests/api/service.h"

enum { CLIENTS = 4, REQUESTS = 60, PUBLICATIONS = 60 };

struct client {
    pthread_t thread;
    struct service *service;
    const char *path;
    int wrong;
};

static void *ask_again_and_again(void *context)
{
    struct client *client = context;
    for (int i = 0; i < REQUESTS; i++) {
        struct reply reply CLEANUP(reply_done) =
            service_ask(client->service, "GET", client->path, NULL, NULL);
        client->wrong += reply.status == 200 && reply.body_size > 0 ? 0 : 1;
    }
    return NULL;
}

static void clients_never_see_a_publication_by_halves(void **state)
{
    static const char *const paths[CLIENTS] = {"/status", "/metrics", "/api/v1/snapshot",
                                               "/api/v1/scans"};
    struct service *service = *state;
    struct client clients[CLIENTS];
    for (int i = 0; i < CLIENTS; i++) {
        clients[i] = (struct client){.service = service, .path = paths[i]};
        assert_int_equal(pthread_create(&clients[i].thread, NULL, ask_again_and_again, &clients[i]),
                         0);
    }
    for (int i = 0; i < PUBLICATIONS; i++) {
        char error[32];
        snprintf(error, sizeof error, "error %d", i);
        service->facts.last_scan_error = i % 2 == 0 ? error : NULL;
        service->facts.last_scan_error_at_ms = i;
        if (i % 3 == 0) {
            api_server_update(service->server, &service->facts);
        } else {
            api_server_publish(service->server, service->snapshot, &service->facts);
        }
    }
    for (int i = 0; i < CLIENTS; i++) {
        pthread_join(clients[i].thread, NULL);
        assert_int_equal(clients[i].wrong, 0);
    }
}

RUN_TESTS(cmocka_unit_test_setup_teardown(clients_never_see_a_publication_by_halves,
                                          service_setup_published, service_teardown))
