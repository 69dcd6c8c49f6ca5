#ifndef DB_STATEMENT_H
#define DB_STATEMENT_H

/* SQLite as this room speaks it: a connection that prepares each statement once, typed binding,
   and every result code translated and counted in one place (connection_error). Text read from a
   row lives until the statement's next step. Nothing here retries: busy_timeout did that. */

#include <sqlite3.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/err.h"

struct statement {
    sqlite3_stmt *handle;
    const char *sql;
    int bind_result; /* the first failed bind; the next step reports it */
};

enum { CONNECTION_STATEMENTS = 32 };

struct connection {
    sqlite3 *handle;
    const char *opening; /* the path, while SQLite does not know it yet; else NULL */
    struct statement statements[CONNECTION_STATEMENTS];
    size_t statement_count;
};

/* Turns the connection's last failure into an error that says what to do: BUSY and LOCKED are
   ERR_BUSY, FULL is ERR_LIMIT, IOERR is ERR_IO, READONLY and CANTOPEN are ERR_PERMISSION, CORRUPT
   and NOTADB are ERR_CORRUPT, anything else is ERR_INTERNAL. `result` is what SQLite returned. */
int connection_error(struct connection *connection, int result, struct err *err);

/* Counts the failure of something whose error nobody is told (a checkpoint). */
void connection_count(int result);

/* Of all connections of this process, readers too. */
uint64_t connection_busy_total(void);
uint64_t connection_io_error_total(void);
uint64_t connection_full_total(void);

/* The statement of that text, reset, prepared at its first use. `sql` is told apart by its address:
   a constant of static storage. */
int connection_statement(struct connection *connection, const char *sql,
                         struct statement **out_statement, struct err *err);

/* Runs SQL that gives no rows of interest; several statements are fine. */
int connection_run(struct connection *connection, const char *sql, struct err *err);

/* The first column of the first row; 0 or NULL when there is no row. For what runs once. */
int connection_read_int(struct connection *connection, const char *sql, int64_t *out_value,
                        struct err *err);
int connection_read_text(struct connection *connection, struct arena *arena, const char *sql,
                         char **out_text, struct err *err);

/* Writers take the lock at once (IMMEDIATE), so that nothing fails halfway for want of it. */
int connection_begin_write(struct connection *connection, struct err *err);
int connection_begin_read(struct connection *connection, struct err *err);

/* Commits when `code` is 0, else rolls back and keeps `code` and its error. Returns what counts. */
int connection_end(struct connection *connection, int code, struct err *err);

void connection_close(struct connection *connection); /* zeroed is fine */

/* Parameters count from 1, columns from 0. */
void statement_bind_int(struct statement *statement, int parameter, int64_t value);
void statement_bind_text(struct statement *statement, int parameter, const char *text);

/* The next row: *out_row says whether there is one. After the last one and after an error the
   statement is reset. */
int statement_step(struct connection *connection, struct statement *statement, bool *out_row,
                   struct err *err);
/* Steps to the end. */
int statement_run(struct connection *connection, struct statement *statement, struct err *err);
void statement_reset(struct statement *statement); /* for who stops before the last row */

int64_t statement_int(struct statement *statement, int column);
const char *statement_text(struct statement *statement, int column); /* NULL for SQL's NULL */
bool statement_is_null(struct statement *statement, int column);

#endif
