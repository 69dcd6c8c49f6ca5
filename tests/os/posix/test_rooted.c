#include "tests/test.h"

#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/text.h"
#include "os/dirs.h"
#include "os/env.h"
#include "os/host.h"
#include "os/path.h"
#include "tests/os/scratch.h"

/* What is read of a machine that is a directory: host, environment, homes. */

static const char *machine_variable(struct scratch *scratch, const char *name)
{
    return os_env_get(&scratch->arena, scratch->path, OS_ENV_MACHINE, name);
}

static void the_machines_environment_is_read_like_pam_does(void **state)
{
    (void)state;
    CLEANUP(scratch_done) struct scratch scratch = scratch_make();
    scratch_write(&scratch, "etc/environment",
                  "# CUDNN_NO=1\n"
                  "PATH=\"/usr/bin:/opt/cuda/bin\"\n"
                  "  export CUDA_PATH=/usr/local/cuda # old\n"
                  "CUDA_HOME='/a b'\r\n"
                  "CUDA_PATH=/usr/local/cuda-12\n"
                  "bad line\n=empty\nA-B=1\nCUDNN_EMPTY=\nLAST=\"open");
    assert_string_equal(machine_variable(&scratch, "PATH"), "/usr/bin:/opt/cuda/bin");
    assert_string_equal(machine_variable(&scratch, "CUDA_PATH"), "/usr/local/cuda-12");
    assert_string_equal(machine_variable(&scratch, "CUDA_HOME"), "/a b");
    assert_string_equal(machine_variable(&scratch, "CUDNN_EMPTY"), "");
    assert_string_equal(machine_variable(&scratch, "LAST"), "open");
    assert_null(machine_variable(&scratch, "CUDNN_NO"));
    assert_null(machine_variable(&scratch, "A-B"));
    struct os_env_variable *items;
    size_t count;
    os_env_list(&scratch.arena, scratch.path, OS_ENV_MACHINE, "CUDA_", &items, &count);
    assert_int_equal(count, 2);
    assert_string_equal(items[0].name, "CUDA_HOME");
    assert_string_equal(items[1].value, "/usr/local/cuda-12");
    os_env_list(&scratch.arena, scratch.path, OS_ENV_USER, "", &items, &count);
    assert_int_equal(count, 0);
}

static void a_pipe_as_environment_file_is_not_waited_for(void **state)
{
    (void)state;
    CLEANUP(scratch_done) struct scratch scratch = scratch_make();
    scratch_directory(&scratch, "etc");
    assert_int_equal(mkfifo(scratch_path(&scratch, "etc/environment"), 0600), 0);
    alarm(20);
    assert_null(machine_variable(&scratch, "PATH"));
    alarm(0);
}

static void the_host_is_read_inside_the_root(void **state)
{
    (void)state;
    CLEANUP(scratch_done) struct scratch scratch = scratch_make();
    scratch_write(&scratch, "usr/lib/os-release",
                  "PRETTY_NAME=\"x\"\nNAME=\"Some \\\"Linux\\\"\"\nVERSION_ID='12'\n");
    scratch_directory(&scratch, "etc");
    assert_int_equal(symlink("/usr/lib/os-release", scratch_path(&scratch, "etc/os-release")), 0);
    scratch_write(&scratch, "etc/hostname", "box\n");
    scratch_write(&scratch, "bin/sh",
                  "\x7F"
                  "ELF\2\1\1           \3 \xB7 ");
    struct os_host host;
    os_host_read(&scratch.arena, scratch.path, &host);
    assert_string_equal(host.os_name, "Some \"Linux\"");
    assert_string_equal(host.os_version, "12");
    assert_string_equal(host.name, "box");
    assert_null(host.boot_id);
    assert_null(host.arch); /* 0x20B7 is no machine */
}

static void an_empty_root_has_no_host(void **state)
{
    (void)state;
    CLEANUP(scratch_done) struct scratch scratch = scratch_make();
    struct os_host host;
    os_host_read(&scratch.arena, scratch.path, &host);
    assert_null(host.name);
    assert_null(host.os_name);
    assert_null(host.os_version);
    assert_null(host.arch);
    assert_int_equal(os_host_nvidia_device(scratch.path), OS_HOST_UNKNOWN);
}

static void add_device(struct scratch *scratch, const char *name, const char *vendor,
                       const char *class)
{
    scratch_write(scratch, arena_printf(&scratch->arena, "sys/devices/%s/vendor", name), vendor);
    scratch_write(scratch, arena_printf(&scratch->arena, "sys/devices/%s/class", name), class);
    scratch_directory(scratch, "sys/bus/pci/devices");
    const char *target = arena_printf(&scratch->arena, "../../../devices/%s", name);
    const char *link = arena_printf(&scratch->arena, "sys/bus/pci/devices/%s", name);
    assert_int_equal(symlink(target, scratch_path(scratch, link)), 0);
}

static void a_display_device_of_nvidia_is_found_on_the_bus(void **state)
{
    (void)state;
    CLEANUP(scratch_done) struct scratch scratch = scratch_make();
    add_device(&scratch, "0000:00:02.0", "0x8086\n", "0x030000\n");
    add_device(&scratch, "0000:01:00.1", "0x10de\n", "0x040300\n"); /* its sound */
    assert_int_equal(os_host_nvidia_device(scratch.path), OS_HOST_ABSENT);
    add_device(&scratch, "0000:01:00.0", "0x10de\n", "0x030200\n");
    assert_int_equal(os_host_nvidia_device(scratch.path), OS_HOST_PRESENT);
}

static void a_bus_that_cannot_be_read_is_unknown(void **state)
{
    (void)state;
    CLEANUP(scratch_done) struct scratch scratch = scratch_make();
    add_device(&scratch, "0000:00:02.0", "0x8086\n", "0x030000\n");
    scratch_directory(&scratch, "sys/bus/pci/devices/0000:00:03.0");
    assert_int_equal(os_host_nvidia_device(scratch.path), OS_HOST_UNKNOWN);
}

static void wsl_says_nothing_about_the_bus(void **state)
{
    (void)state;
    CLEANUP(scratch_done) struct scratch scratch = scratch_make();
    add_device(&scratch, "0000:00:02.0", "0x1414\n", "0x030200\n");
    scratch_write(&scratch, "dev/dxg", "");
    assert_int_equal(os_host_nvidia_device(scratch.path), OS_HOST_UNKNOWN);
}

static void homes_are_found_inside_the_root(void **state)
{
    (void)state;
    CLEANUP(scratch_done) struct scratch scratch = scratch_make();
    scratch_directory(&scratch, "root");
    scratch_directory(&scratch, "var/home/ada");
    scratch_directory(&scratch, "data/people/grace");
    scratch_directory(&scratch, "var/lib/daemon");
    assert_int_equal(symlink("/var/home", scratch_path(&scratch, "home")), 0);
    scratch_write(&scratch, "etc/passwd",
                  "root:x:0:0:root:/root:/bin/sh\n"
                  "daemon:x:101:101::/var/lib/daemon:/bin/false\n"
                  "ada:x:1000:1000::/home/ada:/bin/sh\n"
                  "grace:x:1001:1001::/data/people/grace:/bin/sh\n"
                  "gone:x:1002:1002::/home/gone:/bin/sh\n"
                  "nobody:x:65534:65534::/var/lib/daemon:/bin/false\n"
                  "broken\n");
    char **homes;
    size_t count;
    os_dirs_homes(&scratch.arena, scratch.path, &homes, &count);
    assert_int_equal(count, 3);
    assert_string_equal(homes[0], "/root");
    assert_string_equal(homes[1], "/var/home/ada");
    assert_string_equal(homes[2], "/data/people/grace");
}

static void own_files_follow_the_desktop_conventions(void **state)
{
    (void)state;
    CLEANUP(arena_done) struct arena arena = {0};
    setenv("HOME", "/home/someone", 1);
    setenv("XDG_CONFIG_HOME", "/elsewhere", 1);
    setenv("XDG_DATA_HOME", "relative", 1); /* counts as not set */
    assert_string_equal(os_dirs_config_file(&arena, false), "/elsewhere/cudnnd/cudnnd.yml");
    assert_string_equal(os_dirs_data(&arena, false), "/home/someone/.local/share/cudnnd");
    unsetenv("XDG_CONFIG_HOME");
    unsetenv("XDG_DATA_HOME");
    assert_string_equal(os_dirs_config_file(&arena, false),
                        "/home/someone/.config/cudnnd/cudnnd.yml");
    unsetenv("HOME");
    assert_true(os_path_is_absolute(os_dirs_data(&arena, false)));
    assert_string_equal(os_dirs_config_file(&arena, true), "/etc/cudnnd/cudnnd.yml");
    assert_string_equal(os_dirs_data(&arena, true), "/var/lib/cudnnd");
    assert_null(os_dirs_program_files(&arena));
    assert_null(os_dirs_system(&arena));
}

RUN_TESTS(cmocka_unit_test(the_machines_environment_is_read_like_pam_does),
          cmocka_unit_test(a_pipe_as_environment_file_is_not_waited_for),
          cmocka_unit_test(the_host_is_read_inside_the_root),
          cmocka_unit_test(an_empty_root_has_no_host),
          cmocka_unit_test(a_display_device_of_nvidia_is_found_on_the_bus),
          cmocka_unit_test(a_bus_that_cannot_be_read_is_unknown),
          cmocka_unit_test(wsl_says_nothing_about_the_bus),
          cmocka_unit_test(homes_are_found_inside_the_root),
          cmocka_unit_test(own_files_follow_the_desktop_conventions))
