#include "inventory/elf.h"

#include <string.h>

#include "base/text.h"
#include "inventory/version_symbol.h"

enum {
    SEGMENTS = 64,
    SECTIONS = 4096,
    DYNAMIC_ENTRIES = 4096,
    NEEDED = 256,
    SYMBOLS = 1 << 20,
    NAME_BYTES = 4096,
    /* program header types, dynamic tags, machine numbers */
    PT_LOAD = 1,
    PT_DYNAMIC = 2,
    DT_NEEDED = 1,
    DT_HASH = 4,
    DT_STRTAB = 5,
    DT_SYMTAB = 6,
    DT_STRSZ = 10,
    DT_SONAME = 14,
    DT_RPATH = 15,
    DT_RUNPATH = 29,
    DT_GNU_HASH = 0x6ffffef5,
    SYMBOL_BYTES = 24,
};

struct segment {
    uint32_t type, flags;
    uint64_t offset, address, size;
};

struct object {
    struct bytes bytes;
    struct segment segments[SEGMENTS];
    unsigned segment_count;
    uint64_t section_table;
    uint16_t section_entry, section_count, section_names;
};

/* What the dynamic section says; addresses, 0 = not there. */
struct dynamic {
    uint64_t strings, strings_size, symbols, hash, gnu_hash;
    uint64_t soname, run_path; /* offsets in the strings, UINT64_MAX = none */
    uint64_t needed[NEEDED];
    size_t needed_count;
};

bool elf_is(struct bytes bytes)
{
    return bytes.size >= 4 && memcmp(bytes.data,
                                     "\x7f"
                                     "ELF",
                                     4) == 0;
}

static bool at_address(const struct object *object, uint64_t address, uint64_t *out_offset,
                       uint64_t *out_left)
{
    for (unsigned i = 0; i < object->segment_count; i++) {
        const struct segment *segment = &object->segments[i];
        if (segment->type == PT_LOAD && address >= segment->address &&
            address - segment->address < segment->size) {
            *out_offset = segment->offset + (address - segment->address);
            *out_left = segment->size - (address - segment->address);
            return true;
        }
    }
    return false;
}

/* ---- headers ("ELF Header", "Program Header", "Sections") ---- */

static enum arch arch_of(uint16_t machine)
{
    return machine == 62    ? ARCH_X86_64
           : machine == 183 ? ARCH_ARM64
           : machine == 3   ? ARCH_X86
                            : ARCH_OTHER;
}

static bool read_segment(struct bytes bytes, uint64_t at, struct segment *segment)
{
    return bytes_u32(bytes, at, &segment->type) && bytes_u32(bytes, at + 4, &segment->flags) &&
           bytes_u64(bytes, at + 8, &segment->offset) &&
           bytes_u64(bytes, at + 16, &segment->address) &&
           bytes_u64(bytes, at + 32, &segment->size);
}

static const char *truncated(struct arena *arena, const struct object *object, const char *what,
                             uint64_t end)
{
    return arena_printf(arena, "is truncated: %s ends at byte %llu, the file has %llu", what,
                        (unsigned long long)end, (unsigned long long)object->bytes.size);
}

static const char *read_segments(struct arena *arena, struct object *object, uint64_t table,
                                 uint16_t entry_size, uint16_t count)
{
    if (count == 0 || count > SEGMENTS || entry_size < 56) {
        return "has no valid program headers";
    }
    for (unsigned i = 0; i < count; i++) {
        struct segment *segment = &object->segments[i];
        if (table > object->bytes.size ||
            !read_segment(object->bytes, table + (uint64_t)i * entry_size, segment)) {
            return "ends within its program headers";
        }
        if (segment->type == PT_LOAD && !bytes_has(object->bytes, segment->offset, segment->size)) {
            return truncated(arena, object, "a segment",
                             segment->offset > UINT64_MAX - segment->size
                                 ? UINT64_MAX
                                 : segment->offset + segment->size);
        }
        object->segment_count = i + 1;
    }
    return NULL;
}

/* NULL, or what is wrong. */
static const char *read_headers(struct arena *arena, struct object *object,
                                struct identity *identity)
{
    struct bytes bytes = object->bytes;
    uint16_t machine, type, entry_size, count;
    uint64_t table;
    if (bytes.size < 64) {
        return "ends within its headers";
    }
    if (!bytes_u16(bytes, 18, &machine) || !bytes_u16(bytes, 16, &type)) {
        return "ends within its headers";
    }
    if (bytes.data[4] < 1 || bytes.data[4] > 2 || bytes.data[5] < 1 || bytes.data[5] > 2 ||
        bytes.data[6] != 1) {
        return "has no valid ELF header"; /* class, byte order, version */
    }
    if (bytes.data[5] != 1) { /* big endian: numbers cannot be read further */
        identity->arch = ARCH_OTHER;
        return NULL;
    }
    identity->arch = arch_of(machine);
    if (bytes.data[4] != 2) { /* 32-bit */
        identity->arch = identity->arch == ARCH_X86 ? ARCH_X86 : ARCH_OTHER;
        return NULL;
    }
    if (type != 3) {
        return "is an ELF file, but no shared library";
    }
    if (!bytes_u64(bytes, 32, &table) || !bytes_u64(bytes, 40, &object->section_table) ||
        !bytes_u16(bytes, 54, &entry_size) || !bytes_u16(bytes, 56, &count) ||
        !bytes_u16(bytes, 58, &object->section_entry) ||
        !bytes_u16(bytes, 60, &object->section_count) ||
        !bytes_u16(bytes, 62, &object->section_names)) {
        return "ends within its headers";
    }
    const char *problem = read_segments(arena, object, table, entry_size, count);
    if (problem != NULL) {
        return problem;
    }
    /* Linkers put the section table last: a copy that stopped lacks it, though the segments may be
       whole. A stripped file has none, and says so with 0. */
    uint64_t size = (uint64_t)object->section_entry * object->section_count;
    if (object->section_table != 0 && !bytes_has(bytes, object->section_table, size)) {
        return truncated(arena, object, "its section table",
                         object->section_table > UINT64_MAX - size ? UINT64_MAX
                                                                   : object->section_table + size);
    }
    return NULL;
}

/* ---- the dynamic section ("Dynamic Section") ---- */

static void take_entry(struct dynamic *dynamic, uint64_t tag, uint64_t value)
{
    switch (tag) {
    case DT_NEEDED:
        if (dynamic->needed_count < NEEDED) {
            dynamic->needed[dynamic->needed_count++] = value;
        }
        break;
    case DT_STRTAB:
        dynamic->strings = value;
        break;
    case DT_STRSZ:
        dynamic->strings_size = value;
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
    case DT_SONAME:
        dynamic->soname = value;
        break;
    case DT_RUNPATH:
        dynamic->run_path = value;
        break;
    case DT_RPATH:
        dynamic->run_path = dynamic->run_path == UINT64_MAX ? value : dynamic->run_path;
        break;
    default:
        break;
    }
}

static bool read_dynamic(const struct object *object, struct dynamic *dynamic)
{
    *dynamic = (struct dynamic){.soname = UINT64_MAX, .run_path = UINT64_MAX};
    for (unsigned i = 0; i < object->segment_count; i++) {
        const struct segment *segment = &object->segments[i];
        if (segment->type != PT_DYNAMIC) {
            continue;
        }
        for (uint64_t at = 0; at + 16 <= segment->size && at < 16 * DYNAMIC_ENTRIES; at += 16) {
            uint64_t tag, value;
            if (segment->offset > object->bytes.size ||
                !bytes_u64(object->bytes, segment->offset + at, &tag) ||
                !bytes_u64(object->bytes, segment->offset + at + 8, &value) || tag == 0) {
                break;
            }
            take_entry(dynamic, tag, value);
        }
        return true;
    }
    return false;
}

static bool string_table(const struct object *object, const struct dynamic *dynamic,
                         struct bytes *out_strings)
{
    uint64_t offset, left;
    return at_address(object, dynamic->strings, &offset, &left) &&
           bytes_part(object->bytes, offset,
                      left < dynamic->strings_size ? left : dynamic->strings_size, out_strings);
}

static const char *string_at(struct arena *arena, struct bytes strings, uint64_t offset)
{
    const char *text;
    return offset != UINT64_MAX && bytes_text(strings, offset, NAME_BYTES, &text)
               ? arena_strdup(arena, text_utf8_clean(arena, text))
               : NULL;
}

/* ---- looking a symbol up ("Hash Table"; the GNU one as binutils writes it) ---- */

struct lookup {
    struct bytes file, symbols, strings;
    const char *name;
    uint64_t address; /* what was found */
};

static bool is_symbol(struct lookup *lookup, uint64_t index)
{
    uint32_t name_at;
    const char *text;
    uint16_t section;
    uint64_t at = index * SYMBOL_BYTES;
    return index < SYMBOLS && bytes_u32(lookup->symbols, at, &name_at) &&
           bytes_u16(lookup->symbols, at + 6, &section) && section != 0 &&
           bytes_text(lookup->strings, name_at, NAME_BYTES, &text) &&
           strcmp(text, lookup->name) == 0 && bytes_u64(lookup->symbols, at + 8, &lookup->address);
}

static bool find_by_hash(struct lookup *lookup, struct bytes table)
{
    uint32_t buckets, chains, index, hash = 0;
    for (const char *c = lookup->name; *c != '\0'; c++) {
        hash = (hash << 4) + (unsigned char)*c;
        hash = (hash ^ (hash >> 24 & 0xF0)) & 0x0FFFFFFF;
    }
    if (!bytes_u32(table, 0, &buckets) || !bytes_u32(table, 4, &chains) || buckets == 0 ||
        !bytes_u32(table, 8 + 4 * (uint64_t)(hash % buckets), &index)) {
        return false;
    }
    for (uint32_t steps = 0; index != 0 && index < chains && steps < SYMBOLS; steps++) {
        if (is_symbol(lookup, index)) {
            return true;
        }
        if (!bytes_u32(table, 8 + 4 * ((uint64_t)buckets + index), &index)) {
            return false;
        }
    }
    return false;
}

static bool find_by_gnu_hash(struct lookup *lookup, struct bytes table)
{
    uint32_t buckets, first, bloom_words, index, value, hash = 5381;
    for (const char *c = lookup->name; *c != '\0'; c++) {
        hash = hash * 33 + (unsigned char)*c;
    }
    if (!bytes_u32(table, 0, &buckets) || !bytes_u32(table, 4, &first) ||
        !bytes_u32(table, 8, &bloom_words) || buckets == 0) {
        return false;
    }
    uint64_t bucket_table = 16 + 8 * (uint64_t)bloom_words;
    uint64_t chain_table = bucket_table + 4 * (uint64_t)buckets;
    if (!bytes_u32(table, bucket_table + 4 * (uint64_t)(hash % buckets), &index) || index < first) {
        return false;
    }
    for (uint32_t steps = 0; steps < SYMBOLS && index < SYMBOLS; steps++, index++) {
        if (!bytes_u32(table, chain_table + 4 * (uint64_t)(index - first), &value)) {
            return false;
        }
        if ((value | 1) == (hash | 1) && is_symbol(lookup, index)) {
            return true;
        }
        if ((value & 1) != 0) {
            return false; /* the end of the chain */
        }
    }
    return false;
}

static bool part_at(const struct object *object, uint64_t address, struct bytes *out_part)
{
    uint64_t offset, left;
    return address != 0 && at_address(object, address, &offset, &left) &&
           bytes_part(object->bytes, offset, left, out_part);
}

static void identify_symbol(const struct object *object, const struct dynamic *dynamic,
                            struct bytes strings, const char *name, struct identity *identity)
{
    struct lookup lookup = {.file = object->bytes, .strings = strings, .name = name};
    struct bytes table;
    uint64_t offset, left;
    uint32_t value;
    if (!part_at(object, dynamic->symbols, &lookup.symbols)) {
        return;
    }
    bool found = part_at(object, dynamic->gnu_hash, &table) && find_by_gnu_hash(&lookup, table);
    found = found || (part_at(object, dynamic->hash, &table) && find_by_hash(&lookup, table));
    if (found && at_address(object, lookup.address, &offset, &left) && left >= 4 &&
        bytes_u32(object->bytes, offset, &value) &&
        version_symbol_decode(value, &identity->version)) {
        identity->version_source = VERSION_SOURCE_EXPORT;
    }
}

/* ---- read-only data ---- */

/* Section .rodata by name where there is a section table, else the segments that are read-only. */
static bool named_section(const struct object *object, const char *name, struct bytes *out_part)
{
    uint64_t names_at, names_size, offset, size;
    uint64_t names =
        object->section_table + (uint64_t)object->section_names * object->section_entry;
    struct bytes texts;
    if (object->section_table == 0 || object->section_entry < 64 ||
        object->section_names >= object->section_count ||
        !bytes_u64(object->bytes, names + 24, &names_at) ||
        !bytes_u64(object->bytes, names + 32, &names_size) ||
        !bytes_part(object->bytes, names_at, names_size, &texts)) {
        return false;
    }
    for (uint64_t i = 0; i < object->section_count && i < SECTIONS; i++) {
        uint64_t at = object->section_table + i * object->section_entry;
        uint32_t name_at;
        const char *text;
        if (bytes_u32(object->bytes, at, &name_at) && bytes_text(texts, name_at, 64, &text) &&
            strcmp(text, name) == 0) {
            return bytes_u64(object->bytes, at + 24, &offset) &&
                   bytes_u64(object->bytes, at + 32, &size) &&
                   bytes_part(object->bytes, offset, size, out_part);
        }
    }
    return false;
}

static void find_strings(const struct object *object, struct bytes *out_strings)
{
    if (named_section(object, ".rodata", out_strings)) {
        return;
    }
    for (unsigned i = 0; i < object->segment_count; i++) {
        const struct segment *segment = &object->segments[i];
        if (segment->type == PT_LOAD && segment->flags == 4) {
            bytes_part(object->bytes, segment->offset, segment->size, out_strings);
        }
    }
}

void elf_identify(struct arena *arena, struct bytes bytes, const char *export_name,
                  struct identity *identity, struct bytes *out_strings)
{
    struct object object = {.bytes = bytes};
    struct dynamic dynamic;
    struct bytes strings;
    size_t capacity = 0;
    *out_strings = (struct bytes){0};
    identity->is_elf = true;
    identity->problem = read_headers(arena, &object, identity);
    identity->is_library = identity->problem == NULL;
    if (identity->problem != NULL || object.segment_count == 0) {
        return; /* damaged, or of a kind that is known by its header alone */
    }
    if (!read_dynamic(&object, &dynamic) || !string_table(&object, &dynamic, &strings)) {
        identity->problem = "has no dynamic section: it cannot be loaded";
        identity->is_library = false;
        return;
    }
    identity->internal_name = string_at(arena, strings, dynamic.soname);
    identity->run_path = string_at(arena, strings, dynamic.run_path);
    for (size_t i = 0; i < dynamic.needed_count; i++) {
        const char *name = string_at(arena, strings, dynamic.needed[i]);
        if (name != NULL) {
            *(const char **)arena_push(arena, &identity->imports, &identity->import_count,
                                       &capacity, sizeof name) = name;
        }
    }
    if (export_name != NULL) {
        identify_symbol(&object, &dynamic, strings, export_name, identity);
    }
    find_strings(&object, out_strings);
}
