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

/* The value behind an option, NULL when the option is not there. Options come in pairs. */
static const char *option(int argc, char **argv, const char *name)
{
    for (int i = 2; i + 1 < argc; i += 2) {
        if (text_equal(argv[i], name)) {
            return argv[i + 1];
        }
    }
    return NULL;
}

static int finish(char *document)
{
    bool written = channel_write(document);
    free(document);
    fflush(NULL);
    /* Not exit(): vendor libraries' destructors have ended processes with errors before. */
    _Exit(written ? EXIT_OK : EXIT_CHANNEL);
}

int main(int argc, char **argv)
{
    struct arena arena = {0};
    os_process_prepare();
    os_process_drop_rights();
    if (os_arguments_utf8(&argc, &argv) != 0 || argc < 2) {
        return usage();
    }
    if (text_equal(argv[1], "--help")) {
        fputs(usage_text, stdout);
        return EXIT_OK;
    }
    if (argc % 2 != 0 || !channel_open()) {
        return usage();
    }
    if (text_equal(argv[1], "driver") && (argc == 2 || option(argc, argv, "--root") != NULL)) {
        struct driver driver;
        worker_ask_driver(&arena, option(argc, argv, "--root"), &driver);
        return finish(wire_write_driver(&driver));
    }
    const char *directory = option(argc, argv, "--directory");
    const char *library = option(argc, argv, "--library");
    if (text_equal(argv[1], "probe") && argc == 6 && directory != NULL && library != NULL) {
        struct probe probe;
        worker_probe(&arena, directory, library, &probe);
        return finish(wire_write_probe(&probe));
    }
    return usage();
}
