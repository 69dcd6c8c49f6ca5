/* The peer of the HTTP measurement: a bare libmicrohttpd that answers every request with one fixed
   body of BYTES bytes, with the same daemon options as the product's. Prints its port.
   usage: hello BYTES */
#include <microhttpd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "api/limits.h"

static struct MHD_Response *response;

static enum MHD_Result answer(void *context, struct MHD_Connection *connection, const char *url,
                              const char *method, const char *version, const char *upload_data,
                              size_t *upload_data_size, void **request_context)
{
    (void)context;
    (void)url;
    (void)method;
    (void)version;
    (void)upload_data;
    (void)upload_data_size;
    static int seen;
    if (*request_context == NULL) { /* an answer at the first call would close the connection */
        *request_context = &seen;
        return MHD_YES;
    }
    return MHD_queue_response(connection, MHD_HTTP_OK, response);
}

int main(int argc, char **argv)
{
    size_t size = argc > 1 ? strtoul(argv[1], NULL, 10) : 5;
    char *body = malloc(size + 1);
    if (body == NULL) {
        return 1;
    }
    memset(body, 'x', size);
    response = MHD_create_response_from_buffer(size, body, MHD_RESPMEM_PERSISTENT);
    struct MHD_Daemon *daemon = MHD_start_daemon(
        API_DAEMON_FLAGS, 0, NULL, NULL, answer, NULL, MHD_OPTION_THREAD_POOL_SIZE,
        (unsigned)API_THREADS, MHD_OPTION_CONNECTION_LIMIT, (unsigned)API_CONNECTIONS,
        MHD_OPTION_CONNECTION_TIMEOUT, (unsigned)API_IDLE_SECONDS,
        MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)API_MEMORY_BYTES, MHD_OPTION_END);
    if (daemon == NULL) {
        return 1;
    }
    printf("%u\n", MHD_get_daemon_info(daemon, MHD_DAEMON_INFO_BIND_PORT)->port);
    fflush(stdout);
    pause();
    return 0;
}
