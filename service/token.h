#ifndef SERVICE_TOKEN_H
#define SERVICE_TOKEN_H

/* The bearer token for requests that change state: made at the first start, kept in the file
   `token` of the data directory, which only administrators and the service can read. */

#include "base/err.h"

enum { TOKEN_TEXT_SIZE = 72 };

/* Reads or makes the token. A file with anything else in it is an error, not replaced. */
int token_open(const char *path, char out_token[TOKEN_TEXT_SIZE], struct err *err);

#endif
