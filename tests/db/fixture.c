#include "tests/db/fixture.h"

#include "tests/test.h"

#include "os/file.h"
#include "os/path.h"
#include "os/secure.h"

/* ISO C's remove() takes an empty directory on POSIX; on Windows the empty directory stays. */
static void remove_directory(const char *path)
{
    (void)!remove(path);
}

static const char *temporary(void)
{
    static const char *const names[] = {"TMPDIR", "TEMP"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const char *value = getenv(names[i]);
        if (value != NULL && *value != '\0') {
            return value;
        }
    }
    return "/tmp";
}

int fixture_setup(void **state)
{
    struct fixture *fixture = calloc(1, sizeof *fixture);
    uint64_t random;
    struct err err;
    os_secure_random(&random, sizeof random);
    fixture->directory = arena_printf(&fixture->arena, "%s%ccudnnd-db-%016llx", temporary(),
                                      os_path_separator, (unsigned long long)random);
    fixture->path = os_path_join(&fixture->arena, fixture->directory, "cudnnd.db");
    *state = fixture;
    return os_dir_make(fixture->directory, &err);
}

void fixture_empty_directory(const char *directory)
{
    struct arena arena = {0};
    struct os_dir_list list = {0};
    if (os_dir_read(&arena, directory, 100000, &list, NULL) == 0) {
        for (size_t i = 0; i < list.count; i++) {
            const char *path = os_path_join(&arena, directory, list.entries[i].name);
            if (list.entries[i].type == OS_FILE_DIRECTORY) {
                remove_directory(path);
            } else {
                os_file_remove(path, NULL);
            }
        }
    }
    arena_done(&arena);
}

int fixture_teardown(void **state)
{
    struct fixture *fixture = *state;
    fixture_empty_directory(fixture->directory);
    remove_directory(fixture->directory);
    arena_done(&fixture->arena);
    free(fixture);
    return 0;
}

int64_t fixture_finished_ms(int64_t id)
{
    return FIXTURE_START_MS + id * FIXTURE_INTERVAL_MS;
}

static void add_driver(struct arena *arena, struct snapshot *snapshot)
{
    struct driver *driver = &snapshot->driver;
    driver->status = DRIVER_OK;
    driver->version = "560.94";
    driver->cuda_version = "12.6";
    driver->model = "wddm";
    driver->source = "nvml";
    driver->gpu_count = 2;
    driver->gpus = arena_alloc(arena, 2 * sizeof *driver->gpus);
    for (int i = 0; i < 2; i++) {
        driver->gpus[i] = (struct gpu){
            .index = i,
            .name = "NVIDIA GeForce RTX 4090",
            .uuid = arena_printf(arena, "GPU-%d7c1a7be-1111-2222-3333-444455556666", 9 - i),
            .compute_capability = "8.9",
            .memory_bytes = INT64_C(25757220864),
            .pci_bus_id = arena_printf(arena, "00000000:0%d:00.0", i + 1),
            .status = "ok",
        };
    }
}

static void add_install(struct arena *arena, struct install *install, int number)
{
    static const char *const names[FIXTURE_LIBRARIES] = {
        "cudnn64_9.dll",           "cudnn_adv64_9.dll",
        "cudnn_cnn64_9.dll",       "cudnn_engines_precompiled64_9.dll",
        "cudnn_graph64_9.dll",     "cudnn_engines_runtime_compiled64_9.dll",
        "cudnn_heuristic64_9.dll", "cudnn_ops64_9.dll"};
    install->id = arena_printf(arena, "%016x", number + 100);
    install->path = arena_printf(
        arena, "C:\\Program Files\\NVIDIA GPU Computing Toolkit\\CUDA\\v12.%d\\bin", number);
    install->kind = INSTALL_TOOLKIT;
    install->version = version_from_cudnn(90500);
    install->generation = 9;
    install->cuda_major = 12;
    install->arch = ARCH_X86_64;
    install->complete = true;
    install->library_count = FIXTURE_LIBRARIES;
    install->libraries = arena_alloc(arena, FIXTURE_LIBRARIES * sizeof *install->libraries);
    for (int i = 0; i < FIXTURE_LIBRARIES; i++) {
        install->libraries[i] = (struct library){
            .file = names[i],
            .component = "ops",
            .generation = 9,
            .version = version_from_cudnn(90500),
            .version_source = VERSION_SOURCE_RESOURCE,
            .size_bytes = 1000000u + (uint64_t)i,
            .modified_at_ms = FIXTURE_START_MS,
            .arch = ARCH_X86_64,
            .state = LIBRARY_OK,
            .internal_name = names[i],
        };
    }
}

static void add_inventory(struct arena *arena, struct snapshot *snapshot)
{
    struct inventory *inventory = &snapshot->inventory;
    inventory->install_count = FIXTURE_INSTALLS;
    inventory->installs = arena_alloc(arena, FIXTURE_INSTALLS * sizeof *inventory->installs);
    snapshot->probes = arena_alloc(arena, FIXTURE_INSTALLS * sizeof *snapshot->probes);
    for (int i = 0; i < FIXTURE_INSTALLS; i++) {
        add_install(arena, &inventory->installs[i], i);
        snapshot->probes[i] = (struct probe){
            .status = PROBE_OK,
            .version = 90500,
            .cudart_version = 12060,
            .create = "CUDNN_STATUS_SUCCESS",
            .load_ms = snapshot->scan_id * 7 % 1000 + i, /* never the same twice */
        };
    }
    inventory->toolkit_count = 2;
    inventory->toolkits = arena_alloc(arena, 2 * sizeof *inventory->toolkits);
    for (int i = 0; i < 2; i++) {
        inventory->toolkits[i] = (struct toolkit){
            .id = arena_printf(arena, "%016x", i + 200),
            .path = arena_printf(
                arena, "C:\\Program Files\\NVIDIA GPU Computing Toolkit\\CUDA\\v12.%d", i),
            .version = version_from_cuda(12000 + (uint64_t)i * 10),
            .sources = TOOLKIT_FROM_ENV | TOOLKIT_FROM_REGISTRY,
            .is_default = i == 0,
        };
    }
    inventory->search_count = FIXTURE_SEARCH;
    inventory->search_path = arena_alloc(arena, FIXTURE_SEARCH * sizeof *inventory->search_path);
    for (int i = 0; i < FIXTURE_SEARCH; i++) {
        inventory->search_path[i] = (struct search_entry){
            .scope = SEARCH_MACHINE,
            /* Twice the same directory is common on PATH. */
            .directory = arena_printf(arena, "D:\\Tools\\%d", i % (FIXTURE_SEARCH - 1)),
            .exists = true,
            .is_directory = true,
        };
    }
}

static void add_findings(struct arena *arena, struct snapshot *snapshot)
{
    static const char *const codes[FIXTURE_FINDINGS] = {"cudnn_mixed_versions", "cudnn_shadowed",
                                                        "search_path_entry_useless"};
    snapshot->finding_count = FIXTURE_FINDINGS;
    snapshot->findings = arena_alloc(arena, FIXTURE_FINDINGS * sizeof *snapshot->findings);
    for (int i = 0; i < FIXTURE_FINDINGS; i++) {
        struct finding *finding = &snapshot->findings[i];
        finding->id = arena_printf(arena, "%016x", 0xf00 + i);
        finding->code = codes[i];
        finding->severity = (enum severity)(SEVERITY_CRITICAL - i);
        finding->subject_type = "install";
        finding->subject_id = arena_printf(arena, "%016x", i + 100);
        finding->subject_path = "C:\\Program Files\\NVIDIA";
        finding->title = "cudnn_ops64_9.dll is 9.1.0, the rest is 9.5.0";
        finding->detail = "The libraries of one directory must have one version";
        finding->remedy = "Copy all files of one release";
        finding->evidence_count = 1;
        finding->evidence = arena_alloc(arena, sizeof *finding->evidence);
        finding->evidence[0] = (struct evidence){"expected", "9.5.0"};
        finding->command_count = 1;
        finding->commands = arena_alloc(arena, sizeof *finding->commands);
        finding->commands[0] = "cudnnd deploy cudnn.zip --to 'C:\\Program Files\\NVIDIA'";
    }
}

struct snapshot *fixture_snapshot(struct arena *arena, int64_t id)
{
    struct snapshot *snapshot = arena_alloc(arena, sizeof *snapshot);
    snapshot->scan_id = id;
    snapshot->finished_at_ms = fixture_finished_ms(id);
    snapshot->started_at_ms = snapshot->finished_at_ms - 1234;
    snapshot->duration_ms = 1234;
    snapshot->trigger = SCAN_SCHEDULE;
    snapshot->host = (struct os_host){"build-7", "Windows", "10.0.22631", "x86_64", "boot-1"};
    snapshot->nvidia_device = OS_HOST_PRESENT;
    add_driver(arena, snapshot);
    add_inventory(arena, snapshot);
    add_findings(arena, snapshot);
    snapshot->inventory.problem_count = 1;
    snapshot->inventory.problems = arena_alloc(arena, sizeof *snapshot->inventory.problems);
    snapshot->inventory.problems[0] =
        (struct problem){PROBLEM_UNREADABLE, "C:\\Users\\other", "access denied"};
    return snapshot;
}

struct db *fixture_open(struct fixture *fixture, struct db_opened *out_opened)
{
    struct db *db = NULL;
    struct db_opened opened = {0};
    struct err err = {0};
    int code = db_open(&fixture->arena, fixture->path, &db, &opened, &err);
    if (code != 0) {
        fail_msg("db_open: %s", err.message);
    }
    if (out_opened != NULL) {
        *out_opened = opened;
    }
    return db;
}

struct db_reader *fixture_reader(struct fixture *fixture)
{
    struct db_reader *reader = NULL;
    struct err err = {0};
    if (db_reader_open(fixture->path, &reader, &err) != 0) {
        fail_msg("db_reader_open: %s", err.message);
    }
    return reader;
}

void fixture_store(struct fixture *fixture, struct db *db, int64_t id)
{
    struct err err = {0};
    (void)fixture;
    struct arena arena = {0};
    if (db_store_snapshot(db, fixture_snapshot(&arena, id), &err) != 0) {
        fail_msg("db_store_snapshot: %s", err.message);
    }
    arena_done(&arena);
}

char *fixture_bytes(struct arena *arena, const char *path, size_t *out_size)
{
    char *data = NULL;
    struct err err = {0};
    if (os_file_read(arena, path, 1u << 30, &data, out_size, &err) != 0) {
        fail_msg("cannot read: %s", err.message);
    }
    return data;
}

void fixture_write(const char *path, const void *data, size_t size)
{
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(data, 1, size, file), size);
    assert_int_equal(fclose(file), 0);
}

bool fixture_exists(const char *path)
{
    struct os_file_info info;
    return os_file_stat(path, &info, NULL) == 0;
}
