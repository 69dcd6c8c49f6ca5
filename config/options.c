/* The option table. A new option is one row here and one field in struct config. */
#include "config/config.h"

#define SECOND INT64_C(1000)
#define MINUTE (60 * SECOND)
#define HOUR (60 * MINUTE)
#define DAY (24 * HOUR)
#define YEAR (365 * DAY)
#define KIB INT64_C(1024)
#define MIB (1024 * KIB)
#define GIB (1024 * MIB)

#define AT(field) offsetof(struct config, field)

static const char *const probe_choices[] = {"trusted", "all", "none", NULL};
static const char *const level_choices[] = {"error", "warning", "info", "debug", NULL};

const struct config_option config_options[] = {
    {"listen.addresses", CONFIG_ADDRESSES, AT(listen_addresses), "[127.0.0.1, \"::1\"]", 0, 0, NULL,
     "Loopback addresses to listen on; any other address is refused. An address that this machine "
     "does not have (no IPv6) is left out."},
    {"listen.port", CONFIG_INTEGER, AT(listen_port), "9877", 0, 65535, NULL,
     "TCP port of the HTTP interface; 0 takes a free one."},
    {"listen.hosts", CONFIG_NAMES, AT(listen_hosts), "[]", 0, 0, NULL,
     "Further names accepted in a request's Host header, for a reverse proxy on this machine."},
    {"data_dir", CONFIG_PATH, AT(data_dir), "null", 0, 0, NULL,
     "Directory of the database, the token and the lock; null takes the platform's own."},
    {"scan.interval", CONFIG_DURATION, AT(scan_interval_ms), "15m", 10 * SECOND, 30 * DAY, NULL,
     "Time between two scans."},
    {"scan.jitter", CONFIG_DURATION, AT(scan_jitter_ms), "1m", 0, DAY, NULL,
     "Up to this much is added at random to each interval, so that a fleet does not scan at the "
     "same moment."},
    {"scan.probe", CONFIG_CHOICE, AT(scan_probe), "trusted", 0, 0, probe_choices,
     "Which cuDNN copies are loaded in a worker and asked: trusted = only from directories that "
     "nobody but administrators, or the account the scan runs as, can write to; all; none."},
    {"scan.watch", CONFIG_BOOLEAN, AT(scan_watch), "true", 0, 0, NULL,
     "Scan soon after something changes in the directories that a scan looks at."},
    {"scan.roots", CONFIG_PATHS, AT(scan_roots), "[]", 0, 0, NULL,
     "Further directories to look for cuDNN in, besides the known places."},
    {"worker.timeout", CONFIG_DURATION, AT(worker_timeout_ms), "30s", SECOND, 10 * MINUTE, NULL,
     "How long a driver query or a probe may take before its process is ended."},
    {"worker.memory", CONFIG_SIZE, AT(worker_memory_bytes), "4GiB", 256 * MIB, 1024 * GIB, NULL,
     "How much memory a worker process may take."},
    {"worker.output", CONFIG_SIZE, AT(worker_output_bytes), "1MiB", 4 * KIB, 64 * MIB, NULL,
     "How much a worker process may write before it is ended."},
    {"retention.history", CONFIG_DURATION, AT(retention_history_ms), "400d", DAY, 100 * YEAR, NULL,
     "How long ended scans, past states and resolved findings are kept."},
    {"alerts.system_log", CONFIG_BOOLEAN, AT(alerts_system_log), "true", 0, 0, NULL,
     "Report start, stop, failures and changes of health to the system's own log (Windows event "
     "log, syslog)."},
    {"log.level", CONFIG_CHOICE, AT(log_level), "info", 0, 0, level_choices,
     "Least important log lines to write."},
    {"log.file", CONFIG_PATH, AT(log_file), "null", 0, 0, NULL,
     "File that log lines are appended to as well; null writes to standard error only."},
};

const size_t config_option_count = sizeof config_options / sizeof *config_options;
