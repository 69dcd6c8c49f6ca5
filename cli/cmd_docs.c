#include "api/docs.h"
#include "base/text.h"
#include "cli/command.h"
#include "rules/rules.h"

static const char *config_page(struct arena *arena)
{
    struct buf text;
    buf_init(&text, 1024 * 1024);
    const char *page = config_print_docs(&text, NULL) == 0 ? arena_strdup(arena, text.data) : NULL;
    buf_done(&text);
    return page;
}

int cmd_docs(const struct command *command, int argc, char **argv)
{
    static const struct {
        const char *name;
        const char *(*print)(struct arena *arena);
    } pages[] = {
        {"findings", rules_print_docs},
        {"config", config_page},
        {"api", api_print_docs},
        {"metrics", api_print_metrics_docs},
    };
    const struct cli_option options[] = {{NULL, NULL, NULL}};
    int status = cli_options(command, options, &argc, argv);
    if (status >= 0) {
        return status;
    }
    for (size_t i = 0; argc == 2 && i < sizeof pages / sizeof *pages; i++) {
        if (text_equal(argv[1], pages[i].name)) {
            struct arena arena = {0};
            fputs(pages[i].print(&arena), stdout);
            arena_done(&arena);
            return CLI_OK;
        }
    }
    return cli_usage(command, "say which page: findings, config, api or metrics");
}
