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
#include "rules/rules.h"
#include "service/build_info.h"
#include "service/log_file.h"
#include "service/scan.h"
#include "service/token.h"

enum {
    WAIT_MS = 10 * 1000,   /* longest sleep of the loop: a sleep of the machine is seen by then */
    ASLEEP_MS = 60 * 1000, /* a wait that took so much longer: the machine was asleep */
    PRUNE_MS = 24 * 3600 * 1000,
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
    uint64_t last_prune_ms; /* steady */
    uint64_t next_scan_ms;  /* steady */

    /* Between threads, under the mutex. */
    pthread_mutex_t mutex;
    pthread_cond_t wake;
    bool stop, reload, resumed, requested, paused, tell;
    int64_t next_id;          /* of the scan to come */
    int64_t running_id;       /* 0 = none */
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
    code = os_lock_take(os_path_join(&agent->arena, agent->data_dir, "cudnnd.lock"), &agent->lock,
                        err);
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

/* Scans, judges, stores, publishes. A scan that cannot be stored is still published: what is
   known about the machine does not depend on the disk; /readyz and /status say what is wrong. */
static void scan(struct agent *agent, enum scan_trigger trigger, int64_t id)
{
    struct arena arena = {0};
    struct snapshot snapshot;
    struct err err = {0};
    struct scan_request request = {
        .config = &agent->config,
        .trigger = trigger,
        .probe = true,
        .process_environment = !agent->options.service,
        .memory = agent->memory,
        .cancel = &agent->cancel,
    };
    int64_t started_at_ms = os_clock_wall_ms();
    int code = scan_run(&arena, &request, &snapshot, &err);
    if (code == 0) {
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
    uint64_t left = agent->next_scan_ms > now ? agent->next_scan_ms - now : 0;
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
        agent->running_id = agent->next_id++;
    }
    pthread_mutex_unlock(&agent->mutex);
    return task;
}

static void scan_as_task(struct agent *agent, enum scan_trigger trigger)
{
    scan(agent, trigger, agent->running_id);
    pthread_mutex_lock(&agent->mutex);
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
