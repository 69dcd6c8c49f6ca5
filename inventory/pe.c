#include "inventory/pe.h"

#include <string.h>

#include "inventory/read_text.h"

enum {
    DOS_E_LFANEW = 0x3C, /* "MS-DOS Stub": offset of the PE signature */
    COFF_SIZE = 24,      /* signature and COFF file header */
    COFF_MACHINE = 4,
    COFF_NUMBER_OF_SECTIONS = 6,
    COFF_SIZE_OF_OPTIONAL_HEADER = 20,
    COFF_CHARACTERISTICS = 22,
    CHARACTERISTIC_DLL = 0x2000,
    OPTIONAL_MAGIC_PE32 = 0x10B,
    OPTIONAL_MAGIC_PE32_PLUS = 0x20B,
    OPTIONAL_SIZE_OF_HEADERS = 60,
    OPTIONAL_DIRECTORIES_PE32 = 96, /* NumberOfRvaAndSizes is in the four bytes before */
    OPTIONAL_DIRECTORIES_PE32_PLUS = 112,
    SECTION_SIZE = 40,
    MAX_SECTIONS = 96, /* "Section Table": what the Windows loader accepts */
    MAX_DIRECTORIES = 16,
    MAX_IMPORTS = 512,
    MAX_NAME = 512
};

static const char *ends_early(struct arena *arena, struct bytes file, const char *what,
                              uint64_t needed)
{
    return arena_printf(arena, "ends before %s (%llu of %llu bytes)", what,
                        (unsigned long long)file.size, (unsigned long long)needed);
}

/* "COFF File Header": machine, sections, kind. */
static const char *open_coff(struct arena *arena, struct pe *pe, uint64_t *out_optional,
                             uint16_t *out_optional_size)
{
    uint32_t start;
    uint32_t signature;
    uint16_t sections;
    uint16_t characteristics;
    if (!bytes_u32(pe->file, DOS_E_LFANEW, &start)) {
        return ends_early(arena, pe->file, "its header does", DOS_E_LFANEW + 4);
    }
    if (!bytes_has(pe->file, start, COFF_SIZE)) {
        return ends_early(arena, pe->file, "its header does", (uint64_t)start + COFF_SIZE);
    }
    bytes_u32(pe->file, start, &signature);
    if (signature != 0x00004550) { /* "PE\0\0" */
        return "is an MS-DOS program, not a library";
    }
    bytes_u16(pe->file, start + (uint64_t)COFF_MACHINE, &pe->machine);
    bytes_u16(pe->file, start + (uint64_t)COFF_NUMBER_OF_SECTIONS, &sections);
    bytes_u16(pe->file, start + (uint64_t)COFF_SIZE_OF_OPTIONAL_HEADER, out_optional_size);
    bytes_u16(pe->file, start + (uint64_t)COFF_CHARACTERISTICS, &characteristics);
    pe->is_dll = (characteristics & CHARACTERISTIC_DLL) != 0;
    pe->section_count = sections;
    *out_optional = (uint64_t)start + COFF_SIZE;
    pe->section_table = *out_optional + *out_optional_size;
    return NULL;
}

/* "Optional Header": where the data directories are. A short one simply has fewer of them. */
static const char *open_optional(struct arena *arena, struct pe *pe, uint64_t optional,
                                 uint16_t optional_size)
{
    struct bytes header;
    if (!bytes_part(pe->file, optional, optional_size, &header)) {
        return ends_early(arena, pe->file, "its header does", optional + optional_size);
    }
    uint16_t magic = 0;
    uint32_t count = 0;
    bytes_u16(header, 0, &magic);
    if (magic != OPTIONAL_MAGIC_PE32 && magic != OPTIONAL_MAGIC_PE32_PLUS) {
        return "has a damaged header: it is neither PE32 nor PE32+";
    }
    uint64_t directories = magic == OPTIONAL_MAGIC_PE32_PLUS ? OPTIONAL_DIRECTORIES_PE32_PLUS
                                                             : OPTIONAL_DIRECTORIES_PE32;
    if (!bytes_u32(header, OPTIONAL_SIZE_OF_HEADERS, &pe->header_size) ||
        !bytes_u32(header, directories - 4, &count)) {
        return "has a damaged header: it is too short";
    }
    uint64_t room = (header.size - directories) / 8;
    count = count < room ? count : (uint32_t)room;
    pe->directories = optional + directories;
    pe->directory_count = count < MAX_DIRECTORIES ? count : MAX_DIRECTORIES;
    return NULL;
}

static const char *check_sections(struct arena *arena, const struct pe *pe)
{
    uint64_t table_end = pe->section_table + (uint64_t)pe->section_count * SECTION_SIZE;
    if (pe->section_count > MAX_SECTIONS) {
        return arena_printf(arena, "has a damaged header: it names %u sections",
                            (unsigned)pe->section_count);
    }
    if (table_end > pe->file.size) {
        return ends_early(arena, pe->file, "its section table does", table_end);
    }
    for (uint32_t i = 0; i < pe->section_count; i++) {
        struct pe_section section;
        if (!pe_section_at(pe, i, &section)) {
            continue;
        }
        uint64_t end = (uint64_t)section.file_offset + section.file_size;
        if (section.file_size > 0 && end > pe->file.size) {
            char what[32];
            snprintf(what, sizeof what, "section %s does", section.name);
            return ends_early(arena, pe->file, what, end);
        }
    }
    return NULL;
}

const char *pe_open(struct arena *arena, struct bytes file, struct pe *out_pe)
{
    *out_pe = (struct pe){.file = file};
    uint64_t optional = 0;
    uint16_t optional_size = 0;
    const char *problem = open_coff(arena, out_pe, &optional, &optional_size);
    if (problem == NULL) {
        problem = open_optional(arena, out_pe, optional, optional_size);
    }
    return problem != NULL ? problem : check_sections(arena, out_pe);
}

bool pe_section_at(const struct pe *pe, uint32_t index, struct pe_section *out_section)
{
    uint64_t at = pe->section_table + (uint64_t)index * SECTION_SIZE;
    struct bytes row;
    if (index >= pe->section_count || !bytes_part(pe->file, at, SECTION_SIZE, &row)) {
        return false;
    }
    struct pe_section section = {0};
    for (unsigned i = 0; i < 8; i++) {
        uint8_t c = row.data[i];
        if (c == '\0') {
            break;
        }
        section.name[i] = c > 0x20 && c < 0x7F ? (char)c : '?';
    }
    bytes_u32(row, 8, &section.virtual_size);
    bytes_u32(row, 12, &section.rva);
    bytes_u32(row, 16, &section.file_size);
    bytes_u32(row, 20, &section.file_offset);
    if (section.file_offset == 0) {
        section.file_size = 0;
    }
    *out_section = section;
    return true;
}

bool pe_section_bytes(const struct pe *pe, const struct pe_section *section, struct bytes *out)
{
    return section->file_size > 0 &&
           bytes_part(pe->file, section->file_offset, section->file_size, out);
}

bool pe_at(const struct pe *pe, uint64_t rva, struct bytes *out_rest)
{
    if (rva < pe->header_size) { /* the headers lie in memory as in the file */
        uint64_t end = pe->header_size < pe->file.size ? pe->header_size : pe->file.size;
        return rva < end && bytes_part(pe->file, rva, end - rva, out_rest);
    }
    for (uint32_t i = 0; i < pe->section_count; i++) {
        struct pe_section section;
        if (!pe_section_at(pe, i, &section) || rva < section.rva ||
            rva - section.rva >= section.file_size) {
            continue;
        }
        uint64_t into = rva - section.rva;
        return bytes_part(pe->file, section.file_offset + into, section.file_size - into, out_rest);
    }
    return false;
}

/* "Optional Header Data Directories": address and size. */
static bool directory_at(const struct pe *pe, enum pe_directory index, uint32_t *out_rva,
                         uint32_t *out_size)
{
    return (uint32_t)index < pe->directory_count &&
           bytes_u32(pe->file, pe->directories + 8 * (uint64_t)index, out_rva) &&
           bytes_u32(pe->file, pe->directories + 8 * (uint64_t)index + 4, out_size) &&
           *out_rva != 0;
}

bool pe_directory_bytes(const struct pe *pe, enum pe_directory which, struct bytes *out)
{
    uint32_t rva;
    uint32_t size;
    return directory_at(pe, which, &rva, &size) && pe_at(pe, rva, out);
}

/* ---- "The .edata Section" ---- */

struct exports {
    uint32_t rva, size; /* of the whole: an address inside it is a forwarder's text */
    uint32_t name;
    uint32_t function_count, name_count;
    struct bytes functions, names, ordinals; /* each to the end of its section */
};

static bool open_exports(const struct pe *pe, struct exports *out)
{
    struct exports e = {0};
    struct bytes table;
    uint32_t functions;
    uint32_t names;
    uint32_t ordinals;
    if (!directory_at(pe, PE_DIRECTORY_EXPORT, &e.rva, &e.size) || !pe_at(pe, e.rva, &table) ||
        !bytes_u32(table, 12, &e.name) || !bytes_u32(table, 20, &e.function_count) ||
        !bytes_u32(table, 24, &e.name_count) || !bytes_u32(table, 28, &functions) ||
        !bytes_u32(table, 32, &names) || !bytes_u32(table, 36, &ordinals)) {
        return false;
    }
    if (!pe_at(pe, functions, &e.functions) || !pe_at(pe, names, &e.names) ||
        !pe_at(pe, ordinals, &e.ordinals)) {
        e.name_count = 0; /* exports nothing by name; its own name is still good */
    }
    *out = e;
    return true;
}

/* Compares an exported name with `wanted`; false when it cannot be read. */
static bool compare_name(const struct pe *pe, const struct exports *exports, uint32_t index,
                         const char *wanted, int *out_order)
{
    uint32_t rva;
    struct bytes text;
    const char *name;
    if (!bytes_u32(exports->names, 4 * (uint64_t)index, &rva) || !pe_at(pe, rva, &text) ||
        !bytes_text(text, 0, MAX_NAME, &name)) {
        return false;
    }
    *out_order = strncmp(name, wanted, MAX_NAME);
    return true;
}

/* "Export Name Pointer Table": sorted, and searched by the loader like this. A table that is not
   sorted hides its names from the loader too. */
static bool find_export(const struct pe *pe, const struct exports *exports, const char *name,
                        uint32_t *out_rva)
{
    uint32_t low = 0;
    uint32_t high = exports->name_count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        int order;
        if (!compare_name(pe, exports, middle, name, &order)) {
            return false;
        }
        if (order == 0) {
            uint16_t ordinal;
            return bytes_u16(exports->ordinals, 2 * (uint64_t)middle, &ordinal) &&
                   ordinal < exports->function_count &&
                   bytes_u32(exports->functions, 4 * (uint64_t)ordinal, out_rva);
        }
        if (order < 0) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return false;
}

bool pe_export_u32(const struct pe *pe, const char *name, uint32_t *out_value)
{
    struct exports exports;
    uint32_t rva;
    struct bytes data;
    if (!open_exports(pe, &exports) || !find_export(pe, &exports, name, &rva)) {
        return false;
    }
    bool forwarded = rva >= exports.rva && rva - exports.rva < exports.size;
    return !forwarded && pe_at(pe, rva, &data) && bytes_u32(data, 0, out_value);
}

const char *pe_export_name(struct arena *arena, const struct pe *pe)
{
    struct exports exports;
    struct bytes text;
    if (!open_exports(pe, &exports) || !pe_at(pe, exports.name, &text)) {
        return NULL;
    }
    return read_text(arena, text, 0, MAX_NAME);
}

/* ---- "The .idata Section" and "Delay-Load Import Tables" ---- */

void pe_imports(struct arena *arena, const struct pe *pe, enum pe_directory which,
                const char ***out_names, size_t *out_count)
{
    bool delay = which == PE_DIRECTORY_DELAY_IMPORT;
    uint64_t row_size = delay ? 32 : 20;
    uint64_t name_at = delay ? 4 : 12;
    struct bytes table;
    const char **names = NULL;
    size_t count = 0;
    size_t capacity = 0;
    if (pe_directory_bytes(pe, which, &table)) {
        for (uint64_t row = 0; count < MAX_IMPORTS; row += row_size) {
            uint32_t name_rva;
            struct bytes text;
            if (!bytes_has(table, row, row_size) || !bytes_u32(table, row + name_at, &name_rva) ||
                name_rva == 0 || !pe_at(pe, name_rva, &text)) {
                break; /* the null row at the end, or nothing that can be trusted further on */
            }
            const char *name = read_text(arena, text, 0, MAX_NAME);
            if (name == NULL) {
                break;
            }
            const char **slot = arena_push(arena, &names, &count, &capacity, sizeof *slot);
            *slot = name;
        }
    }
    *out_names = names;
    *out_count = count;
}
