#include "tests/gpu/doubles.h"

#include "tests/test.h"

#include <stdio.h>

#include "os/file.h"
#include "os/path.h"

static const char *program_suffix(void)
{
    return os_path_separator == '\\' ? ".exe" : "";
}

/* An absolute path: the worker may be started from anywhere. */
static const char *file_in(struct arena *arena, const char *variable, const char *name)
{
    const char *directory = getenv(variable);
    char *path = NULL;
    if (directory == NULL ||
        os_path_resolve(arena, NULL, os_path_join(arena, directory, name), &path, NULL) != 0) {
        arena_done(arena); /* skipping leaves the test by a jump */
        skip();
    }
    return path;
}

const char *double_path(struct arena *arena, const char *name)
{
    return file_in(arena, "CUDNND_TEST_DOUBLES", name);
}

void set_environment(const char *name, const char *value)
{
#ifdef _WIN32
    char text[4096]; /* the C library's own copy is made from it */
    snprintf(text, sizeof text, "%s=%s", name, value == NULL ? "" : value);
    putenv(text);
#else
    assert_int_equal(value == NULL ? unsetenv(name) : setenv(name, value, 1), 0);
#endif
}

static struct gpu_worker_options options_for(const char *program)
{
    return (struct gpu_worker_options){
        .program = program, .timeout_ms = 60000, .output_bytes = 1024 * 1024};
}

struct gpu_worker_options double_options(struct arena *arena, const char *mode)
{
    const char *name = arena_printf(arena, "worker_double%s", program_suffix());
    const char *program = double_path(arena, name);
    set_environment("CUDNND_TEST_WORKER", mode);
    return options_for(program);
}

struct gpu_worker_options worker_options(struct arena *arena)
{
    const char *name = arena_printf(arena, "cudnnd-worker%s", program_suffix());
    return options_for(file_in(arena, "CUDNND_TEST_PROGRAMS", name));
}
