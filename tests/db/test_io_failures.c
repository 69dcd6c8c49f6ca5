/* The N-th operation on the disk fails, for N = 1, 2, 3 ... until everything succeeds: whatever
   fails, every scan that was acknowledged is there afterwards and the store opens again.
   A file system of SQLite that wraps the default one counts and fails the operations. */
#include "tests/test.h"

#include <sqlite3.h>

#include "tests/db/fixture.h"

enum failing { FAIL_IO, FAIL_FULL };

static struct {
    sqlite3_vfs vfs; /* first of its kind: the default's fields with our functions */
    sqlite3_vfs *inner;
    int64_t countdown; /* the operation that fails when it reaches 0; negative: none */
    bool persists;     /* so do all after it */
    enum failing how;
} disk;

struct shim_file {
    sqlite3_file base;
    sqlite3_file *inner;
};

static bool fails(void)
{
    if (disk.countdown < 0) {
        return false;
    }
    if (disk.countdown == 0) {
        return true;
    }
    disk.countdown--;
    if (disk.countdown == 0) {
        if (!disk.persists) {
            disk.countdown = -1;
        }
        return true;
    }
    return false;
}

static int failure(int result)
{
    return disk.how == FAIL_FULL && (result == SQLITE_IOERR_WRITE || result == SQLITE_IOERR_FSYNC ||
                                     result == SQLITE_IOERR_SHMSIZE)
               ? SQLITE_FULL
               : result;
}

#define INNER(file) (((struct shim_file *)(file))->inner)

static int shim_close(sqlite3_file *file)
{
    return INNER(file)->pMethods->xClose(INNER(file));
}

static int shim_read(sqlite3_file *file, void *data, int size, sqlite3_int64 offset)
{
    if (disk.how != FAIL_FULL && fails()) {
        return SQLITE_IOERR_READ;
    }
    return INNER(file)->pMethods->xRead(INNER(file), data, size, offset);
}

static int shim_write(sqlite3_file *file, const void *data, int size, sqlite3_int64 offset)
{
    if (fails()) {
        /* Half of it reached the disk. */
        INNER(file)->pMethods->xWrite(INNER(file), data, size / 2, offset);
        return failure(SQLITE_IOERR_WRITE);
    }
    return INNER(file)->pMethods->xWrite(INNER(file), data, size, offset);
}

static int shim_truncate(sqlite3_file *file, sqlite3_int64 size)
{
    return disk.how != FAIL_FULL && fails() ? SQLITE_IOERR_TRUNCATE
                                            : INNER(file)->pMethods->xTruncate(INNER(file), size);
}

static int shim_sync(sqlite3_file *file, int flags)
{
    return fails() ? failure(SQLITE_IOERR_FSYNC) : INNER(file)->pMethods->xSync(INNER(file), flags);
}

static int shim_size(sqlite3_file *file, sqlite3_int64 *out_size)
{
    return disk.how != FAIL_FULL && fails()
               ? SQLITE_IOERR_FSTAT
               : INNER(file)->pMethods->xFileSize(INNER(file), out_size);
}

static int shim_lock(sqlite3_file *file, int level)
{
    return INNER(file)->pMethods->xLock(INNER(file), level);
}

static int shim_unlock(sqlite3_file *file, int level)
{
    return INNER(file)->pMethods->xUnlock(INNER(file), level);
}

static int shim_check_lock(sqlite3_file *file, int *out_result)
{
    return INNER(file)->pMethods->xCheckReservedLock(INNER(file), out_result);
}

static int shim_control(sqlite3_file *file, int operation, void *argument)
{
    return INNER(file)->pMethods->xFileControl(INNER(file), operation, argument);
}

static int shim_sector_size(sqlite3_file *file)
{
    return INNER(file)->pMethods->xSectorSize(INNER(file));
}

static int shim_device(sqlite3_file *file)
{
    return INNER(file)->pMethods->xDeviceCharacteristics(INNER(file));
}

static int shim_shm_map(sqlite3_file *file, int region, int size, int extend, void volatile **out)
{
    if (fails()) {
        return failure(SQLITE_IOERR_SHMSIZE);
    }
    return INNER(file)->pMethods->xShmMap(INNER(file), region, size, extend, out);
}

static int shim_shm_lock(sqlite3_file *file, int offset, int count, int flags)
{
    return INNER(file)->pMethods->xShmLock(INNER(file), offset, count, flags);
}

static void shim_shm_barrier(sqlite3_file *file)
{
    INNER(file)->pMethods->xShmBarrier(INNER(file));
}

static int shim_shm_unmap(sqlite3_file *file, int delete_it)
{
    return INNER(file)->pMethods->xShmUnmap(INNER(file), delete_it);
}

static const sqlite3_io_methods shim_methods = {
    .iVersion = 2, /* no memory-mapped pages: every read is seen */
    .xClose = shim_close,
    .xRead = shim_read,
    .xWrite = shim_write,
    .xTruncate = shim_truncate,
    .xSync = shim_sync,
    .xFileSize = shim_size,
    .xLock = shim_lock,
    .xUnlock = shim_unlock,
    .xCheckReservedLock = shim_check_lock,
    .xFileControl = shim_control,
    .xSectorSize = shim_sector_size,
    .xDeviceCharacteristics = shim_device,
    .xShmMap = shim_shm_map,
    .xShmLock = shim_shm_lock,
    .xShmBarrier = shim_shm_barrier,
    .xShmUnmap = shim_shm_unmap,
};

static int shim_open(sqlite3_vfs *vfs, const char *path, sqlite3_file *file, int flags,
                     int *out_flags)
{
    (void)vfs;
    struct shim_file *shim = (struct shim_file *)file;
    shim->base.pMethods = NULL;
    if (fails()) {
        return SQLITE_CANTOPEN;
    }
    shim->inner = (sqlite3_file *)(shim + 1);
    int result = disk.inner->xOpen(disk.inner, path, shim->inner, flags, out_flags);
    if (result == SQLITE_OK) {
        shim->base.pMethods = &shim_methods;
    }
    return result;
}

static int shim_delete(sqlite3_vfs *vfs, const char *path, int sync)
{
    (void)vfs;
    return fails() ? SQLITE_IOERR_DELETE : disk.inner->xDelete(disk.inner, path, sync);
}

static int install_disk(void **state)
{
    (void)state;
    disk.inner = sqlite3_vfs_find(NULL);
    disk.vfs = *disk.inner;
    disk.vfs.zName = "failing";
    disk.vfs.pNext = NULL;
    disk.vfs.szOsFile = (int)sizeof(struct shim_file) + disk.inner->szOsFile;
    disk.vfs.xOpen = shim_open;
    disk.vfs.xDelete = shim_delete;
    disk.countdown = -1;
    return sqlite3_vfs_register(&disk.vfs, 1);
}

static int remove_disk(void **state)
{
    (void)state;
    return sqlite3_vfs_unregister(&disk.vfs);
}

/* ---- the workload ---- */

enum { SCANS = 8 };

static struct snapshot *changing_snapshot(struct arena *arena, int64_t id)
{
    struct snapshot *snapshot = fixture_snapshot(arena, id);
    snapshot->inventory.install_count = (size_t)(id % 3 + 1);
    snapshot->finding_count = (size_t)(id % 2 + 2);
    snapshot->host.boot_id = arena_printf(arena, "boot-%d", (int)id / 4);
    return snapshot;
}

/* Opens, stores the scans that are not there yet, prunes. Returns the first error, after which it
   still closes. *acknowledged grows with every scan whose storing succeeded. */
static int work(struct fixture *fixture, int64_t *acknowledged, bool *out_set_aside)
{
    struct arena arena = {0};
    struct db *db = NULL;
    struct db_opened opened = {0};
    struct err err = {0};
    int code = db_open(&arena, fixture->path, &db, &opened, &err);
    *out_set_aside = code == 0 && opened.set_aside != NULL;
    if (code == 0 && opened.last_scan_id < *acknowledged) {
        fail_msg("scan %d was acknowledged, %d is the last", (int)*acknowledged,
                 (int)opened.last_scan_id);
    }
    for (int64_t id = opened.last_scan_id + 1; code == 0 && id <= SCANS; id++) {
        code = db_store_snapshot(db, changing_snapshot(&arena, id), &err);
        if (code == 0) {
            *acknowledged = id;
            code = db_check_writable(db, &err);
        }
    }
    if (code == 0) {
        code = db_prune(db, fixture_finished_ms(3), NULL, &err);
    }
    db_close(db);
    arena_done(&arena);
    if (code != 0 && (err.message[0] == '\0' || err.code != code)) {
        fail_msg("an error without a message");
    }
    return code;
}

/* Everything acknowledged is there, each scan with its own content. */
static void check_all(struct fixture *fixture, int64_t acknowledged)
{
    struct arena arena = {0};
    struct db_opened opened = {0};
    struct fixture one = {.path = fixture->path};
    struct db *db = fixture_open(&one, &opened);
    assert_null(opened.set_aside);
    assert_true(opened.last_scan_id >= acknowledged);
    struct db_reader *reader = fixture_reader(fixture);
    for (int64_t id = acknowledged < 3 ? 1 : acknowledged; id <= acknowledged; id++) {
        struct json *at = NULL;
        struct err err = {0};
        if (db_snapshot_at_to_json(reader, fixture_finished_ms(id), &at, &err) != 0) {
            fail_msg("scan %d: %s", (int)id, err.message);
        }
        struct snapshot *snapshot = changing_snapshot(&arena, id);
        assert_int_equal(json_count(json_get(at, "installs")), snapshot->inventory.install_count);
        assert_int_equal(json_count(json_get(at, "findings")), snapshot->finding_count);
        json_free(at);
    }
    db_reader_close(reader);
    db_close(db);
    arena_done(&one.arena);
    arena_done(&arena);
}

static void fail_each(struct fixture *fixture, enum failing how, bool persists)
{
    int codes[16] = {0};
    int64_t n = 1;
    for (bool failed = true; failed; n++) {
        int64_t acknowledged = 0;
        bool aside = false;
        fixture_empty_directory(fixture->directory);
        disk.how = how;
        disk.persists = persists;
        disk.countdown = n;
        int code = work(fixture, &acknowledged, &aside);
        codes[-code]++;
        failed = disk.countdown <= 0; /* the operation was reached */
        disk.countdown = -1;
        assert_false(aside); /* a disk that fails is not a damaged file */
        check_all(fixture, acknowledged);
        int again = work(fixture, &acknowledged, &aside);
        assert_int_equal(again, 0);
        assert_false(aside);
        assert_int_equal(acknowledged, SCANS);
        check_all(fixture, SCANS);
    }
    print_message("%d operations; outcomes:", (int)n - 1);
    for (int i = 0; i < 16; i++) {
        if (codes[i] > 0) {
            print_message(" %s %d", err_name(-i), codes[i]);
        }
    }
    print_message("\n");
}

static void one_failing_operation_loses_nothing(void **state)
{
    fail_each(*state, FAIL_IO, false);
}

static void a_disk_that_dies_loses_nothing(void **state)
{
    fail_each(*state, FAIL_IO, true);
}

static void a_disk_that_fills_up_loses_nothing(void **state)
{
    fail_each(*state, FAIL_FULL, true);
}

/* The same on a store that is there already: opening reads, checks, recovers its log. */
static void failing_reads_do_not_set_a_store_aside(void **state)
{
    struct fixture *fixture = *state;
    int64_t acknowledged = 0;
    bool aside = false;
    assert_int_equal(work(fixture, &acknowledged, &aside), 0);
    for (int persists = 0; persists < 2; persists++) {
        for (int64_t n = 1;; n++) {
            disk.how = FAIL_IO;
            disk.persists = persists == 1;
            disk.countdown = n;
            work(fixture, &acknowledged, &aside);
            bool reached = disk.countdown <= 0;
            disk.countdown = -1;
            assert_false(aside);
            check_all(fixture, SCANS);
            if (!reached) {
                break;
            }
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, fixture_setup, fixture_teardown)
        TEST(one_failing_operation_loses_nothing),
        TEST(a_disk_that_dies_loses_nothing),
        TEST(a_disk_that_fills_up_loses_nothing),
        TEST(failing_reads_do_not_set_a_store_aside),
    };
    return cmocka_run_group_tests(tests, install_disk, remove_disk);
}
