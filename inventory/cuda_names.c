#include "inventory/cuda_names.h"

#include <string.h>

#include "base/text.h"

enum {
    MAX_NAME = 32,
    WINDOW = 64 * 1024, /* searched for both stems while it is in the processor's cache */
    OLDEST_MAJOR = 7,
    NEWEST_MAJOR = 64 /* from 65 on a two-digit number is an old major and minor: 6.5, 8.0, 9.2 */
};

/* How the names begin. `joined`: always major and minor in one number, 112 and 120. */
static const struct {
    const char *stem;
    bool windows, joined;
} forms[] = {
    {"cublasLt64_", true, false},    {"cublas64_", true, false},
    {"nvrtc64_", true, true},        {"libcublasLt.so.", false, false},
    {"libcublas.so.", false, false}, {"libnvrtc.so.", false, false},
};

static bool read_number(const char **text, unsigned *out_number, unsigned *out_digits)
{
    unsigned number = 0;
    unsigned digits = 0;
    for (; **text >= '0' && **text <= '9'; (*text)++) {
        number = number * 10 + (unsigned)(**text - '0');
        if (++digits > 4) {
            return false;
        }
    }
    *out_number = number;
    *out_digits = digits;
    return digits > 0;
}

static int checked(unsigned major)
{
    return major >= OLDEST_MAJOR && major <= NEWEST_MAJOR ? (int)major : 0;
}

/* "12.dll", "100.dll", "120_0.dll". CUDA 10.1 and later: cublas64_10; before: cublas64_100, _92. */
static int windows_major(const char *rest, bool joined)
{
    unsigned number;
    unsigned digits;
    unsigned patch;
    unsigned patch_digits;
    if (!read_number(&rest, &number, &digits)) {
        return 0;
    }
    if (joined && *rest == '_') {
        rest++;
        if (!read_number(&rest, &patch, &patch_digits)) {
            return 0;
        }
    }
    if (!text_equal_nocase(rest, ".dll")) {
        return 0;
    }
    bool with_minor = joined || digits == 3 || (digits == 2 && number > NEWEST_MAJOR);
    return checked(with_minor ? number / 10 : number);
}

/* "13", "11.2", "10.2.1.243" */
static int linux_major(const char *rest)
{
    unsigned major;
    unsigned number;
    unsigned digits;
    if (!read_number(&rest, &major, &digits)) {
        return 0;
    }
    while (*rest == '.') {
        rest++;
        if (!read_number(&rest, &number, &digits)) {
            return 0;
        }
    }
    return *rest == '\0' ? checked(major) : 0;
}

int cuda_names_major(const char *name)
{
    for (size_t i = 0; i < sizeof forms / sizeof forms[0]; i++) {
        const char *stem = forms[i].stem;
        if (forms[i].windows ? text_has_prefix_nocase(name, stem) : text_has_prefix(name, stem)) {
            const char *rest = name + strlen(stem);
            return forms[i].windows ? windows_major(rest, forms[i].joined) : linux_major(rest);
        }
    }
    return 0;
}

void cuda_names_add(struct cuda_names *names, const char *name)
{
    int major = cuda_names_major(name);
    if (major == 0) {
        return;
    }
    if (names->major != 0 && names->major != major) {
        names->conflict = true;
    }
    names->major = major;
}

static bool is_text(struct bytes bytes, uint64_t at, const char *text)
{
    struct bytes part;
    size_t length = strlen(text);
    return bytes_part(bytes, at, length, &part) && memcmp(part.data, text, length) == 0;
}

/* A stem was found at `at`: takes "lib" before it too, and looks whether a whole text or the last
   part of a path begins there and is a name. */
static void add_candidate(struct cuda_names *names, struct bytes bytes, uint64_t at)
{
    char name[MAX_NAME + 1] = "";
    uint8_t byte;
    if (at >= 3 && is_text(bytes, at - 3, "lib")) {
        at -= 3;
    }
    if (at > 0 && bytes_u8(bytes, at - 1, &byte) && byte != '\0' && byte != '/' && byte != '\\') {
        return;
    }
    for (unsigned i = 0; i <= MAX_NAME && bytes_u8(bytes, at + i, &byte); i++) {
        name[i] = (char)byte;
        if (byte == '\0') {
            cuda_names_add(names, name);
            return;
        }
    }
}

void cuda_names_search(struct cuda_names *names, struct bytes bytes)
{
    static const char *const stems[] = {"cublas", "nvrtc"};
    enum { LONGEST_STEM = 6 };
    for (uint64_t start = 0; start < bytes.size; start += WINDOW) {
        uint64_t left = bytes.size - start;
        struct bytes window = {
            .data = bytes.data + start,
            .size = left < WINDOW + LONGEST_STEM - 1 ? left : WINDOW + LONGEST_STEM - 1,
        };
        for (size_t i = 0; i < sizeof stems / sizeof stems[0]; i++) {
            uint64_t at = 0;
            while (bytes_find(window, at, stems[i], strlen(stems[i]), &at)) {
                add_candidate(names, bytes, start + at);
                at++;
            }
        }
    }
}

int cuda_names_result(const struct cuda_names *names)
{
    return names->conflict ? 0 : names->major;
}
