#ifndef OS_TCP_H
#define OS_TCP_H

/* TCP on this machine: one exchange with a server (for `cudnnd check`), and the sockets that the
   service's HTTP library listens on. */

#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"

/* `host`: a numeric loopback address ("127.0.0.1", "::1"). The answer is added to `response`, up to
   its ceiling (ERR_LIMIT). ERR_NOT_FOUND: nobody listens; ERR_TIMEOUT: the whole took longer. */
int os_tcp_exchange(const char *host, uint16_t port, const char *request, uint32_t timeout_ms,
                    struct buf *response, struct err *err);

/* Listens on a numeric address; *port 0 takes a free one, which it then is. The socket does not
   block, is not inherited by children, and no other program can take the same port beside it.
   ERR_BUSY: the port is in use; ERR_UNSUPPORTED: this machine has no such address (IPv6 off). */
int os_tcp_listen(const char *host, uint16_t *port, intptr_t *out_socket, struct err *err);
void os_tcp_close(intptr_t socket);

#endif
