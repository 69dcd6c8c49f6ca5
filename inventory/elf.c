#include "inventory/elf.h"

#include <string.h>

#include "base/text.h"
#include "inventory/read_text.h"

enum { /* "ELF Header" */
       EI_CLASS = 4,
       EI_DATA = 5,
       EI_VERSION = 6,
       CLASS_32 = 1,
       CLASS_64 = 2,
       DATA_LITTLE = 1,
       DATA_BIG = 2,
       VERSION_CURRENT = 1,
       E_TYPE = 16,
       E_MACHINE = 18,
       E_PHOFF = 32,
       E_SHOFF = 40,
       E_PHENTSIZE = 54,
       E_PHNUM = 56,
       E_SHENTSIZE = 58,
       E_SHNUM = 60,
       E_SHSTRNDX = 62,
       HEADER_SIZE = 64,
       IDENT_AND_MACHINE = 20 /* as far as both classes are the same */
};
enum { /* "Program Header", "Section Header", "Symbol Table" */
       PHDR_SIZE = 56,
       PT_LOAD = 1,
       PT_DYNAMIC = 2,
       PF_R = 4,
       SHDR_SIZE = 64,
       SHT_NOBITS = 8,
       SYMBOL_SIZE = 24,
       DYNAMIC_SIZE = 16
};
enum { /* "Dynamic Section" */
       DT_NULL = 0,
       DT_NEEDED = 1,
       DT_HASH = 4,
       DT_STRTAB = 5,
       DT_SYMTAB = 6,
       DT_STRSZ = 10,
       DT_SONAME = 14,
       DT_RPATH = 15,
       DT_RUNPATH = 29
};
#define DT_GNU_HASH UINT64_C(0x6FFFFEF5)
enum {
    MAX_DYNAMIC = 4096,
    MAX_NEEDED = 512,
    MAX_SECTIONS = 4096,
    MAX_CHAIN = 65536, /* symbols in one hash bucket */
    MAX_NAME = 512,
    MAX_PATH_TEXT = 16384
};

struct segment {
    uint32_t type, flags;
    uint64_t offset, address, file_size;
};

static const char *ends_early(struct arena *arena, struct bytes file, const char *what,
                              uint64_t start, uint64_t size)
{
    uint64_t needed = size > UINT64_MAX - start ? UINT64_MAX : start + size;
    return arena_printf(arena, "ends before %s (%llu of %llu bytes)", what,
                        (unsigned long long)file.size, (unsigned long long)needed);
}

static bool segment_at(const struct elf *elf, uint32_t index, struct segment *out)
{
    uint64_t at = elf->program_headers + (uint64_t)index * elf->program_size;
    return index < elf->program_count && bytes_u32(elf->file, at, &out->type) &&
           bytes_u32(elf->file, at + 4, &out->flags) &&
           bytes_u64(elf->file, at + 8, &out->offset) &&
           bytes_u64(elf->file, at + 16, &out->address) &&
           bytes_u64(elf->file, at + 32, &out->file_size);
}

static const char *check_segments(struct arena *arena, const struct elf *elf)
{
    if (elf->program_count > 0 && elf->program_size < PHDR_SIZE) {
        return "has a damaged header: its program headers are too short";
    }
    uint64_t table_size = (uint64_t)elf->program_count * elf->program_size;
    if (!bytes_has(elf->file, elf->program_headers, table_size)) {
        return ends_early(arena, elf->file, "its program headers do", elf->program_headers,
                          table_size);
    }
    for (uint32_t i = 0; i < elf->program_count; i++) {
        struct segment segment;
        if (segment_at(elf, i, &segment) && segment.type == PT_LOAD &&
            !bytes_has(elf->file, segment.offset, segment.file_size)) {
            char what[32];
            snprintf(what, sizeof what, "segment %u does", (unsigned)i);
            return ends_early(arena, elf->file, what, segment.offset, segment.file_size);
        }
    }
    return NULL;
}

/* Section headers are the last thing in the files that linkers write. */
static const char *check_section_headers(struct arena *arena, const struct elf *elf)
{
    uint64_t table_size = (uint64_t)elf->section_count * elf->section_size;
    if (elf->section_headers != 0 && !bytes_has(elf->file, elf->section_headers, table_size)) {
        return ends_early(arena, elf->file, "its section headers do", elf->section_headers,
                          table_size);
    }
    return NULL;
}

/* In the file's own byte order. */
static uint16_t read_u16(const struct elf *elf, uint64_t offset)
{
    uint16_t value = 0;
    bytes_u16(elf->file, offset, &value);
    if (!elf->is_little) {
        value = (uint16_t)(value << 8 | value >> 8);
    }
    return value;
}

const char *elf_open(struct arena *arena, struct bytes file, struct elf *out_elf)
{
    struct elf elf = {.file = file};
    uint8_t class = 0;
    uint8_t data = 0;
    uint8_t version = 0;
    *out_elf = elf;
    if (!bytes_has(file, 0, IDENT_AND_MACHINE)) {
        return ends_early(arena, file, "its header does", 0, HEADER_SIZE);
    }
    bytes_u8(file, EI_CLASS, &class);
    bytes_u8(file, EI_DATA, &data);
    bytes_u8(file, EI_VERSION, &version);
    if ((class != CLASS_32 && class != CLASS_64) || (data != DATA_LITTLE && data != DATA_BIG) ||
        version != VERSION_CURRENT) {
        return "has a damaged header: it says no known class, byte order or version of ELF";
    }
    elf.is_64 = class == CLASS_64;
    elf.is_little = data == DATA_LITTLE;
    elf.type = read_u16(&elf, E_TYPE);
    elf.machine = read_u16(&elf, E_MACHINE);
    *out_elf = elf;
    if (!elf.is_64 || !elf.is_little) {
        return NULL;
    }
    if (!bytes_has(file, 0, HEADER_SIZE)) {
        return ends_early(arena, file, "its header does", 0, HEADER_SIZE);
    }
    bytes_u64(file, E_PHOFF, &elf.program_headers);
    bytes_u64(file, E_SHOFF, &elf.section_headers);
    bytes_u16(file, E_PHENTSIZE, &elf.program_size);
    bytes_u16(file, E_PHNUM, &elf.program_count);
    bytes_u16(file, E_SHENTSIZE, &elf.section_size);
    bytes_u16(file, E_SHNUM, &elf.section_count);
    bytes_u16(file, E_SHSTRNDX, &elf.section_names);
    *out_elf = elf;
    const char *problem = check_segments(arena, &elf);
    return problem != NULL ? problem : check_section_headers(arena, &elf);
}

/* The bytes in the file from an address to the end of its PT_LOAD segment's part in the file. */
static bool at_address(const struct elf *elf, uint64_t address, struct bytes *out_rest)
{
    for (uint32_t i = 0; i < elf->program_count; i++) {
        struct segment segment;
        if (!segment_at(elf, i, &segment) || segment.type != PT_LOAD || address < segment.address ||
            address - segment.address >= segment.file_size) {
            continue;
        }
        struct bytes whole;
        uint64_t into = address - segment.address;
        return bytes_part(elf->file, segment.offset, segment.file_size, &whole) &&
               bytes_part(whole, into, whole.size - into, out_rest);
    }
    return false;
}

/* ---- the dynamic section ---- */

static bool next_tag(struct bytes table, uint64_t index, uint64_t *out_tag, uint64_t *out_value)
{
    return index < MAX_DYNAMIC && bytes_u64(table, index * DYNAMIC_SIZE, out_tag) &&
           bytes_u64(table, index * DYNAMIC_SIZE + 8, out_value) && *out_tag != DT_NULL;
}

static bool find_table(const struct elf *elf, struct bytes *out_table)
{
    for (uint32_t i = 0; i < elf->program_count; i++) {
        struct segment segment;
        if (segment_at(elf, i, &segment) && segment.type == PT_DYNAMIC) {
            return bytes_part(elf->file, segment.offset, segment.file_size, out_table);
        }
    }
    return false;
}

/* Addresses first: the texts cannot be read before the string table is known. */
static void read_addresses(const struct elf *elf, struct bytes table, struct elf_dynamic *dynamic)
{
    uint64_t tag;
    uint64_t value;
    uint64_t strings = 0;
    uint64_t strings_size = 0;
    for (uint64_t i = 0; next_tag(table, i, &tag, &value); i++) {
        switch (tag) {
        case DT_STRTAB:
            strings = value;
            break;
        case DT_STRSZ:
            strings_size = value;
            break;
        case DT_SYMTAB:
            dynamic->symbols = value;
            break;
        case DT_HASH:
            dynamic->hash = value;
            break;
        case DT_GNU_HASH:
            dynamic->gnu_hash = value;
            break;
        default:
            break;
        }
    }
    struct bytes rest;
    if (strings != 0 && at_address(elf, strings, &rest)) {
        bytes_part(rest, 0, strings_size < rest.size ? strings_size : rest.size, &dynamic->strings);
    }
}

static void read_texts(struct arena *arena, struct bytes table, struct elf_dynamic *dynamic)
{
    uint64_t tag;
    uint64_t value;
    size_t capacity = 0;
    const char *rpath = NULL;
    for (uint64_t i = 0; next_tag(table, i, &tag, &value); i++) {
        if (tag == DT_SONAME && dynamic->soname == NULL) {
            dynamic->soname = read_text(arena, dynamic->strings, value, MAX_NAME);
        } else if (tag == DT_RUNPATH && dynamic->run_path == NULL) {
            dynamic->run_path = read_text(arena, dynamic->strings, value, MAX_PATH_TEXT);
        } else if (tag == DT_RPATH && rpath == NULL) {
            rpath = read_text(arena, dynamic->strings, value, MAX_PATH_TEXT);
        } else if (tag == DT_NEEDED && dynamic->needed_count < MAX_NEEDED) {
            const char *name = read_text(arena, dynamic->strings, value, MAX_NAME);
            if (name != NULL) {
                const char **slot = arena_push(arena, &dynamic->needed, &dynamic->needed_count,
                                               &capacity, sizeof *slot);
                *slot = name;
            }
        }
    }
    if (dynamic->run_path == NULL) { /* ld.so(8): DT_RPATH is ignored when DT_RUNPATH exists */
        dynamic->run_path = rpath;
    }
}

bool elf_dynamic(struct arena *arena, const struct elf *elf, struct elf_dynamic *out_dynamic)
{
    struct bytes table;
    *out_dynamic = (struct elf_dynamic){0};
    if (!find_table(elf, &table)) {
        return false;
    }
    read_addresses(elf, table, out_dynamic);
    read_texts(arena, table, out_dynamic);
    return true;
}

/* ---- symbols ---- */

/* Is symbol `index` the defined one of that name? Then the address of its data. */
static bool symbol_is(struct bytes symbols, const struct elf_dynamic *dynamic, uint32_t index,
                      const char *name, uint64_t *out_address)
{
    uint64_t at = (uint64_t)index * SYMBOL_SIZE;
    uint32_t name_at;
    uint16_t section;
    const char *text;
    return bytes_u32(symbols, at, &name_at) && bytes_u16(symbols, at + 6, &section) &&
           bytes_u64(symbols, at + 8, out_address) && section != 0 &&
           bytes_text(dynamic->strings, name_at, MAX_NAME, &text) &&
           strncmp(text, name, MAX_NAME) == 0;
}

/* glibc, sysdeps/generic/dl-hash.h: _dl_new_hash */
static uint32_t gnu_hash_of(const char *name)
{
    uint32_t hash = 5381;
    for (; *name != '\0'; name++) {
        hash = hash * 33 + (uint8_t)*name;
    }
    return hash;
}

/* glibc, elf/dl-lookup.c: header, bloom filter (64-bit words), buckets, chains from `first` on;
   a chain ends at the hash whose lowest bit is set. The filter only saves work; it is skipped. */
static bool find_by_gnu_hash(struct bytes table, struct bytes symbols,
                             const struct elf_dynamic *dynamic, const char *name,
                             uint64_t *out_address)
{
    uint32_t buckets;
    uint32_t first;
    uint32_t bloom;
    uint32_t index;
    if (!bytes_u32(table, 0, &buckets) || !bytes_u32(table, 4, &first) ||
        !bytes_u32(table, 8, &bloom) || buckets == 0) {
        return false;
    }
    uint32_t wanted = gnu_hash_of(name);
    uint64_t bucket_table = 16 + 8 * (uint64_t)bloom;
    uint64_t chains = bucket_table + 4 * (uint64_t)buckets;
    if (!bytes_u32(table, bucket_table + 4 * (uint64_t)(wanted % buckets), &index) ||
        index < first) {
        return false;
    }
    for (uint32_t step = 0; step < MAX_CHAIN; step++, index++) {
        uint32_t hash;
        if (!bytes_u32(table, chains + 4 * (uint64_t)(index - first), &hash)) {
            return false;
        }
        if ((hash | 1) == (wanted | 1) && symbol_is(symbols, dynamic, index, name, out_address)) {
            return true;
        }
        if ((hash & 1) != 0 || index == UINT32_MAX) {
            return false;
        }
    }
    return false;
}

/* gABI, "Hash Table" */
static uint32_t hash_of(const char *name)
{
    uint32_t hash = 0;
    for (; *name != '\0'; name++) {
        hash = (hash << 4) + (uint8_t)*name;
        uint32_t high = hash & 0xF0000000;
        hash = (hash ^ high >> 24) & ~high;
    }
    return hash;
}

static bool find_by_hash(struct bytes table, struct bytes symbols,
                         const struct elf_dynamic *dynamic, const char *name, uint64_t *out_address)
{
    uint32_t buckets;
    uint32_t index;
    if (!bytes_u32(table, 0, &buckets) || buckets == 0 ||
        !bytes_u32(table, 8 + 4 * (uint64_t)(hash_of(name) % buckets), &index)) {
        return false;
    }
    uint64_t chains = 8 + 4 * (uint64_t)buckets;
    for (uint32_t step = 0; step < MAX_CHAIN && index != 0; step++) { /* may loop: bounded */
        if (symbol_is(symbols, dynamic, index, name, out_address)) {
            return true;
        }
        if (!bytes_u32(table, chains + 4 * (uint64_t)index, &index)) {
            return false;
        }
    }
    return false;
}

bool elf_symbol_u32(const struct elf *elf, const struct elf_dynamic *dynamic, const char *name,
                    uint32_t *out_value)
{
    struct bytes symbols;
    struct bytes table;
    struct bytes data;
    uint64_t address;
    if (dynamic->symbols == 0 || !at_address(elf, dynamic->symbols, &symbols)) {
        return false;
    }
    bool found = (dynamic->gnu_hash != 0 && at_address(elf, dynamic->gnu_hash, &table) &&
                  find_by_gnu_hash(table, symbols, dynamic, name, &address)) ||
                 (dynamic->hash != 0 && at_address(elf, dynamic->hash, &table) &&
                  find_by_hash(table, symbols, dynamic, name, &address));
    return found && at_address(elf, address, &data) && bytes_u32(data, 0, out_value);
}

/* ---- segments and sections ---- */

bool elf_read_only_segment(const struct elf *elf, uint32_t index, struct bytes *out_bytes)
{
    struct segment segment;
    return segment_at(elf, index, &segment) && segment.type == PT_LOAD && segment.flags == PF_R &&
           bytes_part(elf->file, segment.offset, segment.file_size, out_bytes);
}

struct section {
    uint32_t name, type;
    uint64_t offset, size;
};

static bool section_at(const struct elf *elf, uint32_t index, struct section *out)
{
    uint64_t at = elf->section_headers + (uint64_t)index * elf->section_size;
    return elf->section_headers != 0 && index < elf->section_count &&
           elf->section_size >= SHDR_SIZE && bytes_u32(elf->file, at, &out->name) &&
           bytes_u32(elf->file, at + 4, &out->type) &&
           bytes_u64(elf->file, at + 24, &out->offset) && bytes_u64(elf->file, at + 32, &out->size);
}

bool elf_section(const struct elf *elf, const char *name, struct bytes *out_bytes)
{
    struct section section;
    struct bytes names;
    if (!section_at(elf, elf->section_names, &section) ||
        !bytes_part(elf->file, section.offset, section.size, &names)) {
        return false;
    }
    for (uint32_t i = 0; i < elf->section_count && i < MAX_SECTIONS; i++) {
        const char *text;
        if (section_at(elf, i, &section) && section.type != SHT_NOBITS &&
            bytes_text(names, section.name, MAX_NAME, &text) && text_equal(text, name)) {
            return bytes_part(elf->file, section.offset, section.size, out_bytes);
        }
    }
    return false;
}
