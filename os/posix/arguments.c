#include "os/arguments.h"

int os_arguments_utf8(int *argc, char ***argv)
{
    (void)argc;
    (void)argv;
    return 0;
}
