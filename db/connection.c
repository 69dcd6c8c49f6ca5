#include "db/connection.h"

#include "base/log.h"
#include "base/text.h"
#include "db/damage.h"
#include "os/clock.h"
#include "os/file.h"
#include "os/path.h"

enum {
    WRITER_BUSY_MS = 5000,
    READER_BUSY_MS = 2000,
    RETRY_MS = 20,
    CHECKPOINT_PAGES = 1000, /* of the log: 4 MiB */
};

/* What every connection gets before it reads a byte of a file that others may have written. */
static int harden(struct connection *connection, int busy_ms, struct err *err)
{
    static const struct {
        int option, value;
    } options[] = {
        {SQLITE_DBCONFIG_DEFENSIVE, 1},
        {SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0},
        {SQLITE_DBCONFIG_ENABLE_LOAD_EXTENSION, 0},
        {SQLITE_DBCONFIG_ENABLE_VIEW, 0},
        {SQLITE_DBCONFIG_ENABLE_TRIGGER, 0},
        {SQLITE_DBCONFIG_DQS_DDL, 0},
        {SQLITE_DBCONFIG_DQS_DML, 0},
        {SQLITE_DBCONFIG_ENABLE_FKEY, 1},
        /* A damaged store is set aside as it was found, its log too. Off once it is known whole. */
        {SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1},
    };
    for (size_t i = 0; i < sizeof options / sizeof *options; i++) {
        int result =
            sqlite3_db_config(connection->handle, options[i].option, options[i].value, NULL);
        if (result != SQLITE_OK) {
            return connection_error(connection, result, err);
        }
    }
    sqlite3_extended_result_codes(connection->handle, 1);
    sqlite3_busy_timeout(connection->handle, busy_ms);
    return connection_run(connection, "PRAGMA cell_size_check = ON; PRAGMA temp_store = MEMORY",
                          err);
}

static int open_handle(struct connection *connection, const char *path, int flags, int busy_ms,
                       struct err *err)
{
    connection->opening = path;
    int result = sqlite3_open_v2(path, &connection->handle, flags | SQLITE_OPEN_NOMUTEX, NULL);
    if (result != SQLITE_OK) {
        return connection_error(connection, result, err);
    }
    connection->opening = NULL;
    return harden(connection, busy_ms, err);
}

/* SQLite's own automatic checkpoint forgets its errors; here they are counted. */
static int checkpoint_after_commit(void *context, sqlite3 *handle, const char *name, int pages)
{
    (void)context;
    if (pages >= CHECKPOINT_PAGES) {
        connection_count(
            sqlite3_wal_checkpoint_v2(handle, name, SQLITE_CHECKPOINT_PASSIVE, NULL, NULL));
    }
    return SQLITE_OK;
}

/* The switch to the write-ahead log is the one step that does not wait for other connections. */
static int use_log(struct connection *connection, struct err *err)
{
    struct arena arena CLEANUP(arena_done) = {0};
    char *mode = NULL;
    uint64_t start = os_clock_steady_ms();
    int code;
    do {
        code = connection_read_text(connection, &arena, "PRAGMA journal_mode = WAL", &mode, err);
        if (code == ERR_BUSY) {
            os_clock_sleep_ms(RETRY_MS);
        }
    } while (code == ERR_BUSY && os_clock_steady_ms() - start < WRITER_BUSY_MS);
    if (code == 0 && !text_equal(mode, "wal")) {
        code = err_set(err, ERR_UNSUPPORTED,
                       "the file system of '%s' cannot hold a write-ahead log: choose a data "
                       "directory on a local disk",
                       sqlite3_db_filename(connection->handle, "main"));
    }
    return code;
}

static int prepare_writing(struct connection *connection, struct err *err)
{
    int code = use_log(connection, err);
    if (code == 0) {
        code = connection_run(connection,
                              "PRAGMA synchronous = NORMAL;"
                              "PRAGMA journal_size_limit = 4194304",
                              err);
    }
    if (code == 0) {
        sqlite3_wal_hook(connection->handle, checkpoint_after_commit, NULL);
    }
    return code;
}

/* One attempt on the file as it lies there; ERR_CORRUPT: it is damaged, err says how. */
static int attempt(const char *path, const struct migrations *migrations,
                   struct connection *connection, bool *out_created, struct err *err)
{
    bool there = false;
    int64_t version = 0;
    int code = damage_check_path(path, &there, err);
    if (code == 0) {
        code = open_handle(connection, path, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE,
                           WRITER_BUSY_MS, err);
    }
    if (code != 0) {
        return code;
    }
    if (sqlite3_db_readonly(connection->handle, "main") != 0) {
        return connection_error(connection, SQLITE_READONLY, err);
    }
    code = damage_check_store(connection, migrations, err);
    if (code == ERR_UNSUPPORTED) {
        return err_context(err, "'%s'", path);
    }
    if (code == 0) {
        code = connection_read_int(connection, "PRAGMA user_version", &version, err);
    }
    if (code == 0) {
        code = prepare_writing(connection, err);
    }
    if (code == 0) {
        code = migrations_run(connection, migrations, path, err);
    }
    if (code == 0) {
        code = migrations_check(connection, migrations, err);
    }
    if (code == 0) {
        *out_created = version == 0;
        sqlite3_db_config(connection->handle, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 0, NULL);
    }
    return code;
}

static int check_place(const char *path, struct err *err)
{
    struct arena arena CLEANUP(arena_done) = {0};
    struct os_file_info info;
    const char *directory = os_path_parent(&arena, path);
    if (os_path_is_network(path)) {
        return err_set(err, ERR_UNSUPPORTED,
                       "'%s' is on a network drive, where a database is not safe: choose a data "
                       "directory on a local disk",
                       path);
    }
    int code = os_file_stat(directory, &info, err);
    if (code != 0) {
        return err_context(err, "the data directory '%s' is not usable", directory);
    }
    if (info.type != OS_FILE_DIRECTORY) {
        return err_set(err, ERR_EXISTS, "'%s' should be the data directory but is a file",
                       directory);
    }
    return 0;
}

static char *joined(const char *path, const char *suffix)
{
    size_t size = strlen(path) + strlen(suffix) + 1;
    char *text = malloc(size);
    if (text == NULL) {
        log_fatal("out of memory");
    }
    snprintf(text, size, "%s%s", path, suffix);
    return text;
}

/* A file that was deleted or replaced under a running service still takes writes, which nobody
   will ever read. */
static int check_same_file(const struct db *db, struct err *err)
{
    struct os_file_info info;
    if (os_file_stat(db->path, &info, NULL) == 0 && info.device == db->device &&
        info.inode == db->inode) {
        return 0;
    }
    return err_set(err, ERR_IO,
                   "'%s' was removed or replaced while it was in use: restart the service to work "
                   "with what is there now",
                   db->path);
}

static struct db *new_store(const char *path, const struct connection *connection)
{
    struct os_file_info info = {0};
    struct db *db = calloc(1, sizeof *db);
    if (db == NULL) {
        log_fatal("out of memory");
    }
    db->connection = *connection;
    db->path = joined(path, "");
    db->wal_path = joined(path, "-wal");
    os_file_stat(path, &info, NULL);
    db->device = info.device;
    db->inode = info.inode;
    pthread_mutex_init(&db->writer, NULL);
    pthread_mutex_init(&db->outcome, NULL);
    return db;
}

int connection_open_store(struct arena *arena, const char *path,
                          const struct migrations *migrations, struct db **out_db,
                          struct db_opened *out_opened, struct err *err)
{
    struct connection connection CLEANUP(connection_close) = {0};
    struct db_opened opened = {0};
    struct err reason = {0};
    int code = check_place(path, &reason);
    if (code == 0) {
        code = attempt(path, migrations, &connection, &opened.created, &reason);
    }
    if (code == ERR_CORRUPT) {
        connection_close(&connection);
        opened.damage = arena_strdup(arena, reason.message);
        code = damage_set_aside(arena, path, &opened.set_aside, &reason);
        if (code == 0) {
            code = attempt(path, migrations, &connection, &opened.created, &reason);
        }
        opened.created = false;
    }
    if (code == 0) {
        code = connection_read_int(&connection, "SELECT max(id) FROM scan", &opened.last_scan_id,
                                   &reason);
    }
    if (code != 0) {
        return err_set(err, code, "%s", reason.message);
    }
    *out_db = new_store(path, &connection);
    *out_opened = opened;
    connection = (struct connection){0}; /* the store's now */
    return 0;
}

int db_open(struct arena *arena, const char *path, struct db **out_db, struct db_opened *out_opened,
            struct err *err)
{
    return connection_open_store(arena, path, &migrations_of_this_build, out_db, out_opened, err);
}

void db_close(struct db *db)
{
    if (db == NULL) {
        return;
    }
    /* Closing would do it too, but not while a reader is open. */
    connection_count(sqlite3_wal_checkpoint_v2(db->connection.handle, "main",
                                               SQLITE_CHECKPOINT_PASSIVE, NULL, NULL));
    connection_close(&db->connection);
    pthread_mutex_destroy(&db->writer);
    pthread_mutex_destroy(&db->outcome);
    free(db->path);
    free(db->wal_path);
    free(db);
}

/* Keeps how a write ended, and hands it to the caller. */
static int note_outcome(struct db *db, int code, struct err *inner, struct err *err)
{
    inner->code = code;
    pthread_mutex_lock(&db->outcome);
    db->last_write = *inner;
    pthread_mutex_unlock(&db->outcome);
    return code == 0 ? 0 : err_set(err, code, "%s", inner->message);
}

int connection_change_store(struct db *db, connection_change *change, void *context,
                            struct err *err)
{
    struct err inner = {0};
    pthread_mutex_lock(&db->writer);
    int code = check_same_file(db, &inner);
    code = code != 0 ? code : connection_begin_write(&db->connection, &inner);
    if (code == 0) {
        code = change(&db->connection, context, &inner);
        code = connection_end(&db->connection, code, &inner);
    }
    if (code != ERR_USAGE) { /* says nothing about the store */
        code = note_outcome(db, code, &inner, err);
    } else {
        err_set(err, code, "%s", inner.message);
    }
    pthread_mutex_unlock(&db->writer);
    return code;
}

/* A row that is taken back. The flush makes it reach the disk, where a full one shows. */
static int try_write(struct connection *connection, struct err *err)
{
    static const char SQL_TRY[] =
        "INSERT INTO scan (id, trigger, result, started_at_ms, finished_at_ms, duration_ms)"
        " VALUES (0, '', 'failed', 0, 0, 0)";
    struct statement *statement;
    int code = connection_statement(connection, SQL_TRY, &statement, err);
    if (code == 0) {
        code = statement_run(connection, statement, err);
    }
    if (code == 0) {
        int result = sqlite3_db_cacheflush(connection->handle);
        /* BUSY here: a page was in use and stayed in memory. */
        if (result != SQLITE_OK && (result & 0xff) != SQLITE_BUSY) {
            code = connection_error(connection, result, err);
        }
    }
    return code;
}

int db_check_writable(struct db *db, struct err *err)
{
    struct err inner = {0};
    if (pthread_mutex_trylock(&db->writer) != 0) {
        /* Somebody writes at this moment: how the write before it ended is the answer. */
        pthread_mutex_lock(&db->outcome);
        inner = db->last_write;
        pthread_mutex_unlock(&db->outcome);
        return inner.code == 0 ? 0 : err_set(err, inner.code, "%s", inner.message);
    }
    int code = check_same_file(db, &inner);
    code = code != 0 ? code : connection_begin_write(&db->connection, &inner);
    if (code == 0) {
        code = try_write(&db->connection, &inner);
        connection_end(&db->connection, ERR_CANCELLED, NULL);
    }
    code = note_outcome(db, code, &inner, err);
    pthread_mutex_unlock(&db->writer);
    return code;
}

void db_stats(struct db *db, struct db_stats *out_stats)
{
    struct os_file_info file = {0}, log = {0};
    if (os_file_stat(db->path, &file, NULL) != 0) {
        file.size_bytes = 0;
    }
    if (os_file_stat(db->wal_path, &log, NULL) != 0) {
        log.size_bytes = 0;
    }
    *out_stats = (struct db_stats){
        .file_bytes = file.size_bytes,
        .wal_bytes = log.size_bytes,
        .busy_total = connection_busy_total(),
        .io_error_total = connection_io_error_total(),
        .full_total = connection_full_total(),
    };
}

static int check_reader(struct connection *connection, const char *path, struct err *err)
{
    int64_t version = 0;
    int code = connection_read_int(connection, "PRAGMA user_version", &version, err);
    if (code == 0 && version == 0) {
        code = err_set(err, ERR_NOT_FOUND, "'%s' is empty: no scan is stored yet", path);
    } else if (code == 0 && version != DB_SCHEMA_VERSION) {
        code = err_set(err, ERR_UNSUPPORTED,
                       "'%s' has store version %lld, this cudnnd reads %d: start the service once "
                       "with the same cudnnd",
                       path, (long long)version, DB_SCHEMA_VERSION);
    }
    return code;
}

int db_reader_open(const char *path, struct db_reader **out_reader, struct err *err)
{
    struct connection connection CLEANUP(connection_close) = {0};
    struct os_file_info info;
    int code = check_place(path, err);
    if (code == 0) {
        code = os_file_stat(path, &info, err);
    }
    if (code == ERR_NOT_FOUND) {
        return err_set(err, code, "there is no store at '%s': no scan is stored yet", path);
    }
    if (code == 0 && info.type != OS_FILE_REGULAR) {
        return err_set(err, ERR_EXISTS, "'%s' should be the store but is not a regular file", path);
    }
    if (code == 0) {
        code = open_handle(&connection, path, SQLITE_OPEN_READONLY, READER_BUSY_MS, err);
    }
    if (code == 0) {
        code = check_reader(&connection, path, err);
    }
    if (code != 0) {
        return code;
    }
    struct db_reader *reader = calloc(1, sizeof *reader);
    if (reader == NULL) {
        log_fatal("out of memory");
    }
    reader->connection = connection;
    connection = (struct connection){0}; /* the reader's now */
    *out_reader = reader;
    return 0;
}

void db_reader_close(struct db_reader *reader)
{
    if (reader != NULL) {
        connection_close(&reader->connection);
        free(reader);
    }
}
