/* How much of NVIDIA's own files is read to identify them: what was dropped from the page cache
   before and is in it after. CUDNND_TEST_WHEELS: where they are unpacked. */
#include "tests/test.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/text.h"
#include "inventory/identify.h"
#include "os/file.h"
#include "os/path.h"

enum { LARGE_BYTES = 32 * 1024 * 1024, MOST_READ_BYTES = 16 * 1024 * 1024 };

/* Bytes of the file that are in the page cache; the mapping itself reads nothing. */
static size_t cached_bytes(int fd, size_t size)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    size_t pages = (size + page - 1) / page;
    unsigned char *present = malloc(pages);
    void *map = mmap(NULL, size, PROT_READ, MAP_SHARED, fd, 0);
    size_t count = 0;
    assert_non_null(present);
    assert_true(map != MAP_FAILED);
    assert_int_equal(mincore(map, size, present), 0);
    for (size_t i = 0; i < pages; i++) {
        count += present[i] & 1;
    }
    munmap(map, size);
    free(present);
    return count * page;
}

static size_t largest_read, largest_size, examined;

static void examine(const char *path, size_t size)
{
    struct arena arena = {0};
    struct identity identity;
    struct err err = {0};
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    assert_true(fd >= 0);
    fdatasync(fd); /* dirty pages are not dropped */
    posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
    size_t before = cached_bytes(fd, size);
    assert_int_equal(identify_library(&arena, NULL, path, os_path_name(path), &identity, &err), 0);
    assert_true(identity.is_library);
    size_t after = cached_bytes(fd, size);
    close(fd);
    arena_done(&arena);
    if (before > size / 2) {
        return; /* somebody else has it mapped, or the file system keeps it: nothing to be seen */
    }
    size_t read = after - before;
    if (read > MOST_READ_BYTES) {
        fail_msg("%zu of %zu bytes of %s were read", read, size, path);
    }
    if (read > largest_read) {
        largest_read = read;
    }
    if (size > largest_size) {
        largest_size = size;
    }
    examined++;
}

static void examine_below(const char *directory)
{
    struct arena arena = {0};
    struct os_dir_list list = {0};
    if (os_dir_read(&arena, directory, 10000, &list, NULL) == 0) {
        for (size_t i = 0; i < list.count; i++) {
            const char *path = os_path_join(&arena, directory, list.entries[i].name);
            struct os_file_info info;
            if (list.entries[i].type == OS_FILE_DIRECTORY) {
                examine_below(path);
            } else if ((text_has_suffix(path, ".dll") || strstr(path, ".so.") != NULL) &&
                       os_file_stat(path, &info, NULL) == 0 && info.size_bytes > LARGE_BYTES) {
                examine(path, (size_t)info.size_bytes);
            }
        }
    }
    arena_done(&arena);
}

static void of_a_large_library_only_little_is_read(void **state)
{
    const char *wheels = getenv("CUDNND_TEST_WHEELS");
    (void)state;
    if (wheels == NULL || wheels[0] == '\0') {
        skip();
    }
    examine_below(wheels);
    if (examined == 0) {
        skip();
    }
    print_message("%zu libraries of up to %zu MiB: at most %zu KiB of one were read\n", examined,
                  largest_size >> 20, largest_read >> 10);
}

RUN_TESTS(cmocka_unit_test(of_a_large_library_only_little_is_read))
