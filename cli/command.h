#ifndef CLI_COMMAND_H
#define CLI_COMMAND_H

/* What the verbs share: the command table's row, options, printing errors and JSON.
   A verb is one file cmd_<verb>.c with one function and one row in cli/main.c. */

#include <stdbool.h>
#include <stdio.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/json.h"
#include "base/printf.h"
#include "config/config.h"

/* Exit statuses of every command but `check`. */
enum { CLI_OK = 0, CLI_FAILED = 1, CLI_USAGE = 2 };

struct command {
    const char *verb;
    const char *summary; /* one line, for the list of commands */
    const char *usage;   /* "cudnnd scan [--json] ..." and what it does, for --help */
    int (*run)(const struct command *command, int argc, char **argv); /* argv[0] is the verb */
};

int cmd_run(const struct command *command, int argc, char **argv);
int cmd_scan(const struct command *command, int argc, char **argv);
int cmd_where(const struct command *command, int argc, char **argv);
int cmd_check(const struct command *command, int argc, char **argv);
int cmd_service(const struct command *command, int argc, char **argv);
int cmd_config(const struct command *command, int argc, char **argv);
int cmd_docs(const struct command *command, int argc, char **argv);

/* One option of a verb: `--name VALUE` or, for a flag, `--name`. */
struct cli_option {
    const char *name;   /* without the dashes; NULL ends the table */
    bool *flag;         /* set to true, or */
    const char **value; /* set to the value */
};

/* Reads options, in any order with the other words, `--` ends them. *argc and argv keep the other
   words (argv[0] too). Returns -1 to go on, or the exit status: --help was asked for (0), or the
   usage is wrong (2, said on stderr). */
int cli_options(const struct command *command, const struct cli_option *options, int *argc,
                char **argv);

/* Says on stderr how the command is used wrongly; returns CLI_USAGE. */
int cli_usage(const struct command *command, const char *format, ...) PRINTF_LIKE(2, 3);
/* `cudnnd VERB: message` on stderr; returns CLI_FAILED, or CLI_USAGE for ERR_USAGE and
   ERR_CONFIG. */
int cli_error(const struct command *command, const struct err *err);

/* Prints a document and frees it. Whether stdout could be written main() looks, for all
   commands. */
void cli_print_json(struct json *document);

/* The configuration a command works with: `file`, or the platform's own if there is one. */
int cli_config(struct arena *arena, const char *file, struct config *out_config, struct err *err);

/* Colours, only when the stream is a terminal and NO_COLOR is not set. */
const char *cli_colour(FILE *stream,
                       const char *name); /* "red", "yellow", "green", "bold", "off" */

#endif
