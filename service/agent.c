#include "service/agent.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>

#include "api/server.h"
#include "base/log.h"
#include "base/text.h"
#include "db/db.h"
#include "os/clock.h"
#include "os/dirs.h"
#include "os/file.h"
#include "os/lock.h"
#include "os/path.h"
#include "os/secure.h"
#include "os/system_log.h"
#include "os/thread.h"
#include "os/watch.h"
#include "rules/rules.h"
#include "service/build_info.h"
#include "service/log_file.h"
#include "service/scan.h"
#include "service/token.h"

enum {
    WAIT_MS = 10 * 1000,   /* longest sleep of the loop: a sleep of the machine is seen by then */
    ASLEEP_MS = 60 * 1000, /* a wait that took so much longer: the machine was asleep */
    PRUNE_MS = 24 * 3600 * 1000,
    /* Of changes on the disk: a copy of many files is scanned when it rests, or has gone on for
       long. Where changes do not end, the pause between two scans doubles up to a minute. */
    CHANGE_QUIET_MS = 800,
    CHANGE_COPYING_MS = 400, /* a file written so shortly before a scan: the copy goes on */
    CHANGE_LONGEST_MS = 60 * 1000,
    CHANGE_PAUSE_MS = 60 * 1000,
    SET_ASIDE_SHOWN = 4,
};

struct agent {
    /* Fixed while running. */
    struct arena arena;
    struct agent_options options;
    const char *config_file;
    const char *data_dir;
    const char *database_path;
    char token[TOKEN_TEXT_SIZE];
    struct os_lock *lock;
    struct db *db;
    struct api_server *server;

    /* The loop's own. */
    struct arena config_arena;
    struct config config;
    struct scan_memory *memory;
    enum health health;
    uint64_t last_prune_ms;   /* steady */
    uint64_t next_scan_ms;    /* steady */
    struct os_watch *watch;   /* NULL: not possible or not wanted */
    uint64_t change_began_ms; /* steady: what the running scan was asked for by */
    uint64_t change_pause_until_ms, change_scan_ms; /* steady; of the newest scan of this kind */
    unsigned change_row;                            /* how many soon after one another */

    /* Between threads, under the mutex. */
    pthread_mutex_t mutex;
    pthread_cond_t wake;
    bool stop, reload, resumed, requested, paused, tell;
    uint64_t change_first_ms, change_last_ms; /* steady; 0 = nothing changed since the last scan */
    int64_t next_id;                          /* of the scan to come */
    int64_t running_id;                       /* 0 = none */
    struct api_service facts; /* last_scan_error, config_error point into the two below */
    char last_scan_error[512];
    char config_error[512];

    atomic_bool cancel; /* of the scan that runs */
};

/* ---- what the HTTP interface asks, on its own threads ---- */

static int request_scan(void *context, int64_t *out_id, struct err *err)
{
    struct agent *agent = context;
    pthread_mutex_lock(&agent->mutex);
    bool stopping = agent->stop;
    if (!stopping) {
        agent->requested = true;
        *out_id = agent->next_id;
        pthread_cond_signal(&agent->wake);
    }
    pthread_mutex_unlock(&agent->mutex);
    return stopping ? err_set(err, ERR_BUSY, "the service is stopping") : 0;
}

static int scan_state(void *context, int64_t id)
{
    struct agent *agent = context;
    pthread_mutex_lock(&agent->mutex);
    int state = id == agent->running_id                    ? API_SCAN_RUNNING
                : agent->requested && id == agent->next_id ? API_SCAN_QUEUED
                                                           : API_SCAN_UNKNOWN;
    pthread_mutex_unlock(&agent->mutex);
    return state;
}

static bool store_writable(void *context, struct err *err)
{
    struct agent *agent = context;
    return db_check_writable(agent->db, err) == 0;
}

static void store_stats(void *context, struct db_stats *out_stats)
{
    struct agent *agent = context;
    db_stats(agent->db, out_stats);
}

/* ---- opening ---- */

static int load_config(struct agent *agent, struct arena *arena, struct config *out_config,
                       struct err *err)
{
    bool must_exist = agent->options.config_file != NULL;
    int code = config_load(arena, agent->config_file, must_exist, out_config, err);
    if (code == 0 && agent->options.port >= 0) {
        out_config->listen_port = agent->options.port;
    }
    return code;
}

static void use_config(struct agent *agent)
{
    struct err err = {0};
    log_set_level((enum log_level)agent->config.log_level);
    if (log_file_use(agent->config.log_file, &err) != 0) {
        log_warning("%s", err.message);
    }
}

static void system_log(const struct agent *agent, enum os_system_event event, const char *text)
{
    if (agent->config.alerts_system_log) {
        os_system_log(event, text);
    }
}

/* A service that was killed while it started a worker may leave a child that holds the lock for the
   moment it takes to become that worker, or to notice that its parent is gone. */
static int take_lock(struct agent *agent, struct err *err)
{
    enum { TRIES = 20, PAUSE_MS = 50 };
    const char *path = os_path_join(&agent->arena, agent->data_dir, "cudnnd.lock");
    int code = os_lock_take(path, &agent->lock, err);
    for (int i = 0; i < TRIES && code == ERR_BUSY; i++) {
        os_clock_sleep_ms(PAUSE_MS);
        code = os_lock_take(path, &agent->lock, err);
    }
    return code;
}

static int open_directory(struct agent *agent, struct err *err)
{
    const char *directory = agent->options.data_dir != NULL ? agent->options.data_dir
                            : agent->config.data_dir != NULL
                                ? agent->config.data_dir
                                : os_dirs_data(&agent->arena, agent->options.service);
    agent->data_dir = arena_strdup(&agent->arena, directory);
    if (os_path_is_network(agent->data_dir)) {
        return err_set(
            err, ERR_UNSUPPORTED,
            "the data directory '%s' is on a network drive, where a database is not safe; "
            "choose a local one with data_dir or --data-dir",
            agent->data_dir);
    }
    int code = os_secure_directory(agent->data_dir, err);
    if (code != 0) {
        return err_context(err, "cannot use the data directory '%s'", agent->data_dir);
    }
    agent->database_path = os_path_join(&agent->arena, agent->data_dir, "cudnnd.db");
    code = take_lock(agent, err);
    if (code == ERR_BUSY) {
        return err_set(err, ERR_BUSY,
                       "another cudnnd already works in '%s'; stop it or choose another directory "
                       "with --data-dir",
                       agent->data_dir);
    }
    return code;
}

static int open_store(struct agent *agent, struct err *err)
{
    struct db_opened opened = {0};
    int code = db_open(&agent->arena, agent->database_path, &agent->db, &opened, err);
    if (code != 0) {
        return code;
    }
    agent->next_id = opened.last_scan_id + 1;
    if (opened.set_aside != NULL) {
        const char *text =
            arena_printf(&agent->arena,
                         "the database was damaged (%s); it was set aside as '%s' and a "
                         "fresh one was begun",
                         opened.damage, opened.set_aside);
        log_error("%s", text);
        system_log(agent, OS_EVENT_STORE_RECOVERED, text);
    }
    return 0;
}

static int open_server(struct agent *agent, struct err *err)
{
    struct api_options options = {
        .addresses = agent->config.listen_addresses.items,
        .address_count = agent->config.listen_addresses.count,
        .port = (uint16_t)agent->config.listen_port,
        .hosts = agent->config.listen_hosts.items,
        .host_count = agent->config.listen_hosts.count,
        .token = agent->token,
        .database_path = agent->database_path,
        .context = agent,
        .request_scan = request_scan,
        .scan_state = scan_state,
        .store_writable = store_writable,
        .store_stats = store_stats,
    };
    agent->facts.version = build_version;
    agent->facts.revision = build_revision;
    agent->facts.started_at_ms = os_clock_wall_ms();
    return api_server_start(&options, &agent->facts, &agent->server, err);
}

static int open_all(struct agent *agent, struct err *err)
{
    const char *config_file = agent->options.config_file != NULL
                                  ? agent->options.config_file
                                  : os_dirs_config_file(&agent->arena, agent->options.service);
    agent->config_file = arena_strdup(&agent->arena, config_file);
    int code = load_config(agent, &agent->config_arena, &agent->config, err);
    if (code != 0) {
        return code;
    }
    use_config(agent);
    code = open_directory(agent, err);
    code = code != 0 ? code : open_store(agent, err);
    code = code != 0 ? code
                     : token_open(os_path_join(&agent->arena, agent->data_dir, "token"),
                                  agent->token, err);
    return code != 0 ? code : open_server(agent, err);
}

int agent_open(const struct agent_options *options, struct agent **out_agent, struct err *err)
{
    struct agent *agent = calloc(1, sizeof *agent);
    if (agent == NULL) {
        log_fatal("out of memory");
    }
    agent->options = *options;
    agent->health = HEALTH_UNKNOWN;
    agent->memory = scan_memory_new();
    pthread_mutex_init(&agent->mutex, NULL);
    pthread_cond_init(&agent->wake, NULL);
    int code = open_all(agent, err);
    if (code != 0) {
        agent_close(agent);
        return code;
    }
    *out_agent = agent;
    return 0;
}

uint16_t agent_port(const struct agent *agent)
{
    return api_server_port(agent->server);
}

const char *agent_address(const struct agent *agent)
{
    return agent->config.listen_addresses.items[0];
}

const char *agent_data_dir(const struct agent *agent)
{
    return agent->data_dir;
}

/* ---- what the outside asks ---- */

static void ask(struct agent *agent, bool *flag)
{
    pthread_mutex_lock(&agent->mutex);
    *flag = true;
    pthread_cond_signal(&agent->wake);
    pthread_mutex_unlock(&agent->mutex);
}

void agent_stop(struct agent *agent)
{
    atomic_store(&agent->cancel, true);
    ask(agent, &agent->stop);
}

void agent_reload(struct agent *agent)
{
    ask(agent, &agent->reload);
}

void agent_resumed(struct agent *agent)
{
    ask(agent, &agent->resumed);
}

void agent_pause(struct agent *agent, bool paused)
{
    pthread_mutex_lock(&agent->mutex);
    agent->paused = paused;
    agent->facts.paused = paused;
    agent->tell = true;
    pthread_cond_signal(&agent->wake);
    pthread_mutex_unlock(&agent->mutex);
}

/* ---- changes on the disk ---- */

/* On the watch's thread. */
static void on_change(void *context)
{
    struct agent *agent = context;
    pthread_mutex_lock(&agent->mutex);
    agent->change_last_ms = os_clock_steady_ms();
    if (agent->change_first_ms == 0) {
        agent->change_first_ms = agent->change_last_ms;
    }
    pthread_cond_signal(&agent->wake);
    pthread_mutex_unlock(&agent->mutex);
}

/* When what changed is to be scanned; 0 = nothing changed. Under the mutex. */
static uint64_t change_due_ms(const struct agent *agent)
{
    if (agent->change_first_ms == 0) {
        return 0;
    }
    uint64_t quiet = agent->change_last_ms + CHANGE_QUIET_MS;
    uint64_t longest = agent->change_first_ms + CHANGE_LONGEST_MS;
    uint64_t due = quiet < longest ? quiet : longest;
    return due > agent->change_pause_until_ms ? due : agent->change_pause_until_ms;
}

static void watch_directories(struct agent *agent, const struct inventory *inventory)
{
    struct arena arena = {0};
    struct os_watch_directory *directories =
        arena_alloc(&arena, (inventory->watched_count + 1) * sizeof *directories);
    for (size_t i = 0; i < inventory->watched_count; i++) {
        directories[i] = (struct os_watch_directory){
            .path = inventory->watched[i].path,
            .files = inventory->watched[i].files,
            .directories = inventory->watched[i].directories,
        };
    }
    size_t watched = os_watch_set(agent->watch, directories, inventory->watched_count);
    log_debug("watching %zu of %zu directories", watched, inventory->watched_count);
    arena_done(&arena);
}

/* Follows the configuration. That changes are not seen is no reason not to run: the next planned
   scan sees them. */
static void use_watch(struct agent *agent)
{
    struct err err = {0};
    if (!agent->config.scan_watch) {
        os_watch_stop(agent->watch);
        agent->watch = NULL;
    } else if (agent->watch == NULL &&
               os_watch_start("cudnn", on_change, agent, &agent->watch, &err) != 0) {
        log_warning("%s: changes are seen by the planned scans only", err.message);
    }
}

/* ---- the loop ---- */

static void plan_next(struct agent *agent)
{
    uint64_t jitter = 0;
    if (agent->config.scan_jitter_ms > 0) {
        os_secure_random(&jitter, sizeof jitter);
        jitter %= (uint64_t)agent->config.scan_jitter_ms + 1;
    }
    uint64_t wait = (uint64_t)agent->config.scan_interval_ms + jitter;
    agent->next_scan_ms = os_clock_steady_ms() + wait;
    pthread_mutex_lock(&agent->mutex);
    agent->facts.next_scan_at_ms = os_clock_wall_ms() + (int64_t)wait;
    pthread_mutex_unlock(&agent->mutex);
}

/* While a damaged database lies in the data directory the finding stands: moving the file away or
   deleting it is how an administrator says that it was seen. */
static void add_recovered_finding(struct agent *agent, struct arena *arena,
                                  struct snapshot *snapshot)
{
    struct os_dir_list list = {0};
    if (os_dir_read(arena, agent->data_dir, 4096, &list, NULL) != 0) {
        return;
    }
    const char *files = "";
    const char *first = NULL;
    size_t count = 0;
    for (size_t i = 0; i < list.count; i++) {
        if (text_has_prefix(list.entries[i].name, "cudnnd.db.damaged-") &&
            !text_has_suffix(list.entries[i].name, "-wal") &&
            !text_has_suffix(list.entries[i].name, "-shm") && ++count <= SET_ASIDE_SHOWN) {
            files = arena_printf(arena, "%s%s%s", files, first == NULL ? "" : ", ",
                                 list.entries[i].name);
            first = first != NULL ? first : list.entries[i].name;
        }
    }
    if (first == NULL) {
        return;
    }
    const char *detail =
        arena_printf(arena,
                     "A damaged database was set aside in %s: %s%s. History from before "
                     "it is in that file only.",
                     agent->data_dir, files, count > SET_ASIDE_SHOWN ? ", ..." : "");
    rules_add_service_finding(arena, snapshot, "database_recovered", agent->data_dir, detail, NULL);
}

static void note_health(struct agent *agent, const struct snapshot *snapshot)
{
    enum health health = snapshot_health(snapshot);
    if (health == agent->health) {
        return;
    }
    struct arena arena = {0};
    const char *text =
        arena_printf(&arena, "health is %s (was %s): %zu findings%s%s", health_name(health),
                     health_name(agent->health), snapshot->finding_count,
                     snapshot->finding_count > 0 ? ", first: " : "",
                     snapshot->finding_count > 0 ? snapshot->findings[0].title : "");
    log_info("%s", text);
    system_log(agent, OS_EVENT_HEALTH_CHANGED, text);
    arena_done(&arena);
    agent->health = health;
}

static void count_scan(struct agent *agent, enum scan_trigger trigger, const char *error)
{
    pthread_mutex_lock(&agent->mutex);
    agent->facts.scans[trigger][error == NULL ? 0 : 1]++;
    if (error == NULL) {
        agent->facts.last_scan_error = NULL;
        agent->facts.last_scan_error_at_ms = 0;
    } else {
        text_copy(agent->last_scan_error, sizeof agent->last_scan_error, error);
        agent->facts.last_scan_error = agent->last_scan_error;
        agent->facts.last_scan_error_at_ms = os_clock_wall_ms();
    }
    pthread_mutex_unlock(&agent->mutex);
}

static struct api_service copy_facts(struct agent *agent)
{
    pthread_mutex_lock(&agent->mutex);
    struct api_service facts = agent->facts;
    pthread_mutex_unlock(&agent->mutex);
    return facts;
}

static void scan_failed(struct agent *agent, int64_t id, enum scan_trigger trigger,
                        int64_t started_at_ms, const struct err *why)
{
    struct err err = {0};
    log_error("scan %lld failed: %s", (long long)id, why->message);
    system_log(agent, OS_EVENT_SCAN_FAILED, why->message);
    if (db_store_failed_scan(agent->db, id, trigger, started_at_ms, os_clock_wall_ms(),
                             why->message, &err) != 0) {
        log_error("the failed scan could not be stored: %s", err.message);
    }
    count_scan(agent, trigger, why->message);
}

/* Was something in an install written at the moment of the scan? Links have no time of their own,
   but the directory has one. */
static bool is_being_copied(const struct snapshot *snapshot)
{
    int64_t since = snapshot->started_at_ms - CHANGE_COPYING_MS;
    int64_t until = snapshot->finished_at_ms;
    for (size_t i = 0; i < snapshot->inventory.install_count; i++) {
        const struct install *install = &snapshot->inventory.installs[i];
        struct os_file_info info;
        if (os_file_stat(install->path, &info, NULL) == 0 && info.modified_at_ms >= since &&
            info.modified_at_ms <= until) {
            return true;
        }
        for (size_t k = 0; k < install->library_count; k++) {
            int64_t modified = install->libraries[k].modified_at_ms;
            if (modified >= since && modified <= until) {
                return true;
            }
        }
    }
    return false;
}

/* A copy by halves would be judged as one with missing libraries: looks again in a moment, unless
   it has gone on for long. */
static bool wait_for_copy(struct agent *agent, enum scan_trigger trigger,
                          const struct snapshot *snapshot)
{
    uint64_t now = os_clock_steady_ms();
    if (trigger != SCAN_CHANGE || now - agent->change_began_ms >= CHANGE_LONGEST_MS ||
        !is_being_copied(snapshot)) {
        return false;
    }
    pthread_mutex_lock(&agent->mutex);
    agent->change_first_ms = agent->change_began_ms;
    agent->change_last_ms = now + CHANGE_COPYING_MS - CHANGE_QUIET_MS;
    pthread_mutex_unlock(&agent->mutex);
    return true;
}

/* Scans, judges, stores, publishes. A scan that cannot be stored is still published: what is
   known about the machine does not depend on the disk; /readyz and /status say what is wrong. */
static void scan(struct agent *agent, enum scan_trigger trigger, int64_t id, bool *out_waits)
{
    struct arena arena = {0};
    struct snapshot snapshot;
    struct err err = {0};
    struct scan_request request = {
        .config = &agent->config,
        .trigger = trigger,
        .probe = true,
        .process_environment = !agent->options.service,
        .list_watched = agent->watch != NULL,
        .memory = agent->memory,
        .cancel = &agent->cancel,
    };
    int64_t started_at_ms = os_clock_wall_ms();
    int code = scan_run(&arena, &request, &snapshot, &err);
    if (code == 0 && agent->watch != NULL) {
        watch_directories(agent, &snapshot.inventory);
    }
    *out_waits = code == 0 && wait_for_copy(agent, trigger, &snapshot);
    if (*out_waits) {
        log_debug("a cuDNN is being copied, the scan is repeated");
    } else if (code == 0) {
        add_recovered_finding(agent, &arena, &snapshot);
        snapshot.scan_id = id;
        code = db_store_snapshot(agent->db, &snapshot, &err);
        if (code == 0) {
            count_scan(agent, trigger, NULL);
            log_info("scan %lld (%s): %zu installs, %zu findings, %llu ms", (long long)id,
                     scan_trigger_name(trigger), snapshot.inventory.install_count,
                     snapshot.finding_count, (unsigned long long)snapshot.duration_ms);
        } else {
            err_context(&err, "the scan could not be stored");
            scan_failed(agent, id, trigger, started_at_ms, &err);
        }
        note_health(agent, &snapshot);
        plan_next(agent);
        struct api_service facts = copy_facts(agent);
        api_server_publish(agent->server, &snapshot, &facts);
    } else if (!atomic_load(&agent->cancel)) {
        scan_failed(agent, id, trigger, started_at_ms, &err);
        plan_next(agent);
    }
    arena_done(&arena);
}

static void prune(struct agent *agent)
{
    struct err err = {0};
    uint64_t rows = 0;
    int64_t before = os_clock_wall_ms() - agent->config.retention_history_ms;
    if (db_prune(agent->db, before, &rows, &err) != 0) {
        log_warning("old history could not be removed: %s", err.message);
    } else if (rows > 0) {
        log_info("%llu rows of history older than %lld days removed", (unsigned long long)rows,
                 (long long)(agent->config.retention_history_ms / 86400000));
    }
    agent->last_prune_ms = os_clock_steady_ms();
}

static bool same_listener(const struct config *a, const struct config *b)
{
    if (a->listen_port != b->listen_port ||
        a->listen_addresses.count != b->listen_addresses.count ||
        a->listen_hosts.count != b->listen_hosts.count) {
        return false;
    }
    for (size_t i = 0; i < a->listen_addresses.count; i++) {
        if (!text_equal(a->listen_addresses.items[i], b->listen_addresses.items[i])) {
            return false;
        }
    }
    for (size_t i = 0; i < a->listen_hosts.count; i++) {
        if (!text_equal(a->listen_hosts.items[i], b->listen_hosts.items[i])) {
            return false;
        }
    }
    return true;
}

/* What needs a restart stays as it was, and says so. */
static void keep_fixed_options(struct agent *agent, struct config *config)
{
    if (!same_listener(&agent->config, config) ||
        !text_equal(agent->config.data_dir, config->data_dir)) {
        log_warning("listen and data_dir change with the next start of the service");
    }
}

static void set_config_error(struct agent *agent, const char *error)
{
    pthread_mutex_lock(&agent->mutex);
    text_copy(agent->config_error, sizeof agent->config_error, error == NULL ? "" : error);
    agent->facts.config_error = error == NULL ? NULL : agent->config_error;
    pthread_mutex_unlock(&agent->mutex);
}

static void reload(struct agent *agent)
{
    struct arena arena = {0};
    struct config config;
    struct err err = {0};
    if (load_config(agent, &arena, &config, &err) != 0) {
        log_error("the configuration was not taken over, the old one stays in force: %s",
                  err.message);
        system_log(agent, OS_EVENT_CONFIG_REJECTED, err.message);
        set_config_error(agent, err.message);
        arena_done(&arena);
        return;
    }
    keep_fixed_options(agent, &config);
    arena_done(&agent->config_arena);
    agent->config_arena = arena;
    agent->config = config;
    use_config(agent);
    use_watch(agent);
    set_config_error(agent, NULL);
    log_info("configuration '%s' taken over", agent->config_file);
    plan_next(agent);
}

/* What is to be done next. TASK_TELL: only what is said of the service itself has changed. */
enum task { TASK_NONE, TASK_STOP, TASK_RELOAD, TASK_TELL, TASK_SCAN };

/* A wait that took far longer than asked for: the machine was asleep. */
static void wait_some(struct agent *agent, uint64_t ms)
{
    uint64_t before = os_clock_steady_ms();
    os_thread_wait(&agent->wake, &agent->mutex, ms);
    if (os_clock_steady_ms() - before > ms + ASLEEP_MS) {
        agent->resumed = true;
    }
}

static bool take(bool *flag)
{
    bool was = *flag;
    *flag = false;
    return was;
}

/* Under the mutex. */
static enum task pick_task(struct agent *agent, enum scan_trigger *out_trigger)
{
    if (agent->stop) {
        return TASK_STOP;
    }
    if (take(&agent->reload)) {
        return TASK_RELOAD;
    }
    if (take(&agent->tell)) {
        return TASK_TELL;
    }
    if (take(&agent->requested)) {
        *out_trigger = SCAN_REQUEST;
        return TASK_SCAN;
    }
    if (take(&agent->resumed) && !agent->paused) {
        *out_trigger = SCAN_RESUME;
        return TASK_SCAN;
    }
    uint64_t due = change_due_ms(agent);
    if (!agent->paused && due > 0 && os_clock_steady_ms() >= due) {
        *out_trigger = SCAN_CHANGE;
        return TASK_SCAN;
    }
    if (!agent->paused && os_clock_steady_ms() >= agent->next_scan_ms) {
        *out_trigger = SCAN_SCHEDULE;
        return TASK_SCAN;
    }
    return TASK_NONE;
}

/* Until the next planned scan at most; shorter, as waking from sleep wakes nobody here. */
static uint64_t longest_wait_ms(const struct agent *agent)
{
    uint64_t now = os_clock_steady_ms();
    uint64_t next = agent->next_scan_ms;
    uint64_t due = change_due_ms(agent);
    next = due > 0 && due < next ? due : next;
    uint64_t left = next > now ? next - now : 0;
    return agent->paused || left > WAIT_MS ? WAIT_MS : left;
}

static enum task next_task(struct agent *agent, enum scan_trigger *out_trigger)
{
    enum task task;
    pthread_mutex_lock(&agent->mutex);
    while ((task = pick_task(agent, out_trigger)) == TASK_NONE) {
        wait_some(agent, longest_wait_ms(agent));
    }
    if (task == TASK_SCAN) {
        agent->change_began_ms = agent->change_first_ms;
        agent->change_first_ms = 0; /* this scan sees it; what comes while it runs is told anew */
        agent->running_id = agent->next_id++;
    }
    pthread_mutex_unlock(&agent->mutex);
    return task;
}

/* Under the mutex. As long as the scan took, doubled for each that came soon after another. */
static void pause_after_change(struct agent *agent, uint64_t started_ms)
{
    uint64_t now = os_clock_steady_ms();
    bool soon = agent->change_scan_ms != 0 && started_ms - agent->change_scan_ms < CHANGE_PAUSE_MS;
    agent->change_row = soon && agent->change_row < 16 ? agent->change_row + 1 : 0;
    uint64_t pause = (now - started_ms) << agent->change_row;
    agent->change_pause_until_ms = now + (pause < CHANGE_PAUSE_MS ? pause : CHANGE_PAUSE_MS);
    agent->change_scan_ms = now;
}

static void scan_as_task(struct agent *agent, enum scan_trigger trigger)
{
    uint64_t started_ms = os_clock_steady_ms();
    bool waits;
    scan(agent, trigger, agent->running_id, &waits);
    pthread_mutex_lock(&agent->mutex);
    if (trigger == SCAN_CHANGE && !waits) {
        pause_after_change(agent, started_ms);
    }
    agent->running_id = 0;
    pthread_mutex_unlock(&agent->mutex);
    if (os_clock_steady_ms() - agent->last_prune_ms >= PRUNE_MS) {
        prune(agent);
    }
}

int agent_run(struct agent *agent, struct err *err)
{
    (void)err;
    os_thread_name("agent");
    os_thread_background();
    system_log(agent, OS_EVENT_STARTED, agent->data_dir);
    use_watch(agent);
    log_info("cudnnd %s (%s) works in '%s'", build_version, build_revision, agent->data_dir);
    pthread_mutex_lock(&agent->mutex);
    agent->running_id = agent->next_id++;
    pthread_mutex_unlock(&agent->mutex);
    if (!atomic_load(&agent->cancel)) {
        scan_as_task(agent, SCAN_STARTUP);
    }
    enum scan_trigger trigger = SCAN_SCHEDULE;
    for (enum task task; (task = next_task(agent, &trigger)) != TASK_STOP;) {
        if (task == TASK_RELOAD) {
            reload(agent);
        } else if (task == TASK_SCAN) {
            scan_as_task(agent, trigger);
        }
        struct api_service facts = copy_facts(agent);
        api_server_update(agent->server, &facts);
    }
    log_info("stopping");
    system_log(agent, OS_EVENT_STOPPED, agent->data_dir);
    return 0;
}

void agent_close(struct agent *agent)
{
    if (agent == NULL) {
        return;
    }
    os_watch_stop(agent->watch);
    api_server_stop(agent->server); /* first: its threads use the store and this struct */
    db_close(agent->db);
    os_lock_release(agent->lock);
    scan_memory_free(agent->memory);
    log_file_use(NULL, NULL);
    arena_done(&agent->config_arena);
    pthread_cond_destroy(&agent->wake);
    pthread_mutex_destroy(&agent->mutex);
    arena_done(&agent->arena);
    free(agent);
}
