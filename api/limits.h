#ifndef API_LIMITS_H
#define API_LIMITS_H

/* What the HTTP interface takes from its clients, and how its daemon runs: in one place, because
   the bench starts its peer with the same options. */

/* One small pool of threads a listening address; epoll on Linux, select on Windows. */
#define API_DAEMON_FLAGS (MHD_USE_AUTO_INTERNAL_THREAD | MHD_USE_ERROR_LOG)

enum {
    API_THREADS = 2,
    API_CONNECTIONS = 128, /* a listening address; more wait in the system's queue */
    API_IDLE_SECONDS = 10, /* a connection on which nothing moves is closed */
    /* A connection's request line, headers and part of the body; the library clears all of it for
       every request. */
    API_MEMORY_BYTES = 32 * 1024,
    API_TARGET_BYTES = 4 * 1024,  /* path and query: 414 */
    API_HEADER_BYTES = 16 * 1024, /* all names and values: 431 */
    API_BODY_BYTES = 16 * 1024,   /* 413 */
    API_PARAMETERS = 16,          /* in a query: 400 */
};

#endif
