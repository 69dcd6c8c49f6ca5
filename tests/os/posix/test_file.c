#include "tests/test.h"

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "os/file.h"
#include "os/process.h"
#include "tests/os/scratch.h"

enum { PAGE = 4096, PAGES = 16, STRAY_CAUGHT = 42, MAPS_LIMIT = 16 * 1024 * 1024 };

static int touch_all(struct bytes bytes, const struct os_file_info *info, void *context,
                     struct err *err)
{
    (void)info;
    (void)err;
    volatile uint64_t sum = 0;
    for (uint64_t i = 0; i < bytes.size; i += 512) {
        sum += bytes.data[i];
    }
    *(uint64_t *)context = sum;
    return 0;
}

static char *write_pages(struct scratch *scratch, const char *name)
{
    char *path = scratch_write(scratch, name, "");
    assert_int_equal(truncate(path, PAGE * PAGES), 0);
    return path;
}

static void a_pipe_named_like_a_library_is_refused_at_once(void **state)
{
    (void)state;
    CLEANUP(scratch_done) struct scratch scratch = scratch_make();
    const char *pipe = scratch_path(&scratch, "libcudnn.so.9");
    assert_int_equal(mkfifo(pipe, 0666), 0);
    char *data;
    size_t size;
    uint64_t sum;
    struct err err = {0};
    alarm(20);
    assert_int_equal(os_file_read(&scratch.arena, pipe, 100, &data, &size, &err), ERR_UNSUPPORTED);
    assert_int_equal(os_file_with_map(pipe, touch_all, &sum, &err), ERR_UNSUPPORTED);
    assert_int_equal(os_file_copy(pipe, scratch_path(&scratch, "copy"), &err), ERR_UNSUPPORTED);
    struct os_dir_list list;
    assert_int_equal(os_dir_read(&scratch.arena, pipe, 10, &list, &err), ERR_NOT_FOUND);
    alarm(0);
    struct os_file_info info;
    assert_int_equal(os_file_stat(pipe, &info, &err), 0);
    assert_int_equal(info.type, OS_FILE_OTHER);
}

static void a_device_is_refused(void **state)
{
    (void)state;
    CLEANUP(scratch_done) struct scratch scratch = scratch_make();
    const char *link = scratch_path(&scratch, "libcudnn.so");
    assert_int_equal(symlink("/dev/zero", link), 0);
    char *data;
    size_t size;
    assert_int_equal(os_file_read(&scratch.arena, link, 100, &data, &size, NULL), ERR_UNSUPPORTED);
}

static void files_of_the_kernel_without_a_size_are_read(void **state)
{
    (void)state;
    CLEANUP(arena_done) struct arena arena = {0};
    char *data;
    size_t size;
    assert_int_equal(os_file_read(&arena, "/proc/self/status", 65536, &data, &size, NULL), 0);
    assert_true(size > 0);
    assert_int_equal(os_file_read(&arena, "/proc/self/status", 10, &data, &size, NULL), ERR_LIMIT);
}

static void a_link_loop_is_a_limit(void **state)
{
    (void)state;
    CLEANUP(scratch_done) struct scratch scratch = scratch_make();
    const char *link = scratch_path(&scratch, "loop");
    assert_int_equal(symlink("loop", link), 0);
    struct os_file_info info;
    char *data;
    size_t size;
    assert_int_equal(os_file_stat(link, &info, NULL), ERR_LIMIT);
    assert_int_equal(os_file_read(&scratch.arena, link, 10, &data, &size, NULL), ERR_LIMIT);
}

static void links_are_listed_as_links(void **state)
{
    (void)state;
    CLEANUP(scratch_done) struct scratch scratch = scratch_make();
    assert_int_equal(symlink("/", scratch_path(&scratch, "link")), 0);
    scratch_write(&scratch, "not utf8 \xFF\xC3", "");
    struct os_dir_list list;
    assert_int_equal(os_dir_read(&scratch.arena, scratch.path, 10, &list, NULL), 0);
    assert_int_equal(list.entries[0].type, OS_FILE_LINK);
    assert_string_equal(list.entries[1].name, "not utf8 \xFF\xC3");
}

struct shrinking {
    const char *path;
    uint64_t kept; /* bytes */
};

static int shrink_and_touch(struct bytes bytes, const struct os_file_info *info, void *context,
                            struct err *err)
{
    const struct shrinking *shrinking = context;
    uint64_t sum;
    if (truncate(shrinking->path, (off_t)shrinking->kept) != 0) {
        return err_set(err, ERR_INTERNAL, "the test cannot shrink its file");
    }
    return touch_all(bytes, info, &sum, err);
}

static void a_file_that_shrinks_while_mapped_is_an_error(void **state)
{
    (void)state;
    CLEANUP(scratch_done) struct scratch scratch = scratch_make();
    for (int i = 0; i < 3; i++) {
        struct shrinking shrinking = {.path = write_pages(&scratch, "file"), .kept = PAGE};
        struct err err = {0};
        assert_int_equal(os_file_with_map(shrinking.path, shrink_and_touch, &shrinking, &err),
                         ERR_IO);
        assert_non_null(strstr(err.message, "shrank"));
    }
}

static void a_thread_that_blocks_the_signal_is_guarded_too(void **state)
{
    (void)state;
    CLEANUP(scratch_done) struct scratch scratch = scratch_make();
    struct shrinking shrinking = {.path = write_pages(&scratch, "file"), .kept = PAGE};
    sigset_t bus, kept;
    sigemptyset(&bus);
    sigaddset(&bus, SIGBUS);
    pthread_sigmask(SIG_BLOCK, &bus, &kept);
    int code = os_file_with_map(shrinking.path, shrink_and_touch, &shrinking, NULL);
    pthread_sigmask(SIG_SETMASK, &kept, NULL);
    assert_int_equal(code, ERR_IO);
}

struct nested {
    struct shrinking outer;
    const char *inner_path;
    struct bytes outer_bytes;
    int inner_code;
};

static int touch_outer(struct bytes bytes, const struct os_file_info *info, void *context,
                       struct err *err)
{
    (void)bytes;
    struct nested *nested = context;
    uint64_t sum;
    return touch_all(nested->outer_bytes, info, &sum, err);
}

static int map_inner(struct bytes bytes, const struct os_file_info *info, void *context,
                     struct err *err)
{
    (void)info;
    struct nested *nested = context;
    nested->outer_bytes = bytes;
    assert_int_equal(truncate(nested->outer.path, 0), 0);
    nested->inner_code = os_file_with_map(nested->inner_path, touch_outer, nested, err);
    return 0;
}

static int shrink_inner(struct bytes bytes, const struct os_file_info *info, void *context,
                        struct err *err)
{
    struct nested *nested = context;
    struct shrinking inner = {.path = nested->inner_path, .kept = 0};
    nested->inner_code = os_file_with_map(nested->inner_path, shrink_and_touch, &inner, err);
    uint64_t sum;
    return touch_all(bytes, info, &sum, err); /* the outer one is as readable as before */
}

static void maps_inside_maps_fail_one_by_one(void **state)
{
    (void)state;
    CLEANUP(scratch_done) struct scratch scratch = scratch_make();
    struct nested nested = {.outer.path = write_pages(&scratch, "outer"),
                            .inner_path = write_pages(&scratch, "inner")};
    assert_int_equal(os_file_with_map(nested.outer.path, shrink_inner, &nested, NULL), 0);
    assert_int_equal(nested.inner_code, ERR_IO);
    write_pages(&scratch, "inner");
    nested.inner_code = 0;
    assert_int_equal(os_file_with_map(nested.outer.path, map_inner, &nested, NULL), ERR_IO);
    assert_int_equal(nested.inner_code, 0); /* never came back to the outer reader */
    char *maps;
    size_t size;
    assert_int_equal(
        os_file_read(&scratch.arena, "/proc/self/maps", MAPS_LIMIT, &maps, &size, NULL), 0);
    assert_null(strstr(maps, scratch.path)); /* the inner one is gone too */
    uint64_t sum;
    assert_int_equal(os_file_with_map(nested.inner_path, touch_all, &sum, NULL), 0);
}

struct worker {
    struct scratch scratch;
    int failures;
};

static void *shrink_often(void *context)
{
    struct worker *worker = context;
    for (int i = 0; i < 100; i++) {
        struct shrinking shrinking = {.path = scratch_path(&worker->scratch, "file"), .kept = 0};
        int expected = i % 2 == 0 ? ERR_IO : 0;
        shrinking.kept = i % 2 == 0 ? PAGE : PAGE * PAGES;
        if (truncate(shrinking.path, PAGE * PAGES) != 0 ||
            os_file_with_map(shrinking.path, shrink_and_touch, &shrinking, NULL) != expected) {
            worker->failures++;
        }
    }
    return NULL;
}

static void threads_lose_their_files_independently(void **state)
{
    (void)state;
    struct worker workers[4];
    pthread_t threads[4];
    for (size_t i = 0; i < 4; i++) {
        workers[i] = (struct worker){.scratch = scratch_make()};
        write_pages(&workers[i].scratch, "file");
        assert_int_equal(pthread_create(&threads[i], NULL, shrink_often, &workers[i]), 0);
    }
    for (size_t i = 0; i < 4; i++) {
        pthread_join(threads[i], NULL);
        assert_int_equal(workers[i].failures, 0);
        scratch_done(&workers[i].scratch);
    }
}

static void catch_stray(int number)
{
    (void)number;
    _exit(STRAY_CAUGHT);
}

/* A child's part: a fault outside of every map, with or without somebody who caught it before. */
static int fault_elsewhere(const char *path, bool caught_before)
{
    if (caught_before) {
        signal(SIGBUS, catch_stray);
    }
    uint64_t sum;
    int fd = open(path, O_RDWR | O_CLOEXEC);
    if (os_file_with_map(path, touch_all, &sum, NULL) != 0 || fd < 0) {
        return 1;
    }
    const char *map = mmap(NULL, PAGE * PAGES, PROT_READ, MAP_SHARED, fd, 0);
    if (map == MAP_FAILED || ftruncate(fd, 0) != 0) {
        return 1;
    }
    return *(const volatile char *)map;
}

static void run_fault_elsewhere(const char *how, struct os_process_result *out_result)
{
    CLEANUP(scratch_done) struct scratch scratch = scratch_make();
    char program[4096];
    assert_int_equal(os_process_own_path(program, sizeof program, NULL), 0);
    const char *const arguments[] = {how, write_pages(&scratch, "file"), NULL};
    const struct os_process_spec spec = {
        .program = program, .arguments = arguments, .timeout_ms = 30000, .output_bytes = 65536};
    assert_int_equal(os_process_run(&spec, out_result, NULL), 0);
}

static void a_fault_elsewhere_goes_to_whoever_was_there_before(void **state)
{
    (void)state;
    CLEANUP(os_process_result_done) struct os_process_result result = {0};
    run_fault_elsewhere("caught", &result);
    assert_int_equal(result.end, OS_PROCESS_EXITED);
    assert_int_equal(result.code, STRAY_CAUGHT);
}

static void a_fault_elsewhere_ends_the_process(void **state)
{
    (void)state;
    CLEANUP(os_process_result_done) struct os_process_result result = {0};
    run_fault_elsewhere("uncaught", &result);
    assert_int_not_equal(result.end, OS_PROCESS_TIMED_OUT);
    assert_int_not_equal(result.code, 0); /* the signal, or a sanitizer's exit status */
}

static void a_private_file_is_the_owners_alone(void **state)
{
    (void)state;
    CLEANUP(scratch_done) struct scratch scratch = scratch_make();
    const char *path = scratch_path(&scratch, "token");
    struct stat status;
    mode_t kept = umask(0);
    assert_int_equal(os_file_write(path, "x", 1, true, NULL), 0);
    umask(kept);
    assert_int_equal(stat(path, &status), 0);
    assert_int_equal(status.st_mode & 0777, 0600);
}

static void a_copy_keeps_its_mode_but_no_set_user_id(void **state)
{
    (void)state;
    CLEANUP(scratch_done) struct scratch scratch = scratch_make();
    const char *from = scratch_write(&scratch, "from", "x");
    const char *to = scratch_path(&scratch, "to");
    assert_int_equal(chmod(from, 04755), 0);
    assert_int_equal(os_file_copy(from, to, NULL), 0);
    struct stat status;
    assert_int_equal(stat(to, &status), 0);
    assert_int_equal(status.st_mode & 07777, 0755);
}

/* In a child: a limit on the size of files stands for a full disk. */
static int write_without_room(const char *path)
{
    static char large[PAGE * PAGES];
    const struct rlimit limit = {PAGE, PAGE};
    signal(SIGXFSZ, SIG_IGN);
    if (setrlimit(RLIMIT_FSIZE, &limit) != 0) {
        return 1;
    }
    return os_file_write(path, large, sizeof large, false, NULL) == ERR_IO ? 0 : 2;
}

static void a_full_disk_leaves_the_old_file_and_no_other(void **state)
{
    (void)state;
    CLEANUP(scratch_done) struct scratch scratch = scratch_make();
    const char *path = scratch_write(&scratch, "file", "old");
    pid_t child = fork();
    if (child == 0) {
        _exit(write_without_room(path));
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
    assert_string_equal(scratch_read(&scratch, "file"), "old");
    assert_int_equal(scratch_count(&scratch, "."), 1);
}

static int list_as_nobody(const char *path)
{
    CLEANUP(arena_done) struct arena arena = {0};
    struct os_dir_list list;
    if (geteuid() == 0 &&
        (setresgid(65534, 65534, 65534) != 0 || setresuid(65534, 65534, 65534) != 0)) {
        return 1;
    }
    return os_dir_read(&arena, path, 10, &list, NULL) == ERR_PERMISSION ? 0 : 2;
}

static void an_unreadable_directory_is_an_error_not_empty(void **state)
{
    (void)state;
    CLEANUP(scratch_done) struct scratch scratch = scratch_make();
    const char *path = scratch_directory(&scratch, "closed");
    assert_int_equal(chmod(path, 0), 0);
    pid_t child = fork();
    if (child == 0) {
        _exit(list_as_nobody(path));
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    chmod(path, 0700);
    assert_int_equal(WEXITSTATUS(status), 0);
}

static void a_crowded_directory_costs_no_more_than_its_limit(void **state)
{
    (void)state;
    CLEANUP(scratch_done) struct scratch scratch = scratch_make();
    for (int i = 0; i < 20000; i++) {
        char *name = arena_printf(&scratch.arena, "%s/%d", scratch.path, i);
        int fd = open(name, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
        assert_true(fd >= 0);
        close(fd);
    }
    CLEANUP(arena_done) struct arena arena = {0};
    struct os_dir_list list;
    assert_int_equal(os_dir_read(&arena, scratch.path, 1000, &list, NULL), 0);
    assert_int_equal(list.count, 1000);
    assert_true(list.cut);
    assert_true(arena.bytes < 1000 * 200);
}

int main(int argc, char **argv)
{
    if (argc == 3) {
        return fault_elsewhere(argv[2], strcmp(argv[1], "caught") == 0);
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_pipe_named_like_a_library_is_refused_at_once),
        cmocka_unit_test(a_device_is_refused),
        cmocka_unit_test(files_of_the_kernel_without_a_size_are_read),
        cmocka_unit_test(a_link_loop_is_a_limit),
        cmocka_unit_test(links_are_listed_as_links),
        cmocka_unit_test(a_file_that_shrinks_while_mapped_is_an_error),
        cmocka_unit_test(a_thread_that_blocks_the_signal_is_guarded_too),
        cmocka_unit_test(maps_inside_maps_fail_one_by_one),
        cmocka_unit_test(threads_lose_their_files_independently),
        cmocka_unit_test(a_fault_elsewhere_goes_to_whoever_was_there_before),
        cmocka_unit_test(a_fault_elsewhere_ends_the_process),
        cmocka_unit_test(a_private_file_is_the_owners_alone),
        cmocka_unit_test(a_copy_keeps_its_mode_but_no_set_user_id),
        cmocka_unit_test(a_full_disk_leaves_the_old_file_and_no_other),
        cmocka_unit_test(an_unreadable_directory_is_an_error_not_empty),
        cmocka_unit_test(a_crowded_directory_costs_no_more_than_its_limit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
