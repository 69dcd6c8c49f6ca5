#include "os/tcp.h"

#include <winsock2.h>

#include <ws2tcpip.h>

#include <pthread.h>
#include <stdbool.h>

#include "base/cleanup.h"
#include "os/clock.h"
#include "os/win32/wide.h"

static pthread_once_t once = PTHREAD_ONCE_INIT;
static int start_error;

static void start_sockets(void)
{
    WSADATA data;
    start_error = WSAStartup(MAKEWORD(2, 2), &data);
}

static void close_socket(SOCKET *handle)
{
    if (*handle != INVALID_SOCKET) {
        closesocket(*handle);
    }
}

static int fail(struct err *err, int error, const char *what)
{
    return wide_error(err, (DWORD)error, "%s", what);
}

static int make_address(const char *host, uint16_t port, SOCKADDR_STORAGE *out_address,
                        int *out_size)
{
    *out_address = (SOCKADDR_STORAGE){0};
    struct sockaddr_in *v4 = (struct sockaddr_in *)out_address;
    struct sockaddr_in6 *v6 = (struct sockaddr_in6 *)out_address;
    if (inet_pton(AF_INET, host, &v4->sin_addr) == 1) {
        v4->sin_family = AF_INET;
        v4->sin_port = htons(port);
        *out_size = sizeof *v4;
        return AF_INET;
    }
    if (inet_pton(AF_INET6, host, &v6->sin6_addr) == 1) {
        v6->sin6_family = AF_INET6;
        v6->sin6_port = htons(port);
        *out_size = sizeof *v6;
        return AF_INET6;
    }
    return -1;
}

/* Waits until the socket can be written or read, at most until the deadline. select() and not
   WSAPoll(): that one does not report a refused connection before Windows 10 2004. */
static int wait_for(SOCKET handle, bool writing, uint64_t deadline_ms, struct err *err)
{
    uint64_t now = os_clock_steady_ms();
    if (now >= deadline_ms) {
        return err_set(err, ERR_TIMEOUT, "no answer in time");
    }
    fd_set wanted, failed;
    FD_ZERO(&wanted);
    FD_ZERO(&failed);
    FD_SET(handle, &wanted);
    FD_SET(handle, &failed);
    uint64_t left_ms = deadline_ms - now;
    struct timeval wait = {(long)(left_ms / 1000), (long)(left_ms % 1000) * 1000};
    int ready = select(0, writing ? NULL : &wanted, writing ? &wanted : NULL, &failed, &wait);
    if (ready == 0) {
        return err_set(err, ERR_TIMEOUT, "no answer in time");
    }
    return ready > 0 ? 0 : fail(err, WSAGetLastError(), "cannot wait for the socket");
}

static int connect_socket(SOCKET handle, const SOCKADDR_STORAGE *address, int size,
                          uint64_t deadline_ms, struct err *err)
{
    int error =
        connect(handle, (const struct sockaddr *)address, size) == 0 ? 0 : WSAGetLastError();
    if (error == WSAEWOULDBLOCK) {
        int code = wait_for(handle, true, deadline_ms, err);
        if (code != 0) {
            return code;
        }
        int length = sizeof error;
        getsockopt(handle, SOL_SOCKET, SO_ERROR, (char *)&error, &length);
    }
    if (error == WSAECONNREFUSED) {
        return err_set(err, ERR_NOT_FOUND, "nothing listens there");
    }
    return error == 0 ? 0 : fail(err, error, "cannot connect");
}

static int send_all(SOCKET handle, const char *data, uint64_t deadline_ms, struct err *err)
{
    size_t left = strlen(data);
    while (left > 0) {
        int code = wait_for(handle, true, deadline_ms, err);
        if (code != 0) {
            return code;
        }
        int sent = send(handle, data, left > 65536 ? 65536 : (int)left, 0);
        if (sent < 0 && WSAGetLastError() != WSAEWOULDBLOCK) {
            return fail(err, WSAGetLastError(), "cannot send");
        }
        if (sent > 0) {
            data += sent;
            left -= (size_t)sent;
        }
    }
    return 0;
}

static int receive_all(SOCKET handle, uint64_t deadline_ms, struct buf *response, struct err *err)
{
    for (;;) {
        char block[4096];
        int code = wait_for(handle, false, deadline_ms, err);
        if (code != 0) {
            return code;
        }
        int got = recv(handle, block, sizeof block, 0);
        if (got == 0) {
            return 0;
        }
        if (got < 0 && WSAGetLastError() != WSAEWOULDBLOCK) {
            return fail(err, WSAGetLastError(), "cannot receive");
        }
        code = got > 0 ? buf_add(response, block, (size_t)got, err) : 0;
        if (code != 0) {
            return code;
        }
    }
}

/* A socket of ours, not blocking and not inherited; INVALID_SOCKET: WSAGetLastError() says why. */
static SOCKET make_socket(int family)
{
    u_long non_blocking = 1;
    SOCKET handle = WSASocketW(family, SOCK_STREAM, IPPROTO_TCP, NULL, 0,
                               WSA_FLAG_OVERLAPPED | WSA_FLAG_NO_HANDLE_INHERIT);
    if (handle != INVALID_SOCKET && ioctlsocket(handle, (long)FIONBIO, &non_blocking) != 0) {
        int error = WSAGetLastError();
        closesocket(handle);
        WSASetLastError(error);
        return INVALID_SOCKET;
    }
    return handle;
}

int os_tcp_exchange(const char *host, uint16_t port, const char *request, uint32_t timeout_ms,
                    struct buf *response, struct err *err)
{
    SOCKADDR_STORAGE address;
    int size = 0;
    uint64_t deadline_ms = os_clock_steady_ms() + timeout_ms;
    pthread_once(&once, start_sockets);
    if (start_error != 0) {
        return fail(err, start_error, "the system has no sockets");
    }
    int family = make_address(host, port, &address, &size);
    if (family < 0) {
        return err_set(err, ERR_USAGE, "'%.60s' is not a numeric address", host);
    }
    SOCKET handle CLEANUP(close_socket) = make_socket(family);
    if (handle == INVALID_SOCKET) {
        return fail(err, WSAGetLastError(), "cannot make a socket");
    }
    int code = connect_socket(handle, &address, size, deadline_ms, err);
    code = code != 0 ? code : send_all(handle, request, deadline_ms, err);
    return code != 0 ? code : receive_all(handle, deadline_ms, response, err);
}

static int listen_on(SOCKET handle, const SOCKADDR_STORAGE *address, int size)
{
    BOOL yes = TRUE;
    /* Without it another program may bind the same port over ours and read what is meant for us
       (Winsock, "Using SO_REUSEADDR and SO_EXCLUSIVEADDRUSE"). */
    setsockopt(handle, SOL_SOCKET, SO_EXCLUSIVEADDRUSE, (const char *)&yes, sizeof yes);
    if (address->ss_family == AF_INET6) {
        setsockopt(handle, IPPROTO_IPV6, IPV6_V6ONLY, (const char *)&yes, sizeof yes);
    }
    if (bind(handle, (const struct sockaddr *)address, size) != 0 ||
        listen(handle, SOMAXCONN) != 0) {
        return WSAGetLastError();
    }
    return 0;
}

static uint16_t port_of(SOCKET handle)
{
    SOCKADDR_STORAGE address = {0};
    int size = sizeof address;
    getsockname(handle, (struct sockaddr *)&address, &size);
    return ntohs(address.ss_family == AF_INET6 ? ((struct sockaddr_in6 *)&address)->sin6_port
                                               : ((struct sockaddr_in *)&address)->sin_port);
}

int os_tcp_listen(const char *host, uint16_t *port, intptr_t *out_socket, struct err *err)
{
    SOCKADDR_STORAGE address;
    int size = 0;
    pthread_once(&once, start_sockets);
    if (start_error != 0) {
        return fail(err, start_error, "the system has no sockets");
    }
    int family = make_address(host, *port, &address, &size);
    if (family < 0) {
        return err_set(err, ERR_USAGE, "'%.60s' is not a numeric address", host);
    }
    SOCKET handle = make_socket(family);
    int error = handle == INVALID_SOCKET ? WSAGetLastError() : listen_on(handle, &address, size);
    if (error == 0) {
        *port = port_of(handle);
        *out_socket = (intptr_t)handle;
        return 0;
    }
    if (handle != INVALID_SOCKET) {
        closesocket(handle);
    }
    switch (error) {
    case WSAEADDRINUSE:
    case WSAEACCES: /* somebody else has it exclusively, or the system has reserved it */
        return err_set(err, ERR_BUSY, "port %u of %s is in use", (unsigned)*port, host);
    case WSAEADDRNOTAVAIL:
    case WSAEAFNOSUPPORT:
        return err_set(err, ERR_UNSUPPORTED, "this machine has no address %s", host);
    default:
        return wide_error(err, (DWORD)error, "cannot listen on port %u of %s", (unsigned)*port,
                          host);
    }
}

void os_tcp_close(intptr_t socket)
{
    closesocket((SOCKET)socket);
}
