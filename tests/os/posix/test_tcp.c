#include "tests/test.h"

#include <netinet/in.h>
#include <pthread.h>
#include <stdbool.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "os/clock.h"
#include "os/tcp.h"

struct server {
    int listener;
    uint16_t port;
    bool silent; /* takes the request and says nothing */
    pthread_t thread;
};

static void *serve_one(void *context)
{
    struct server *server = context;
    char request[256];
    int client = accept(server->listener, NULL, NULL);
    ssize_t got = recv(client, request, sizeof request, 0);
    if (server->silent) {
        while (recv(client, request, sizeof request, 0) > 0) {
        }
    } else if (got > 0) {
        send(client, "you said ", 9, MSG_NOSIGNAL);
        os_clock_sleep_ms(50);
        send(client, request, (size_t)got, MSG_NOSIGNAL);
    }
    close(client);
    return NULL;
}

static void server_start(struct server *server)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof address;
    server->listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_true(server->listener >= 0);
    assert_int_equal(bind(server->listener, (struct sockaddr *)&address, sizeof address), 0);
    assert_int_equal(listen(server->listener, 1), 0);
    assert_int_equal(getsockname(server->listener, (struct sockaddr *)&address, &size), 0);
    server->port = ntohs(address.sin_port);
    assert_int_equal(pthread_create(&server->thread, NULL, serve_one, server), 0);
}

static void server_stop(struct server *server)
{
    pthread_join(server->thread, NULL);
    close(server->listener);
}

static int exchange(uint16_t port, size_t ceiling, struct buf *response)
{
    buf_init(response, ceiling);
    return os_tcp_exchange("127.0.0.1", port, "hello", 1000, response, NULL);
}

static void a_request_gets_its_answer(void **state)
{
    (void)state;
    struct server server = {0};
    server_start(&server);
    CLEANUP(buf_done) struct buf response;
    assert_int_equal(exchange(server.port, 100, &response), 0);
    server_stop(&server);
    assert_string_equal(response.data, "you said hello");
}

static void an_answer_over_the_ceiling_is_a_limit(void **state)
{
    (void)state;
    struct server server = {0};
    server_start(&server);
    CLEANUP(buf_done) struct buf response;
    assert_int_equal(exchange(server.port, 10, &response), ERR_LIMIT);
    server_stop(&server);
}

static void a_server_that_says_nothing_is_a_timeout(void **state)
{
    (void)state;
    struct server server = {.silent = true};
    server_start(&server);
    CLEANUP(buf_done) struct buf response;
    uint64_t start_ms = os_clock_steady_ms();
    assert_int_equal(exchange(server.port, 100, &response), ERR_TIMEOUT);
    assert_true(os_clock_steady_ms() - start_ms < 3000);
    server_stop(&server);
}

static void nobody_there_is_not_found(void **state)
{
    (void)state;
    struct server server = {0};
    server_start(&server);
    CLEANUP(buf_done) struct buf first;
    assert_int_equal(exchange(server.port, 100, &first), 0);
    server_stop(&server); /* the port is free again */
    CLEANUP(buf_done) struct buf response;
    assert_int_equal(exchange(server.port, 100, &response), ERR_NOT_FOUND);
    assert_int_equal(os_tcp_exchange("localhost", 1, "", 10, &response, NULL), ERR_USAGE);
}

RUN_TESTS(cmocka_unit_test(a_request_gets_its_answer),
          cmocka_unit_test(an_answer_over_the_ceiling_is_a_limit),
          cmocka_unit_test(a_server_that_says_nothing_is_a_timeout),
          cmocka_unit_test(nobody_there_is_not_found))
