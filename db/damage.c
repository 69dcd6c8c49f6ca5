#include "db/damage.h"

#include "base/cleanup.h"
#include "base/clock_text.h"
#include "base/text.h"
#include "os/clock.h"
#include "os/file.h"

/* The database last: while it is in its place the next start finds the damage again. */
static const char *const SUFFIXES[] = {"-shm", "-wal", "-journal", ""};

enum {
    SUFFIX_COUNT = sizeof SUFFIXES / sizeof *SUFFIXES,
    MOST_OF_ONE_SECOND = 1000,
    SMALLEST_PAGE = 512, /* SQLite takes a file of one byte for an empty one, and would write it */
    LIKELY_VERSIONS = 1000, /* a version beyond this is a damaged header, not a newer program */
};

/* The size of a file that is there; *out_there is false when it is not. */
static int stat_file(const char *path, bool *out_there, struct os_file_info *out_info,
                     struct err *err)
{
    int code = os_file_stat(path, out_info, err);
    if (code == ERR_NOT_FOUND) {
        *out_there = false;
        return 0;
    }
    *out_there = code == 0;
    return code;
}

int damage_check_path(const char *path, bool *out_there, struct err *err)
{
    struct arena arena CLEANUP(arena_done) = {0};
    struct os_file_info info = {0}, log = {0};
    bool there = false, log_there = false;
    /* The log first: where another program creates the store at this moment, the database comes
       before its log, and must not be taken for missing. */
    int code = stat_file(arena_printf(&arena, "%s-wal", path), &log_there, &log, err);
    if (code == 0) {
        code = stat_file(path, &there, &info, err);
    }
    if (code != 0) {
        return err_context(err, "cannot look at the store");
    }
    if (there && info.type != OS_FILE_REGULAR) {
        return err_set(err, ERR_EXISTS,
                       "'%s' should be the store but is %s: move it away or choose another data "
                       "directory",
                       path, info.type == OS_FILE_DIRECTORY ? "a directory" : "not a regular file");
    }
    if (there && info.size_bytes > 0 && info.size_bytes < SMALLEST_PAGE) {
        return err_set(err, ERR_CORRUPT, "the file is cut off after %u bytes",
                       (unsigned)info.size_bytes);
    }
    if (log_there && log.size_bytes > 0 && info.size_bytes == 0) {
        return err_set(err, ERR_CORRUPT, "the file is %s but its log is not",
                       there ? "empty" : "gone");
    }
    *out_there = there;
    return 0;
}

/* Not the disk, not a lock: SQLite does not understand what it reads, and says so shortly. */
static int name_damage(struct connection *connection, int code, struct err *err)
{
    if (code == ERR_CORRUPT || code == ERR_INTERNAL) {
        return err_set(err, ERR_CORRUPT, "%s", sqlite3_errmsg(connection->handle));
    }
    return code;
}

/* SQLite's own check of the whole file, indexes too: quick_check passes an index whose page was cut
   off. An error of the disk while it runs is not damage, though it is reported in the same way: as
   text. */
static int check_integrity(struct connection *connection, struct err *err)
{
    struct arena arena CLEANUP(arena_done) = {0};
    char *answer = NULL;
    int code = connection_read_text(connection, &arena, "PRAGMA integrity_check(1)", &answer, err);
    if (code != 0 || text_equal(answer, "ok")) {
        return name_damage(connection, code, err);
    }
    const char *number = answer == NULL ? NULL : strstr(answer, "error code=");
    int result = number == NULL ? 0 : (int)strtol(number + strlen("error code="), NULL, 10);
    if ((result & 0xff) == SQLITE_IOERR) {
        return connection_error(connection, result, err);
    }
    return err_set(err, ERR_CORRUPT, "%s", answer == NULL ? "SQLite does not say how" : answer);
}

/* SQLite notices a missing page but fills up a partial one with zeros. A checkpoint that was cut
   short leaves one too, and then the log still has it. */
static int check_length(struct connection *connection, struct err *err)
{
    enum { LOG_HEADER = 32 };
    struct arena arena CLEANUP(arena_done) = {0};
    struct os_file_info info = {0}, log = {0};
    bool there = false, log_there = false;
    int64_t page_bytes = 0;
    const char *path = sqlite3_db_filename(connection->handle, "main");
    int code = connection_read_int(connection, "PRAGMA page_size", &page_bytes, err);
    if (code == 0) {
        code = stat_file(path, &there, &info, err);
    }
    if (code == 0) {
        code = stat_file(arena_printf(&arena, "%s-wal", path), &log_there, &log, err);
    }
    if (code == 0 && (!log_there || log.size_bytes <= LOG_HEADER) && page_bytes > 0 &&
        info.size_bytes % (uint64_t)page_bytes != 0) {
        code = err_set(err, ERR_CORRUPT, "the file is cut off within a page");
    }
    return code;
}

struct identity {
    int64_t application, version, objects, our_tables;
};

static int read_identity(struct connection *connection, struct identity *out_identity,
                         struct err *err)
{
    static const struct {
        const char *sql;
        size_t offset;
    } reads[] = {
        /* First, since it makes SQLite read the header and the schema. */
        {"SELECT count(*) FROM sqlite_schema", offsetof(struct identity, objects)},
        {"SELECT count(*) FROM sqlite_schema WHERE type = 'table' AND name IN ('scan', 'entity', "
         "'finding')",
         offsetof(struct identity, our_tables)},
        {"PRAGMA application_id", offsetof(struct identity, application)},
        {"PRAGMA user_version", offsetof(struct identity, version)},
    };
    for (size_t i = 0; i < sizeof reads / sizeof *reads; i++) {
        void *field = (char *)out_identity + reads[i].offset;
        int code = connection_read_int(connection, reads[i].sql, field, err);
        if (code != 0) {
            return code;
        }
    }
    return 0;
}

static int judge_identity(const struct identity *identity, int newest, struct err *err)
{
    bool ours = identity->application == MIGRATIONS_APPLICATION_ID;
    bool has_tables = identity->our_tables == 3;
    if (identity->objects == 0 && identity->version == 0) {
        return 0;
    }
    if (!ours && !has_tables) {
        return err_set(err, ERR_UNSUPPORTED,
                       "it is a database of another program: move it away or choose another data "
                       "directory");
    }
    if (!ours || identity->version < 1 || identity->version > LIKELY_VERSIONS) {
        return err_set(err, ERR_CORRUPT, "its header is damaged (application %lld, version %lld)",
                       (long long)identity->application, (long long)identity->version);
    }
    if (identity->version > newest) {
        return err_set(err, ERR_UNSUPPORTED,
                       "it was written by a newer cudnnd (store version %lld, this one knows %d): "
                       "install that version, or move the file away to begin a new one",
                       (long long)identity->version, newest);
    }
    return 0;
}

static int check_all(struct connection *connection, const struct migrations *migrations,
                     struct err *err)
{
    struct identity identity = {0};
    bool was_read_only = sqlite3_db_readonly(connection->handle, "main") != 0;
    int code = read_identity(connection, &identity, err);
    if (code != 0) {
        return name_damage(connection, code, err);
    }
    if (!was_read_only && sqlite3_db_readonly(connection->handle, "main") != 0) {
        return err_set(err, ERR_CORRUPT, "its header names an unknown file format");
    }
    code = judge_identity(&identity, migrations->count, err);
    if (code == 0) {
        code = check_length(connection, err);
    }
    return code == 0 ? check_integrity(connection, err) : code;
}

/* In one transaction: another program may create or upgrade the store at this moment. */
static int check_once(struct connection *connection, const struct migrations *migrations,
                      struct err *err)
{
    int code = connection_begin_read(connection, err);
    if (code != 0) {
        return name_damage(connection, code, err);
    }
    return connection_end(connection, check_all(connection, migrations, err), err);
}

int damage_check_store(struct connection *connection, const struct migrations *migrations,
                       struct err *err)
{
    int code = check_once(connection, migrations, err);
    if (code != ERR_CORRUPT) {
        return code;
    }
    /* Once more: a read that failed in passing must not cost the store. */
    sqlite3_db_release_memory(connection->handle);
    return check_once(connection, migrations, err);
}

/* "20260131T120000Z" */
static void time_stamp(char out_text[CLOCK_TEXT_SIZE])
{
    char text[CLOCK_TEXT_SIZE];
    size_t length = 0;
    clock_text_format(os_clock_wall_ms() / 1000 * 1000, text);
    for (const char *at = text; *at != '\0'; at++) {
        if (*at != '-' && *at != ':') {
            out_text[length++] = *at;
        }
    }
    out_text[length] = '\0';
}

/* A name under which none of the files is there yet. */
static int choose_name(struct arena *arena, const char *path, const char **out_name,
                       struct err *err)
{
    char stamp[CLOCK_TEXT_SIZE];
    struct os_file_info info;
    time_stamp(stamp);
    for (int i = 1; i <= MOST_OF_ONE_SECOND; i++) {
        const char *name = i == 1 ? arena_printf(arena, "%s.damaged-%s", path, stamp)
                                  : arena_printf(arena, "%s.damaged-%s-%d", path, stamp, i);
        bool taken = false;
        for (int suffix = 0; suffix < SUFFIX_COUNT; suffix++) {
            const char *full = arena_printf(arena, "%s%s", name, SUFFIXES[suffix]);
            taken = taken || os_file_stat(full, &info, NULL) != ERR_NOT_FOUND;
        }
        if (!taken) {
            *out_name = name;
            return 0;
        }
    }
    return err_set(err, ERR_LIMIT, "too many damaged stores lie beside '%s'", path);
}

int damage_set_aside(struct arena *arena, const char *path, const char **out_moved_to,
                     struct err *err)
{
    const char *name = NULL;
    int code = choose_name(arena, path, &name, err);
    for (int suffix = 0; code == 0 && suffix < SUFFIX_COUNT; suffix++) {
        const char *from = arena_printf(arena, "%s%s", path, SUFFIXES[suffix]);
        code = os_file_rename(from, arena_printf(arena, "%s%s", name, SUFFIXES[suffix]), err);
        code = code == ERR_NOT_FOUND ? 0 : code;
    }
    if (code != 0) {
        return err_context(err,
                           "the store is damaged and cannot be set aside: end what has it open, "
                           "or move it away by hand");
    }
    *out_moved_to = name;
    return 0;
}
