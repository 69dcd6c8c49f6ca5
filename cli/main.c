/* cudnnd: one program, the service and every command a person types. */
#include <errno.h>

#include "base/text.h"
#include "cli/command.h"
#include "os/arguments.h"
#include "os/process.h"
#include "service/build_info.h"

static const struct command commands[] = {
    {"run", "the service, in the foreground",
     "cudnnd run [--config FILE] [--data-dir DIR] [--port N]\n\n"
     "Scans this machine again and again and serves what it finds on localhost HTTP.\n"
     "The service manager starts the same. --port 0 takes a free port; the line\n"
     "`listening on http://127.0.0.1:N` says which. Ctrl+C stops it.\n\n"
     "  --config FILE   configuration, instead of the platform's own (cudnnd config defaults)\n"
     "  --data-dir DIR  database, token and lock, instead of the platform's own\n"
     "  --port N        TCP port, instead of listen.port",
     cmd_run},
    {"scan", "look at this machine once and print what is there",
     "cudnnd scan [--json] [--no-probe] [--sysroot DIR] [--config FILE]\n\n"
     "Finds every cuDNN, toolkit and the driver, judges them, prints a table.\n"
     "Needs no running service and stores nothing.\n\n"
     "  --json          the snapshot document (docs/snapshot.md) instead of tables\n"
     "  --no-probe      load no library; judge by the bytes on disk alone\n"
     "  --sysroot DIR   look at the system below DIR instead of this one (Linux)\n"
     "  --config FILE   configuration, instead of the platform's own",
     cmd_scan},
    {"where", "the search path in order, and the copy that wins",
     "cudnnd where [NAME] [--json] [--sysroot DIR]\n\n"
     "What a program finds that loads NAME by its bare name: every directory of the search\n"
     "path that holds it, in the loader's order, the winner first. Without NAME: the entry\n"
     "library of each cuDNN generation.",
     cmd_where},
    {"check", "monitoring-plugin check of a running service",
     "cudnnd check [--url URL] [--max-age DURATION]\n\n"
     "One line and performance data, as Nagios, Icinga and others read them.\n"
     "Exit status: 0 ok, 1 warning, 2 critical, 3 unknown (no answer, no scan yet, data older\n"
     "than --max-age, by default 1h).\n\n"
     "  --url URL       by default http://127.0.0.1:9877",
     cmd_check},
    {"service", "install, start, stop, ask the system service",
     "cudnnd service install [--config FILE] [--account NAME]\n"
     "cudnnd service uninstall|start|stop|restart|status\n\n"
     "Windows: a service `cudnnd` that starts with the machine (delayed), under the virtual\n"
     "account NT SERVICE\\cudnnd; --account LocalService or LocalSystem only where needed.\n"
     "Linux: a systemd unit. uninstall leaves configuration and data.\n"
     "status: exit status 0 when it runs, 1 when it does not.",
     cmd_service},
    {"config", "check or print the configuration",
     "cudnnd config check [--config FILE]\n"
     "cudnnd config show [--config FILE]\n"
     "cudnnd config defaults\n\n"
     "check: reads the file, says what is wrong with file:line:column; exit status 2 then.\n"
     "show: every option as it is in force. defaults: a file with every option explained.",
     cmd_config},
    {"docs", "print a reference page made from the program's tables",
     "cudnnd docs findings|config|api|metrics\n\n"
     "Markdown on stdout: the finding codes, the options, the HTTP interface, the metrics.",
     cmd_docs},
};

static int print_help(FILE *stream)
{
    fprintf(stream,
            "cudnnd %s: every cuDNN on this machine, and what is wrong with it\n\n"
            "usage: cudnnd COMMAND [OPTIONS]   (cudnnd COMMAND --help)\n\n",
            build_version);
    for (size_t i = 0; i < sizeof commands / sizeof *commands; i++) {
        fprintf(stream, "  %-9s %s\n", commands[i].verb, commands[i].summary);
    }
    fprintf(stream, "  %-9s %s\n", "--version", "version and revision");
    return stream == stdout ? CLI_OK : CLI_USAGE;
}

static const char *nearest_verb(const char *word)
{
    const char *best = NULL;
    size_t best_distance = 3;
    for (size_t i = 0; i < sizeof commands / sizeof *commands; i++) {
        size_t distance = text_distance(word, commands[i].verb);
        if (distance < best_distance) {
            best = commands[i].verb;
            best_distance = distance;
        }
    }
    return best;
}

/* What was printed and could not be written (a full disk) must not look like success. */
static int written(int status)
{
    if (fflush(stdout) == 0 && !ferror(stdout)) {
        return status;
    }
    fprintf(stderr, "cudnnd: cannot write to standard output: %s\n", strerror(errno));
    return status == CLI_OK ? CLI_FAILED : status;
}

static int run(int argc, char **argv)
{
    if (argc < 2) {
        return print_help(stderr);
    }
    if (text_equal(argv[1], "--help") || text_equal(argv[1], "-h") || text_equal(argv[1], "help")) {
        return print_help(stdout);
    }
    if (text_equal(argv[1], "--version")) {
        printf("cudnnd %s (%s)\n", build_version, build_revision);
        return CLI_OK;
    }
    for (size_t i = 0; i < sizeof commands / sizeof *commands; i++) {
        if (text_equal(argv[1], commands[i].verb)) {
            return commands[i].run(&commands[i], argc - 1, argv + 1);
        }
    }
    const char *near = nearest_verb(argv[1]);
    fprintf(stderr, "cudnnd: there is no command '%s'%s%s%s (see: cudnnd --help)\n", argv[1],
            near == NULL ? "" : ", did you mean '", near == NULL ? "" : near,
            near == NULL ? "" : "'?");
    return CLI_USAGE;
}

int main(int argc, char **argv)
{
    os_process_prepare();
    if (os_arguments_utf8(&argc, &argv) != 0) {
        fprintf(stderr, "cudnnd: the command line cannot be read\n");
        return CLI_FAILED;
    }
    return written(run(argc, argv));
}
