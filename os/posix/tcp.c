#include "os/tcp.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdbool.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "os/clock.h"
#include "os/posix/syscall.h"

enum { BLOCK_BYTES = 4096 };

/* The family, or -1 when `host` is not a numeric address. */
static int make_address(const char *host, uint16_t port, struct sockaddr_storage *out_address,
                        socklen_t *out_size)
{
    struct sockaddr_in v4 = {.sin_family = AF_INET, .sin_port = htons(port)};
    struct sockaddr_in6 v6 = {.sin6_family = AF_INET6, .sin6_port = htons(port)};
    if (inet_pton(AF_INET, host, &v4.sin_addr) == 1) {
        memcpy(out_address, &v4, sizeof v4);
        *out_size = sizeof v4;
        return AF_INET;
    }
    if (inet_pton(AF_INET6, host, &v6.sin6_addr) == 1) {
        memcpy(out_address, &v6, sizeof v6);
        *out_size = sizeof v6;
        return AF_INET6;
    }
    return -1;
}

/* Waits until the socket can be written or read, at most until the deadline. */
static int wait_for(int fd, bool writing, uint64_t deadline_ms, struct err *err)
{
    for (;;) {
        uint64_t now = os_clock_steady_ms();
        if (now >= deadline_ms) {
            return err_set(err, ERR_TIMEOUT, "no answer in time");
        }
        struct pollfd source = {.fd = fd, .events = writing ? POLLOUT : POLLIN};
        uint64_t left_ms = deadline_ms - now;
        int ready = poll(&source, 1, left_ms > 60000 ? 60000 : (int)left_ms);
        if (ready > 0) {
            return 0;
        }
        if (ready < 0 && errno != EINTR) {
            return posix_fail(err, errno, "cannot wait for the socket");
        }
    }
}

static int connect_socket(int fd, const struct sockaddr_storage *address, socklen_t size,
                          uint64_t deadline_ms, struct err *err)
{
    int number = connect(fd, (const struct sockaddr *)address, size) == 0 ? 0 : errno;
    if (number == EINPROGRESS || number == EINTR) {
        int code = wait_for(fd, true, deadline_ms, err);
        if (code != 0) {
            return code;
        }
        socklen_t length = sizeof number;
        getsockopt(fd, SOL_SOCKET, SO_ERROR, &number, &length);
    }
    if (number == ECONNREFUSED) {
        return err_set(err, ERR_NOT_FOUND, "nothing listens there");
    }
    return number == 0 ? 0 : posix_fail(err, number, "cannot connect");
}

static bool is_passing(int number)
{
    return number == EAGAIN || number == EINTR;
}

static int send_all(int fd, const char *data, uint64_t deadline_ms, struct err *err)
{
    size_t left = strlen(data);
    while (left > 0) {
        int code = wait_for(fd, true, deadline_ms, err);
        if (code != 0) {
            return code;
        }
        ssize_t sent = send(fd, data, left, MSG_NOSIGNAL);
        if (sent < 0 && !is_passing(errno)) {
            return posix_fail(err, errno, "cannot send");
        }
        if (sent > 0) {
            data += sent;
            left -= (size_t)sent;
        }
    }
    return 0;
}

static int receive_all(int fd, uint64_t deadline_ms, struct buf *response, struct err *err)
{
    for (;;) {
        char block[BLOCK_BYTES];
        int code = wait_for(fd, false, deadline_ms, err);
        if (code != 0) {
            return code;
        }
        ssize_t got = recv(fd, block, sizeof block, 0);
        if (got == 0) {
            return 0;
        }
        if (got < 0 && !is_passing(errno)) {
            return posix_fail(err, errno, "cannot receive");
        }
        code = got > 0 ? buf_add(response, block, (size_t)got, err) : 0;
        if (code != 0) {
            return code;
        }
    }
}

int os_tcp_exchange(const char *host, uint16_t port, const char *request, uint32_t timeout_ms,
                    struct buf *response, struct err *err)
{
    struct sockaddr_storage address;
    socklen_t size = 0;
    uint64_t deadline_ms = os_clock_steady_ms() + timeout_ms;
    int family = make_address(host, port, &address, &size);
    if (family < 0) {
        return err_set(err, ERR_USAGE, "'%.60s' is not a numeric address", host);
    }
    CLEANUP(posix_close) int fd = socket(family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0) {
        return posix_fail(err, errno, "cannot make a socket");
    }
    int code = connect_socket(fd, &address, size, deadline_ms, err);
    code = code != 0 ? code : send_all(fd, request, deadline_ms, err);
    return code != 0 ? code : receive_all(fd, deadline_ms, response, err);
}

static int listen_on(int fd, const struct sockaddr_storage *address, socklen_t size)
{
    int yes = 1;
    /* A port whose last connections are still being forgotten is free; one that is listened on is
       not. */
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
    if (address->ss_family == AF_INET6) {
        setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &yes, sizeof yes);
    }
    if (bind(fd, (const struct sockaddr *)address, size) != 0 || listen(fd, SOMAXCONN) != 0) {
        return errno;
    }
    return 0;
}

static uint16_t port_of(int fd)
{
    struct sockaddr_storage address = {0};
    struct sockaddr_in v4;
    struct sockaddr_in6 v6;
    socklen_t size = sizeof address;
    getsockname(fd, (struct sockaddr *)&address, &size);
    memcpy(&v4, &address, sizeof v4);
    memcpy(&v6, &address, sizeof v6);
    return ntohs(address.ss_family == AF_INET6 ? v6.sin6_port : v4.sin_port);
}

int os_tcp_listen(const char *host, uint16_t *port, intptr_t *out_socket, struct err *err)
{
    struct sockaddr_storage address;
    socklen_t size = 0;
    int family = make_address(host, *port, &address, &size);
    if (family < 0) {
        return err_set(err, ERR_USAGE, "'%.60s' is not a numeric address", host);
    }
    int fd = socket(family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    int number = fd < 0 ? errno : listen_on(fd, &address, size);
    if (number == 0) {
        *port = port_of(fd);
        *out_socket = fd;
        return 0;
    }
    if (fd >= 0) {
        close(fd);
    }
    switch (number) {
    case EADDRINUSE:
        return err_set(err, ERR_BUSY, "port %u of %s is in use", (unsigned)*port, host);
    case EADDRNOTAVAIL:
    case EAFNOSUPPORT:
        return err_set(err, ERR_UNSUPPORTED, "this machine has no address %s", host);
    default:
        return posix_fail(err, number, "cannot listen on port %u of %s", (unsigned)*port, host);
    }
}

void os_tcp_close(intptr_t socket)
{
    close((int)socket);
}
