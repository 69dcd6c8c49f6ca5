#ifndef TESTS_DB_FIXTURE_H
#define TESTS_DB_FIXTURE_H

/* A directory of its own for each test, and snapshots like those of a real machine: two GPUs, two
   toolkits, three installs of eight libraries, twelve search-path entries, three findings. */

#include "db/db.h"

enum {
    FIXTURE_INSTALLS = 3,
    FIXTURE_LIBRARIES = 8,
    FIXTURE_SEARCH = 12,
    FIXTURE_FINDINGS = 3,
    FIXTURE_INTERVAL_MS = 900000,
};

#define FIXTURE_START_MS INT64_C(1769860800000) /* 2026-01-31T12:00:00Z */

struct fixture {
    struct arena arena;
    char *directory;
    char *path; /* of the store */
};

int fixture_setup(void **state); /* cmocka: *state is a struct fixture */
int fixture_teardown(void **state);

void fixture_empty_directory(const char *directory);

/* Scan `id` finishes at FIXTURE_START_MS + id * FIXTURE_INTERVAL_MS. Every id gives the same
   machine; the probes' load_ms differ. */
struct snapshot *fixture_snapshot(struct arena *arena, int64_t id);
int64_t fixture_finished_ms(int64_t id);

/* Opens, and fails the test when that fails. */
struct db *fixture_open(struct fixture *fixture, struct db_opened *out_opened);
struct db_reader *fixture_reader(struct fixture *fixture);
void fixture_store(struct fixture *fixture, struct db *db, int64_t id);

/* The file's bytes; in the arena. */
char *fixture_bytes(struct arena *arena, const char *path, size_t *out_size);
void fixture_write(const char *path, const void *data, size_t size);
bool fixture_exists(const char *path);

#endif
