#include "base/text.h"
#include "cli/command.h"
#include "cli/table.h"
#include "os/file.h"
#include "os/path.h"
#include "os/terminal.h"
#include "service/scan.h"

static const char *severity_colour(enum severity severity)
{
    return cli_colour(stdout, severity == SEVERITY_CRITICAL  ? "red"
                              : severity == SEVERITY_WARNING ? "yellow"
                                                             : "off");
}

static const char *version_cell(struct arena *arena, struct version version)
{
    char text[VERSION_TEXT_SIZE];
    return version_known(version) ? arena_strdup(arena, version_text(version, 3, text)) : NULL;
}

static void print_driver(const struct snapshot *snapshot)
{
    const struct driver *driver = &snapshot->driver;
    if (driver->status == DRIVER_OK) {
        printf("driver   %s, CUDA %s\n", driver->version == NULL ? "?" : driver->version,
               driver->cuda_version == NULL ? "?" : driver->cuda_version);
    } else {
        printf("driver   %s%s%s\n", driver_status_name(driver->status),
               driver->error == NULL ? "" : ": ", driver->error == NULL ? "" : driver->error);
    }
    for (size_t i = 0; i < driver->gpu_count; i++) {
        const struct gpu *gpu = &driver->gpus[i];
        printf("gpu %d    %s, compute capability %s\n", gpu->index,
               gpu->name == NULL ? "?" : gpu->name,
               gpu->compute_capability == NULL ? "?" : gpu->compute_capability);
    }
}

static void print_toolkits(const struct inventory *inventory)
{
    for (size_t i = 0; i < inventory->toolkit_count; i++) {
        const struct toolkit *toolkit = &inventory->toolkits[i];
        char text[VERSION_TEXT_SIZE];
        version_text(toolkit->version, 3, text);
        printf("toolkit  CUDA %s  %s%s\n", *text == '\0' ? "?" : text, toolkit->path,
               toolkit->is_default ? "  (default)" : "");
    }
}

static void print_installs(struct arena *arena, const struct snapshot *snapshot)
{
    const struct inventory *inventory = &snapshot->inventory;
    struct table table = {
        .heads = {"cuDNN", "for CUDA", "kind", "complete", "on path", "probe", "directory"},
        .columns = 7};
    if (inventory->install_count == 0) {
        printf("\nno cuDNN found\n");
        return;
    }
    for (size_t i = 0; i < inventory->install_count; i++) {
        const struct install *install = &inventory->installs[i];
        struct table_row *row = table_add(arena, &table);
        row->cells[0] = version_cell(arena, install->version);
        row->cells[1] =
            install->cuda_major > 0 ? arena_printf(arena, "%d", install->cuda_major) : NULL;
        row->cells[2] = install_kind_name(install->kind);
        row->cells[3] = install->complete ? "yes" : "NO";
        row->cells[4] = install->on_search_path ? "yes" : "no";
        row->cells[5] = probe_status_name(snapshot->probes[i].status);
        row->cells[6] = text_utf8_clean(arena, install->path);
    }
    putchar('\n');
    table_print(&table, stdout, "");
}

static void print_findings(const struct snapshot *snapshot)
{
    const char *off = cli_colour(stdout, "off");
    putchar('\n');
    if (snapshot->finding_count == 0) {
        printf("%sno findings%s\n", cli_colour(stdout, "green"), off);
    }
    for (size_t i = 0; i < snapshot->finding_count; i++) {
        const struct finding *finding = &snapshot->findings[i];
        printf("%s%s%s  %s  %s\n", severity_colour(finding->severity),
               severity_name(finding->severity), off, finding->code, finding->title);
        printf("    %s\n", finding->detail);
        if (finding->remedy != NULL) {
            printf("    -> %s\n", finding->remedy);
        }
        for (size_t c = 0; c < finding->command_count; c++) {
            printf("       %s\n", finding->commands[c]);
        }
    }
}

static void print_problems(struct arena *arena, const struct inventory *inventory)
{
    for (size_t i = 0; i < inventory->problem_count; i++) {
        const struct problem *problem = &inventory->problems[i];
        printf("not looked at: %s (%s)\n", text_utf8_clean(arena, problem->path), problem->error);
    }
}

static void show_progress(void *context, const char *step)
{
    (void)context;
    fprintf(stderr, "\r\033[K%.70s", step);
    fflush(stderr);
}

static int scan(const struct command *command, const struct scan_request *request, bool as_json)
{
    struct arena arena = {0};
    struct snapshot snapshot;
    struct err err = {0};
    int code = scan_run(&arena, request, &snapshot, &err);
    if (request->progress != NULL) {
        fputs("\r\033[K", stderr);
    }
    int status = CLI_OK;
    if (code != 0) {
        status = cli_error(command, &err);
    } else if (as_json) {
        cli_print_json(snapshot_to_json(&snapshot));
    } else {
        print_driver(&snapshot);
        print_toolkits(&snapshot.inventory);
        print_installs(&arena, &snapshot);
        print_findings(&snapshot);
        print_problems(&arena, &snapshot.inventory);
    }
    arena_done(&arena);
    return status;
}

static int check_sysroot(const char *sysroot, struct err *err)
{
    struct os_file_info info;
    if (os_path_separator == '\\') {
        return err_set(err, ERR_USAGE, "--sysroot is for Linux");
    }
    int code = os_file_stat(sysroot, &info, err);
    if (code == 0 && info.type != OS_FILE_DIRECTORY) {
        code = err_set(err, ERR_USAGE, "'%s' is not a directory", sysroot);
    }
    return code == 0 ? 0 : err_context(err, "cannot use the sysroot");
}

int cmd_scan(const struct command *command, int argc, char **argv)
{
    bool as_json = false, no_probe = false;
    const char *sysroot = NULL, *config_file = NULL;
    const struct cli_option options[] = {
        {"json", &as_json, NULL},    {"no-probe", &no_probe, NULL},
        {"sysroot", NULL, &sysroot}, {"config", NULL, &config_file},
        {NULL, NULL, NULL},
    };
    int status = cli_options(command, options, &argc, argv);
    if (status >= 0) {
        return status;
    }
    if (argc > 1) {
        return cli_usage(command, "unexpected '%s'", argv[1]);
    }
    struct arena arena = {0};
    struct config config;
    struct err err = {0};
    char *root = NULL;
    int code = cli_config(&arena, config_file, &config, &err);
    if (code == 0 && sysroot != NULL) {
        code = check_sysroot(sysroot, &err);
        code = code != 0 ? code : os_path_resolve(&arena, NULL, sysroot, &root, &err);
    }
    if (code == 0) {
        const struct scan_request request = {
            .config = &config,
            .root = root,
            .trigger = SCAN_CLI,
            .probe = !no_probe,
            .process_environment = true,
            .progress = !as_json && os_terminal_is_interactive(stderr) ? show_progress : NULL,
        };
        status = scan(command, &request, as_json);
    } else {
        status = cli_error(command, &err);
    }
    arena_done(&arena);
    return status;
}
