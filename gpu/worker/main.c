/* cudnnd-worker: the only program of the product that loads vendor code. One task, one JSON
   document on stdout (gpu/wire.h), no matter what the library prints. */
#include <stdio.h>

#include "base/text.h"
#include "gpu/wire.h"
#include "gpu/worker/channel.h"
#include "gpu/worker/tasks.h"
#include "os/arguments.h"
#include "os/process.h"

enum { EXIT_OK = 0, EXIT_CHANNEL = 1, EXIT_USAGE = 2 };

static const char usage_text[] =
    "usage: cudnnd-worker driver [--root DIR]\n"
    "       cudnnd-worker probe --directory DIR --library FILE\n\n"
    "Asks the NVIDIA driver or one cuDNN and prints one JSON document. Started by cudnnd, with a\n"
    "deadline and a memory ceiling; not meant to be typed.\n";

static int usage(void)
{
    fputs(usage_text, stderr);
    return EXIT_USAGE;
}

struct option {
    const char *name;
    bool needed;
    const char *value;
};

/* Options come in pairs, each at most once; nothing else may be there. */
static bool read_options(int argc, char **argv, struct option *options, size_t count)
{
    for (int i = 2; i < argc; i += 2) {
        size_t which = 0;
        while (which < count && !text_equal(options[which].name, argv[i])) {
            which++;
        }
        if (which == count || options[which].value != NULL || i + 1 == argc ||
            argv[i + 1][0] == '\0') {
            return false;
        }
        options[which].value = argv[i + 1];
    }
    for (size_t i = 0; i < count; i++) {
        if (options[i].needed && options[i].value == NULL) {
            return false;
        }
    }
    return true;
}

static int finish(char *document)
{
    bool written = channel_write(document);
    free(document);
    fflush(NULL);
    /* Not exit(): vendor libraries' destructors have ended processes with errors before. */
    _Exit(written ? EXIT_OK : EXIT_CHANNEL);
}

/* Nothing is loaded before standard output is out of vendor code's reach. */
static int cannot_answer(void)
{
    fputs("cudnnd-worker: standard output cannot be put aside\n", stderr);
    return EXIT_CHANNEL;
}

static int ask_driver(int argc, char **argv)
{
    struct arena arena = {0};
    struct driver driver;
    struct option options[] = {{"--root", false, NULL}};
    if (!read_options(argc, argv, options, sizeof options / sizeof *options)) {
        return usage();
    }
    if (!channel_open()) {
        return cannot_answer();
    }
    worker_ask_driver(&arena, options[0].value, &driver);
    return finish(wire_write_driver(&driver));
}

static int probe_library(int argc, char **argv)
{
    struct arena arena = {0};
    struct probe probe;
    struct option options[] = {{"--directory", true, NULL}, {"--library", true, NULL}};
    if (!read_options(argc, argv, options, sizeof options / sizeof *options)) {
        return usage();
    }
    if (!channel_open()) {
        return cannot_answer();
    }
    worker_probe(&arena, options[0].value, options[1].value, &probe);
    return finish(wire_write_probe(&probe));
}

int main(int argc, char **argv)
{
    os_process_prepare();
    os_process_drop_rights();
    if (os_arguments_utf8(&argc, &argv) != 0 || argc < 2) {
        return usage();
    }
    if (argc == 2 && text_equal(argv[1], "--help")) {
        fputs(usage_text, stdout);
        return EXIT_OK;
    }
    if (text_equal(argv[1], "driver")) {
        return ask_driver(argc, argv);
    }
    return text_equal(argv[1], "probe") ? probe_library(argc, argv) : usage();
}
