#include "inventory/not_library.h"

#include <string.h>

#include "base/text.h"

enum { LOOK = 512 };

enum format not_library_format(struct bytes bytes)
{
    struct bytes start;
    if (bytes_part(bytes, 0, 2, &start) && memcmp(start.data, "MZ", 2) == 0) {
        return FORMAT_PE;
    }
    if (bytes_part(bytes, 0, 4, &start) && memcmp(start.data,
                                                  "\x7F"
                                                  "ELF",
                                                  4) == 0) {
        return FORMAT_ELF;
    }
    return FORMAT_OTHER;
}

/* First bytes -> what it is. The archives' are from their format documents. */
static const struct {
    const char *bytes;
    size_t size;
    const char *problem;
} signatures[] = {
    {"PK\x03\x04", 4, "is a zip archive, not a library"},
    {"PK\x05\x06", 4, "is an empty zip archive, not a library"},
    {"\x1F\x8B", 2, "is a gzip archive, not a library"},
    {"BZh", 3, "is a bzip2 archive, not a library"},
    {"\xFD"
     "7zXZ",
     5, "is an xz archive, not a library"},
    {"\x28\xB5\x2F\xFD", 4, "is a zstd archive, not a library"},
    {"7z\xBC\xAF\x27\x1C", 6, "is a 7z archive, not a library"},
    {"MSCF", 4, "is a cabinet archive, not a library"},
    {"\xD0\xCF\x11\xE0", 4, "is an installer package, not a library"},
    {"!<arch>\n", 8, "is a static or import library, not one that can be loaded"},
    {"!<thin>\n", 8, "is a static library, not one that can be loaded"},
    {"\xCF\xFA\xED\xFE", 4, "is a macOS library"},
    {"\xCA\xFE\xBA\xBE", 4, "is a macOS library"},
    {"version https://git-lfs", 23, "is a Git LFS pointer, not a library"},
    {"INPUT", 5, "is a linker script, not a library"},
    {"/* GNU ld script", 16, "is a linker script, not a library"},
};

/* What a text begins with, behind a byte order mark and blanks; case does not matter. */
static const struct {
    const char *start, *problem;
} texts[] = {
    {"<!doctype html", "is a web page, not a library"}, {"<html", "is a web page, not a library"},
    {"<head", "is a web page, not a library"},          {"<!--", "is a web page, not a library"},
    {"<?xml", "is an XML document, not a library"},     {"{", "is a JSON document, not a library"},
};

/* The first bytes as NUL-terminated text, without mark and blanks at the start. */
static const char *start_as_text(struct bytes start, char out[LOOK + 1])
{
    memcpy(out, start.data, (size_t)start.size);
    out[start.size] = '\0';
    const char *text = out;
    if (text_has_prefix(text, "\xEF\xBB\xBF")) {
        text += 3;
    }
    return text + strspn(text, " \t\r\n");
}

static bool only_zeros(struct bytes start)
{
    for (uint64_t i = 0; i < start.size; i++) {
        if (start.data[i] != 0) {
            return false;
        }
    }
    return true;
}

/* Printable characters and line ends, well-formed UTF-8 but for a character cut at the end. */
static bool is_text(char *text, size_t size)
{
    if (strlen(text) != size) {
        return false;
    }
    text_utf8_trim(text);
    for (const char *c = text; *c != '\0'; c++) {
        if (((unsigned char)*c < 0x20 && strchr("\t\r\n\f", *c) == NULL) || *c == 0x7F) {
            return false;
        }
    }
    return text_utf8_valid(text, strlen(text));
}

const char *not_library_problem(struct bytes bytes)
{
    char buffer[LOOK + 1];
    struct bytes start;
    if (bytes.size == 0) {
        return "is empty";
    }
    bytes_part(bytes, 0, bytes.size < LOOK ? bytes.size : LOOK, &start);
    for (size_t i = 0; i < sizeof signatures / sizeof signatures[0]; i++) {
        struct bytes part;
        if (bytes_part(start, 0, signatures[i].size, &part) &&
            memcmp(part.data, signatures[i].bytes, signatures[i].size) == 0) {
            return signatures[i].problem;
        }
    }
    if (only_zeros(start)) {
        return "holds zeros instead of a library, as an interrupted copy does";
    }
    const char *text = start_as_text(start, buffer);
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        if (text_has_prefix_nocase(text, texts[i].start)) {
            return texts[i].problem;
        }
    }
    return is_text(buffer, (size_t)start.size) ? "is a text, not a library"
                                               : "is neither a Windows nor a Linux library";
}
