#ifndef TESTS_INVENTORY_LIBRARY_BYTES_H
#define TESTS_INVENTORY_LIBRARY_BYTES_H

/* Makes the bytes of small PE and ELF libraries from a description, and says where in them the
   things lie that a test damages. Addresses differ from file offsets, as in real files, so that a
   reader that confuses the two notices. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/bytes.h"

enum { LIBRARY_BYTES_SIZE = 16384, LIBRARY_BYTES_LIST = 8 };

struct library_bytes {
    uint8_t data[LIBRARY_BYTES_SIZE];
    size_t size;
    struct { /* file offsets; 0 = it has none */
        size_t coff, optional, directories, sections;
        size_t export_directory, export_functions, export_names, export_ordinals;
        size_t imports, delay_imports;
        size_t resources, version_info;
    } pe;
    struct {
        size_t program_headers, dynamic, symbols, strings, hash, gnu_hash, section_headers;
        size_t symbol_count;
    } elf;
};

enum { /* where a PE's sections come to lie in memory */
       LIBRARY_BYTES_RDATA_RVA = 0x3000,
       LIBRARY_BYTES_RSRC_RVA = 0x9000
};

struct exported {
    const char *name; /* NULL ends the list */
    uint32_t value;
    const char *forward; /* PE: "OTHER.symbol" in place of a value */
    bool undefined;      /* ELF: asked for, not defined here */
};

struct pe_parts {
    uint16_t machine; /* 0 = AMD64 */
    bool pe32;        /* instead of PE32+ */
    bool is_program;
    uint16_t version[4]; /* a version resource is there when this or the name is */
    const char *original_name;
    const char *dll_name; /* an export directory is there when this is */
    /* In the order in which the name table shall have them; the loader wants them sorted. */
    struct exported exports[LIBRARY_BYTES_LIST];
    const char *imports[LIBRARY_BYTES_LIST];
    const char *delay_imports[LIBRARY_BYTES_LIST];
    const char *texts[LIBRARY_BYTES_LIST]; /* in .rdata */
};
void library_bytes_pe(struct library_bytes *out, const struct pe_parts *parts);

struct elf_parts {
    uint16_t machine; /* 0 = x86-64 */
    uint16_t type;    /* 0 = shared object */
    bool no_dynamic;
    bool no_sections;
    bool sysv_hash, no_gnu_hash;
    const char *soname, *run_path, *rpath;
    struct exported symbols[LIBRARY_BYTES_LIST];
    const char *needed[LIBRARY_BYTES_LIST];
    const char *texts[LIBRARY_BYTES_LIST]; /* in .rodata */
};
void library_bytes_elf(struct library_bytes *out, const struct elf_parts *parts);

struct bytes library_bytes_of(const struct library_bytes *library);

/* The first `size` bytes in a block of their own, so that a sanitizer sees a read behind them. The
   caller frees `data`. */
struct bytes library_bytes_cut(const struct library_bytes *library, size_t size);

void library_bytes_put(struct library_bytes *library, size_t at, unsigned width, uint64_t value);
uint64_t library_bytes_get(const struct library_bytes *library, size_t at, unsigned width);

#endif
