#ifndef TESTS_GPU_DOUBLES_H
#define TESTS_GPU_DOUBLES_H

/* The worker's double (tests/doubles/worker_double.c) and the real worker, for the tests of
   gpu/. */

#include "gpu/gpu.h"

/* Options that start the double in this mode. Skips the test when the doubles are not built. */
struct gpu_worker_options double_options(struct arena *arena, const char *mode);

/* Options that start the real worker of this build; the same. */
struct gpu_worker_options worker_options(struct arena *arena);

/* Path of a file among the doubles; skips the test when it is not there. */
const char *double_path(struct arena *arena, const char *name);

void set_environment(const char *name, const char *value); /* NULL: takes it out */

#endif
