#ifndef OS_TCP_H
#define OS_TCP_H

/* One exchange with a server on this machine: connect, send, read until the other side closes.
   For `cudnnd check`; the service's own HTTP is libmicrohttpd's. */

#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"

/* `host`: a numeric loopback address ("127.0.0.1", "::1"). The answer is added to `response`, up to
   its ceiling (ERR_LIMIT). ERR_NOT_FOUND: nobody listens; ERR_TIMEOUT: the whole took longer. */
int os_tcp_exchange(const char *host, uint16_t port, const char *request, uint32_t timeout_ms,
                    struct buf *response, struct err *err);

#endif
