#include "inventory/identify.h"

#include <string.h>

#include "base/text.h"
#include "inventory/cache.h"
#include "inventory/elf.h"
#include "inventory/files.h"
#include "inventory/pe.h"
#include "os/file.h"

/* Names of CUDA's libraries stand within the first megabytes of a file's read-only data; the rest,
   in the engines, is tables. Seen: at most 5 MB in NVIDIA's files of 8.9 to 9.28. */
enum { STRINGS_BYTES = 8 * 1024 * 1024 };

/* ---- which CUDA a file was built for ---- */

struct library_name {
    const char *before, *after; /* the digits between them are the major */
};

static const struct library_name library_names[] = {
    {"cublasLt64_", ".dll"},
    {"cublas64_", ".dll"},
    {"libcublasLt.so.", ""},
    {"libcublas.so.", ""},
};

/* Majors of one or two digits: "cublas64_100.dll" of CUDA 10.0 counts as 10 as well. */
static int major_at(struct bytes strings, uint64_t at, const char *after)
{
    char digits[4] = "";
    size_t count = 0;
    uint8_t c = 0;
    while (count < 3 && bytes_u8(strings, at + count, &c) && c >= '0' && c <= '9') {
        digits[count++] = (char)c;
    }
    size_t after_length = strlen(after);
    /* What follows the digits: ".dll" and the end of the text, or at once its end. */
    if (count == 0 || !bytes_has(strings, at + count, after_length + 1) ||
        memcmp(strings.data + at + count, after, after_length) != 0 ||
        strings.data[at + count + after_length] != '\0') {
        return 0;
    }
    uint64_t value;
    if (!text_to_u64(digits, 999, &value)) {
        return 0;
    }
    return (int)(value >= 100 ? value / 10 : value);
}

/* 0 when nothing is named, or libraries of two majors are. */
static int cuda_major(struct bytes strings)
{
    int found = 0;
    strings.size = strings.size < STRINGS_BYTES ? strings.size : STRINGS_BYTES;
    for (size_t i = 0; i < sizeof library_names / sizeof *library_names; i++) {
        const char *before = library_names[i].before;
        size_t length = strlen(before);
        uint64_t at = 0;
        while (bytes_find(strings, at, before, length, &at)) {
            int major = major_at(strings, at + length, library_names[i].after);
            if (major != 0 && found != 0 && major != found) {
                return 0;
            }
            found = major != 0 ? major : found;
            at += length;
        }
    }
    return found;
}

/* ---- files that are no libraries ---- */

static const char *what_it_is(struct bytes bytes)
{
    static const struct {
        const char *begins;
        const char *problem;
    } known[] = {
        {"version https://git-lfs", "is a Git LFS pointer, not a library: fetch the real file"},
        {"<!DOCTYPE", "is a web page, not a library: the download went wrong"},
        {"<!doctype", "is a web page, not a library: the download went wrong"},
        {"<html", "is a web page, not a library: the download went wrong"},
        {"<HTML", "is a web page, not a library: the download went wrong"},
        {"PK\x03\x04", "is a zip archive, not a library: unpack it"},
        {"!<arch>", "is a static or import library, not one that can be loaded"},
        {"\x1f\x8b", "is a gzip archive, not a library: unpack it"},
        {"\xfd"
         "7zXZ",
         "is an xz archive, not a library: unpack it"},
    };
    if (bytes.size == 0) {
        return "is empty";
    }
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        size_t length = strlen(known[i].begins);
        if (bytes_has(bytes, 0, length) && memcmp(bytes.data, known[i].begins, length) == 0) {
            return known[i].problem;
        }
    }
    return "is no library: it begins like none";
}

static void identify_any(struct arena *arena, struct bytes bytes, const char *export_name,
                         bool names_cuda, struct identity *identity)
{
    struct bytes strings = {0};
    if (pe_is(bytes)) {
        pe_identify(arena, bytes, export_name, identity, &strings);
    } else if (elf_is(bytes)) {
        elf_identify(arena, bytes, export_name, identity, &strings);
    } else {
        identity->problem = what_it_is(bytes);
    }
    if (names_cuda && identity->is_library) {
        identity->cuda_major = cuda_major(strings);
    }
}

void identify_bytes(struct arena *arena, struct bytes bytes, const char *export_name,
                    struct identity *out_identity)
{
    struct identity identity = {.size_bytes = bytes.size};
    identify_any(arena, bytes, export_name, true, &identity);
    *out_identity = identity;
}

/* ---- from the disk ---- */

struct reading {
    struct arena *arena; /* kept when the reading is left by a jump: nothing is lost but memory */
    const struct cudnn_file *row;
    struct identity identity;
};

static int read_mapped(struct bytes bytes, const struct os_file_info *info, void *context,
                       struct err *err)
{
    (void)err;
    struct reading *reading = context;
    struct identity identity = {.size_bytes = info->size_bytes,
                                .modified_at_ms = info->modified_at_ms};
    identify_any(reading->arena, bytes, reading->row == NULL ? NULL : reading->row->version_export,
                 reading->row != NULL && reading->row->names_cuda, &identity);
    reading->identity = identity;
    return 0;
}

/* libcudnn.so.9.5.0 says its version by its name; a weaker witness than the bytes. */
static void version_from_name(const char *file_name, struct identity *identity)
{
    struct files_name name;
    if (identity->is_library && !version_known(identity->version) &&
        files_parse_name(file_name, &name) && version_known(name.version)) {
        identity->version = name.version;
        identity->version_source = VERSION_SOURCE_FILE_NAME;
    }
}

int identify_library(struct arena *arena, struct inventory_cache *cache, const char *system_path,
                     const char *file_name, struct identity *out_identity, struct err *err)
{
    struct os_file_info info;
    int code = os_file_stat(system_path, &info, err);
    if (code != 0) {
        return code;
    }
    if (info.type == OS_FILE_DIRECTORY) {
        return err_set(err, ERR_FORMAT, "is a directory");
    }
    if (info.type != OS_FILE_REGULAR) {
        return err_set(err, ERR_FORMAT, "is a pipe or device");
    }
    if (cache_get(cache, arena, system_path, &info, out_identity)) {
        return 0;
    }
    struct reading reading = {.arena = arena, .row = files_find(file_name)};
    code = os_file_with_map(system_path, read_mapped, &reading, err);
    if (code != 0) {
        return code;
    }
    version_from_name(file_name, &reading.identity);
    if (info.size_bytes == reading.identity.size_bytes &&
        info.modified_at_ms == reading.identity.modified_at_ms) {
        cache_put(cache, system_path, &info, &reading.identity); /* it did not change meanwhile */
    }
    *out_identity = reading.identity;
    return 0;
}
