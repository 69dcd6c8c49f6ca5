#include "db/statement.h"

#include <stdatomic.h>

#include "base/log.h"

static atomic_uint_fast64_t busy_total, io_error_total, full_total;

void connection_count(int result)
{
    switch (result & 0xff) {
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
        atomic_fetch_add(&busy_total, 1);
        break;
    case SQLITE_IOERR:
        atomic_fetch_add(&io_error_total, 1);
        break;
    case SQLITE_FULL:
        atomic_fetch_add(&full_total, 1);
        break;
    default:
        break;
    }
}

uint64_t connection_busy_total(void)
{
    return atomic_load(&busy_total);
}

uint64_t connection_io_error_total(void)
{
    return atomic_load(&io_error_total);
}

uint64_t connection_full_total(void)
{
    return atomic_load(&full_total);
}

/* A full disk or quota that SQLite reports as an I/O error, as it does for the -shm file. The
   system's own numbers: ENOSPC and EDQUOT of Linux, ERROR_DISK_FULL of Windows. */
static bool is_disk_full(int result, int system_error)
{
    enum { LINUX_ENOSPC = 28, LINUX_EDQUOT = 122, WINDOWS_ERROR_DISK_FULL = 112 };
    return (result & 0xff) == SQLITE_IOERR &&
           (system_error == LINUX_ENOSPC || system_error == LINUX_EDQUOT ||
            system_error == WINDOWS_ERROR_DISK_FULL);
}

int connection_error(struct connection *connection, int result, struct err *err)
{
    int system_error = sqlite3_system_errno(connection->handle);
    if (is_disk_full(result, system_error)) {
        result = SQLITE_FULL;
    }
    const char *path = sqlite3_db_filename(connection->handle, "main");
    if (path == NULL || *path == '\0') {
        path = connection->opening != NULL ? connection->opening : "the store";
    }
    connection_count(result);
    switch (result & 0xff) {
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
        return err_set(err, ERR_BUSY,
                       "'%s' is locked by another program: end what has it open (an SQLite "
                       "browser, a backup, another cudnnd) and try again",
                       path);
    case SQLITE_FULL:
        return err_set(err, ERR_LIMIT,
                       "the disk is full: make room on the disk that holds '%s'; what is stored "
                       "is safe",
                       path);
    case SQLITE_IOERR:
        return err_set(err, ERR_IO,
                       "the system cannot read or write '%s' (SQLite %d, system error %d): check "
                       "the disk",
                       path, result, system_error);
    case SQLITE_CANTOPEN:
        return err_set(err, ERR_PERMISSION,
                       "'%s' or a file beside it cannot be opened (system error %d): let the "
                       "account that runs cudnnd write to the file and to its directory",
                       path, system_error);
    case SQLITE_READONLY:
    case SQLITE_PERM:
    case SQLITE_AUTH:
        return err_set(err, ERR_PERMISSION,
                       "'%s' cannot be written: let the account that runs cudnnd write to the "
                       "file and to its directory",
                       path);
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
        return err_set(err, ERR_CORRUPT,
                       "'%s' is damaged (%s): restart cudnnd, it sets the file aside and begins a "
                       "new one",
                       path, sqlite3_errstr(result));
    case SQLITE_NOMEM:
        log_fatal("out of memory in the store");
    default:
        return err_set(err, ERR_INTERNAL, "'%s': %s (SQLite %d)", path,
                       sqlite3_errmsg(connection->handle), result);
    }
}

int connection_statement(struct connection *connection, const char *sql,
                         struct statement **out_statement, struct err *err)
{
    for (size_t i = 0; i < connection->statement_count; i++) {
        if (connection->statements[i].sql == sql) {
            statement_reset(&connection->statements[i]);
            *out_statement = &connection->statements[i];
            return 0;
        }
    }
    if (connection->statement_count == CONNECTION_STATEMENTS) {
        log_fatal("more than %d statements in a connection", CONNECTION_STATEMENTS);
    }
    struct statement *statement = &connection->statements[connection->statement_count];
    *statement = (struct statement){.sql = sql};
    int result = sqlite3_prepare_v3(connection->handle, sql, -1, SQLITE_PREPARE_PERSISTENT,
                                    &statement->handle, NULL);
    if (result != SQLITE_OK) {
        return connection_error(connection, result, err);
    }
    connection->statement_count++;
    *out_statement = statement;
    return 0;
}

int connection_run(struct connection *connection, const char *sql, struct err *err)
{
    int result = sqlite3_exec(connection->handle, sql, NULL, NULL, NULL);
    return result == SQLITE_OK ? 0 : connection_error(connection, result, err);
}

/* The first column of the first row as text or number, into whichever is wanted. */
static int read_first(struct connection *connection, struct arena *arena, const char *sql,
                      int64_t *out_value, char **out_text, struct err *err)
{
    sqlite3_stmt *handle = NULL;
    int result = sqlite3_prepare_v2(connection->handle, sql, -1, &handle, NULL);
    if (result == SQLITE_OK) {
        result = sqlite3_step(handle);
    }
    if (result != SQLITE_ROW && result != SQLITE_DONE) {
        int code = connection_error(connection, result, err);
        sqlite3_finalize(handle);
        return code;
    }
    bool row = result == SQLITE_ROW;
    if (out_value != NULL) {
        *out_value = row ? sqlite3_column_int64(handle, 0) : 0;
    } else if (out_text != NULL) {
        *out_text = row ? arena_strdup(arena, (const char *)sqlite3_column_text(handle, 0)) : NULL;
    }
    sqlite3_finalize(handle);
    return 0;
}

int connection_read_int(struct connection *connection, const char *sql, int64_t *out_value,
                        struct err *err)
{
    return read_first(connection, NULL, sql, out_value, NULL, err);
}

int connection_read_text(struct connection *connection, struct arena *arena, const char *sql,
                         char **out_text, struct err *err)
{
    return read_first(connection, arena, sql, NULL, out_text, err);
}

int connection_begin_write(struct connection *connection, struct err *err)
{
    return connection_run(connection, "BEGIN IMMEDIATE", err);
}

int connection_begin_read(struct connection *connection, struct err *err)
{
    return connection_run(connection, "BEGIN", err);
}

int connection_end(struct connection *connection, int code, struct err *err)
{
    /* A statement left in the middle would keep the transaction open. */
    for (size_t i = 0; i < connection->statement_count; i++) {
        statement_reset(&connection->statements[i]);
    }
    if (code == 0) {
        code = connection_run(connection, "COMMIT", err);
    }
    if (sqlite3_get_autocommit(connection->handle) == 0) {
        /* Fails only where SQLite has rolled back by itself. */
        sqlite3_exec(connection->handle, "ROLLBACK", NULL, NULL, NULL);
    }
    return code;
}

void connection_close(struct connection *connection)
{
    for (size_t i = 0; i < connection->statement_count; i++) {
        sqlite3_finalize(connection->statements[i].handle);
    }
    sqlite3_close(connection->handle);
    *connection = (struct connection){0};
}

static void note_bind(struct statement *statement, int result)
{
    if (statement->bind_result == SQLITE_OK) {
        statement->bind_result = result;
    }
}

void statement_bind_int(struct statement *statement, int parameter, int64_t value)
{
    note_bind(statement, sqlite3_bind_int64(statement->handle, parameter, value));
}

void statement_bind_text(struct statement *statement, int parameter, const char *text)
{
    /* NULL binds SQL's NULL. Copied: the caller's text may go before the next step. */
    note_bind(statement,
              sqlite3_bind_text(statement->handle, parameter, text, -1, SQLITE_TRANSIENT));
}

void statement_reset(struct statement *statement)
{
    sqlite3_reset(statement->handle);
    sqlite3_clear_bindings(statement->handle);
    statement->bind_result = SQLITE_OK;
}

int statement_step(struct connection *connection, struct statement *statement, bool *out_row,
                   struct err *err)
{
    int result = statement->bind_result;
    if (result == SQLITE_OK) {
        result = sqlite3_step(statement->handle);
    }
    if (result == SQLITE_ROW) {
        *out_row = true;
        return 0;
    }
    int code = result == SQLITE_DONE ? 0 : connection_error(connection, result, err);
    statement_reset(statement);
    if (code == 0) {
        *out_row = false;
    }
    return code;
}

int statement_run(struct connection *connection, struct statement *statement, struct err *err)
{
    bool row = true;
    int code = 0;
    while (code == 0 && row) {
        code = statement_step(connection, statement, &row, err);
    }
    return code;
}

int64_t statement_int(struct statement *statement, int column)
{
    return sqlite3_column_int64(statement->handle, column);
}

const char *statement_text(struct statement *statement, int column)
{
    return (const char *)sqlite3_column_text(statement->handle, column);
}

bool statement_is_null(struct statement *statement, int column)
{
    return sqlite3_column_type(statement->handle, column) == SQLITE_NULL;
}
