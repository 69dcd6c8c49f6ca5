#ifndef TESTS_INVENTORY_POSIX_DISK_H
#define TESTS_INVENTORY_POSIX_DISK_H

/* A made-up machine: a directory of its own that a scan takes for its root. Paths are as the
   machine sees them ("/usr/local/cuda"). What fails here fails the test. */

#include <stdbool.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/text.h"
#include "inventory/inventory.h"
#include "os/file.h"
#include "os/path.h"
#include "tests/test.h"

struct disk {
    struct arena arena;
    char *root;
    struct inventory inventory; /* of the last disk_scan() */
};

static inline struct disk disk_make(void)
{
    char path[] = "/tmp/cudnnd-inventory-XXXXXX";
    struct disk disk = {0};
    assert_non_null(mkdtemp(path));
    disk.root = arena_strdup(&disk.arena, path);
    return disk;
}

static inline void disk_remove(struct arena *arena, const char *path)
{
    struct os_dir_list list;
    if (os_dir_read(arena, path, 100000, &list, NULL) == 0) {
        for (size_t i = 0; i < list.count; i++) {
            char *entry = os_path_join(arena, path, list.entries[i].name);
            if (list.entries[i].type == OS_FILE_DIRECTORY) {
                disk_remove(arena, entry);
            } else {
                unlink(entry);
            }
        }
    }
    rmdir(path);
}

static inline void disk_done(struct disk *disk)
{
    disk_remove(&disk->arena, disk->root);
    arena_done(&disk->arena);
}

/* Where it lies, its parent made. */
static inline char *disk_path(struct disk *disk, const char *path)
{
    char *full = arena_printf(&disk->arena, "%s%s", disk->root, path);
    assert_int_equal(os_dir_make(os_path_parent(&disk->arena, full), NULL), 0);
    return full;
}

static inline void disk_bytes(struct disk *disk, const char *path, const void *data, size_t size)
{
    assert_int_equal(os_file_write(disk_path(disk, path), data, size, false, NULL), 0);
}

static inline void disk_text(struct disk *disk, const char *path, const char *text)
{
    disk_bytes(disk, path, text, strlen(text));
}

static inline void disk_directory(struct disk *disk, const char *path)
{
    assert_int_equal(os_dir_make(disk_path(disk, path), NULL), 0);
}

static inline void disk_link(struct disk *disk, const char *path, const char *target)
{
    assert_int_equal(symlink(target, disk_path(disk, path)), 0);
}

static inline void disk_unlink(struct disk *disk, const char *path)
{
    assert_int_equal(unlink(disk_path(disk, path)), 0);
}

static inline void disk_put(uint8_t *image, size_t at, uint64_t value, size_t size)
{
    for (size_t i = 0; i < size; i++) {
        image[at + i] = (uint8_t)(value >> (8 * i));
    }
}

/* The smallest ELF file that is a shared library: header, two segments, a dynamic section with
   the names of the texts, and the text that says which CUDA it loads (0 = none). Has no version
   of its own, as most of cuDNN's Linux libraries. */
static inline void disk_elf(struct disk *disk, const char *path, const char *soname,
                            uint16_t machine, int cuda)
{
    enum { SEGMENTS = 64, DYNAMIC = 64 + 2 * 56, STRINGS = DYNAMIC + 4 * 16, SIZE = 512 };
    uint8_t image[SIZE] = {0x7f, 'E', 'L', 'F', 2, 1, 1};
    char texts[SIZE - STRINGS];
    snprintf(texts, sizeof texts, "%c%s%c%s%d%c", 0, soname, 0,
             cuda > 0 ? "libcublasLt.so." : "nothing", cuda, 0);
    memcpy(image + STRINGS, texts, sizeof texts);
    disk_put(image, 16, 3, 2); /* ET_DYN */
    disk_put(image, 18, machine, 2);
    disk_put(image, 20, 1, 4);
    disk_put(image, 32, SEGMENTS, 8);
    disk_put(image, 52, 64, 2);
    disk_put(image, 54, 56, 2);
    disk_put(image, 56, 2, 2);
    disk_put(image, SEGMENTS, 1 | UINT64_C(4) << 32, 8); /* PT_LOAD, read-only, all of it */
    disk_put(image, SEGMENTS + 32, SIZE, 8);
    disk_put(image, SEGMENTS + 40, SIZE, 8);
    disk_put(image, SEGMENTS + 56, 2 | UINT64_C(4) << 32, 8); /* PT_DYNAMIC */
    disk_put(image, SEGMENTS + 56 + 8, DYNAMIC, 8);
    disk_put(image, SEGMENTS + 56 + 16, DYNAMIC, 8);
    disk_put(image, SEGMENTS + 56 + 32, 4 * 16, 8);
    const uint64_t entries[][2] = {{5, STRINGS}, {10, sizeof texts}, {14, 1}, {0, 0}};
    for (size_t i = 0; i < 4; i++) { /* DT_STRTAB, DT_STRSZ, DT_SONAME */
        disk_put(image, DYNAMIC + 16 * i, entries[i][0], 8);
        disk_put(image, DYNAMIC + 16 * i + 8, entries[i][1], 8);
    }
    disk_bytes(disk, path, image, sizeof image);
}

enum { DISK_X86_64 = 62, DISK_ARM64 = 183 };

static const char *const disk_components[] = {"",
                                              "_ops",
                                              "_cnn",
                                              "_adv",
                                              "_graph",
                                              "_heuristic",
                                              "_engines_precompiled",
                                              "_engines_runtime_compiled"};
enum { DISK_COMPONENTS = sizeof disk_components / sizeof *disk_components };

/* One library of cuDNN 9 as NVIDIA's archives have it: the file named after the full version (or,
   with NULL, after the major only, as in wheels), the loader's link and the linker's. */
static inline void disk_library(struct disk *disk, const char *directory, const char *component,
                                const char *version, int cuda)
{
    struct arena *arena = &disk->arena;
    char *soname = arena_printf(arena, "libcudnn%s.so.9", component);
    char *loader = arena_printf(arena, "%s/%s", directory, soname);
    if (version == NULL) {
        disk_elf(disk, loader, soname, DISK_X86_64, cuda);
        return;
    }
    char *file = arena_printf(arena, "libcudnn%s.so.%s", component, version);
    disk_elf(disk, arena_printf(arena, "%s/%s", directory, file), soname, DISK_X86_64, cuda);
    disk_link(disk, loader, file);
    disk_link(disk, arena_printf(arena, "%s/libcudnn%s.so", directory, component), soname);
}

static inline void disk_cudnn(struct disk *disk, const char *directory, const char *version,
                              int cuda)
{
    for (size_t i = 0; i < DISK_COMPONENTS; i++) {
        disk_library(disk, directory, disk_components[i], version, cuda);
    }
}

static inline void disk_toolkit(struct disk *disk, const char *root, const char *version)
{
    char *text = arena_printf(&disk->arena, "{\"cuda\": {\"version\": \"%s\"}}", version);
    disk_text(disk, arena_printf(&disk->arena, "%s/version.json", root), text);
}

/* Looks at it without this process's environment, in two more directories if given. */
static inline void disk_scan_with(struct disk *disk, struct inventory_request request)
{
    struct err err = {0};
    request.root = disk->root;
    assert_int_equal(inventory_scan(&disk->arena, &request, &disk->inventory, &err), 0);
}

static inline void disk_scan(struct disk *disk, const char *extra_root)
{
    disk_scan_with(disk, (struct inventory_request){
                             .extra_roots = &extra_root,
                             .extra_root_count = extra_root == NULL ? 0 : 1,
                         });
}

static inline const struct install *disk_install(const struct disk *disk, const char *path)
{
    for (size_t i = 0; i < disk->inventory.install_count; i++) {
        if (text_equal(disk->inventory.installs[i].path, path)) {
            return &disk->inventory.installs[i];
        }
    }
    fail_msg("no install in %s", path);
    return NULL;
}

static inline const struct library *disk_find(const struct install *install, const char *file)
{
    for (size_t i = 0; i < install->library_count; i++) {
        if (text_equal(install->libraries[i].file, file)) {
            return &install->libraries[i];
        }
    }
    fail_msg("no library %s in %s", file, install->path);
    return NULL;
}

static inline bool disk_has_problem(const struct disk *disk, enum problem_kind kind,
                                    const char *path)
{
    for (size_t i = 0; i < disk->inventory.problem_count; i++) {
        if (disk->inventory.problems[i].kind == kind &&
            text_equal(disk->inventory.problems[i].path, path)) {
            return true;
        }
    }
    return false;
}

#define assert_version(version_, text_)                                                            \
    do {                                                                                           \
        char shown_[VERSION_TEXT_SIZE];                                                            \
        assert_string_equal(version_text(version_, 3, shown_), text_);                             \
    } while (0)

#endif
