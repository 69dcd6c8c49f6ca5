#ifndef CONFIG_CONFIG_H
#define CONFIG_CONFIG_H

/* The configuration: cudnnd.yml, UTF-8 YAML. One table of options (config/options.c) drives
   parsing, validation, defaults, `config show`, `config defaults` and docs/config.md.
   Loading never changes a configuration in force: it makes a new value or says what is wrong with
   file:line:column and the nearest known key. Values live in the caller's arena.
   The only user of libyaml. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"

enum config_probe { CONFIG_PROBE_TRUSTED, CONFIG_PROBE_ALL, CONFIG_PROBE_NONE };

struct config_list {
    const char **items;
    size_t count;
};

struct config {
    struct config_list listen_addresses; /* loopback only */
    int64_t listen_port;                 /* 0 = a free one */
    struct config_list listen_hosts;
    const char *data_dir; /* NULL = the platform's own */
    int64_t scan_interval_ms;
    int64_t scan_jitter_ms;
    int64_t scan_probe; /* enum config_probe */
    bool scan_watch;
    struct config_list scan_roots;
    int64_t worker_timeout_ms;
    int64_t worker_memory_bytes;
    int64_t worker_output_bytes;
    int64_t retention_history_ms;
    bool alerts_system_log;
    int64_t log_level;    /* enum log_level */
    const char *log_file; /* NULL = standard error only */
};

enum config_type {
    CONFIG_DURATION, /* "15m": ms s m h d y; stored in milliseconds */
    CONFIG_SIZE,     /* "1MiB": B KiB MiB GiB TiB; stored in bytes */
    CONFIG_INTEGER,
    CONFIG_BOOLEAN,   /* true, false */
    CONFIG_CHOICE,    /* one of `choices`; stored as its index */
    CONFIG_PATH,      /* absolute path or null */
    CONFIG_ADDRESSES, /* list of loopback addresses, at least one */
    CONFIG_NAMES,     /* list of host names */
    CONFIG_PATHS,     /* list of absolute paths */
};

struct config_option {
    const char *key; /* "scan.interval" */
    enum config_type type;
    size_t offset;              /* of the field in struct config */
    const char *fallback;       /* the default as a person would write it in YAML */
    int64_t min, max;           /* numbers: allowed range in the stored unit */
    const char *const *choices; /* CONFIG_CHOICE: NULL-terminated */
    const char *sentence;       /* what it does */
};

extern const struct config_option config_options[];
extern const size_t config_option_count;

/* The defaults of the table. */
void config_defaults(struct arena *arena, struct config *out_config);

/* Parses the text of a configuration file; `name` is for messages. ERR_CONFIG. */
int config_parse(struct arena *arena, const char *name, const char *text, size_t size,
                 struct config *out_config, struct err *err);

/* Reads a file. `must_exist` false: a missing file gives the defaults. */
int config_load(struct arena *arena, const char *path, bool must_exist, struct config *out_config,
                struct err *err);

/* YAML of a configuration as it is in force; reading it back gives the same configuration.
   With `comments` each option is preceded by its sentence, range and default. */
int config_print(const struct config *config, bool comments, struct buf *out, struct err *err);

/* docs/config.md, from the table. */
int config_print_docs(struct buf *out, struct err *err);

#endif
