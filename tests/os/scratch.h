#ifndef TESTS_OS_SCRATCH_H
#define TESTS_OS_SCRATCH_H

/* A directory of its own for a test, under the system's temporary one. Names are relative to it,
   with '/' on both systems. What fails here fails the test. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"

struct scratch {
    struct arena arena; /* for whatever the test needs until its end */
    char *path;         /* canonical */
};

struct scratch scratch_make(void);
void scratch_done(struct scratch *scratch); /* removes the directory with everything in it */

char *scratch_path(struct scratch *scratch, const char *name);
/* Makes the file, and the directories it lies in; returns its path. */
char *scratch_write(struct scratch *scratch, const char *name, const char *text);
char *scratch_directory(struct scratch *scratch, const char *name);
char *scratch_read(struct scratch *scratch, const char *name);
size_t scratch_count(struct scratch *scratch, const char *name); /* entries of a directory */

#endif
