#include "inventory/pe.h"

#include <string.h>

#include "base/text.h"
#include "inventory/version_symbol.h"

enum {
    SECTIONS = 96, /* the loader's own limit */
    IMPORTS = 256,
    EXPORTS = 65536,
    NAME_BYTES = 512,
    RESOURCE_BYTES = 65536, /* a version resource has about 1 KB */
    RESOURCE_ENTRIES = 4096,
    RT_VERSION = 16,
    DIRECTORY_EXPORT = 0,
    DIRECTORY_IMPORT = 1,
    DIRECTORY_RESOURCE = 2,
};

struct section {
    char name[9];
    uint32_t address, virtual_size, offset, size;
};

struct image {
    struct bytes bytes;
    struct section sections[SECTIONS];
    unsigned section_count;
    uint64_t directories; /* offset of the data directories in the optional header */
    uint32_t directory_count;
};

bool pe_is(struct bytes bytes)
{
    return bytes.size >= 2 && bytes.data[0] == 'M' && bytes.data[1] == 'Z';
}

/* Relative virtual address -> offset in the file, and how many bytes of the file follow there. */
static bool at_address(const struct image *image, uint32_t address, uint64_t *out_offset,
                       uint64_t *out_left)
{
    for (unsigned i = 0; i < image->section_count; i++) {
        const struct section *section = &image->sections[i];
        if (address >= section->address && address - section->address < section->size) {
            uint32_t inside = address - section->address;
            *out_offset = (uint64_t)section->offset + inside;
            *out_left = section->size - inside;
            return bytes_has(image->bytes, *out_offset, 1);
        }
    }
    return false;
}

static bool text_at(const struct image *image, uint32_t address, const char **out_text)
{
    uint64_t offset, left;
    return at_address(image, address, &offset, &left) &&
           bytes_text(image->bytes, offset, left < NAME_BYTES ? (size_t)left : NAME_BYTES,
                      out_text);
}

static bool directory(const struct image *image, unsigned index, uint32_t *out_address,
                      uint32_t *out_size)
{
    return index < image->directory_count &&
           bytes_u32(image->bytes, image->directories + 8 * index, out_address) &&
           bytes_u32(image->bytes, image->directories + 8 * index + 4, out_size) &&
           *out_address != 0 && *out_size != 0;
}

/* ---- headers ("COFF File Header", "Optional Header", "Section Table") ---- */

static enum arch arch_of(uint16_t machine)
{
    static const struct {
        uint16_t machine;
        enum arch arch;
    } machines[] = {{0x8664, ARCH_X86_64}, {0x14c, ARCH_X86}, {0xAA64, ARCH_ARM64}};
    for (size_t i = 0; i < sizeof machines / sizeof *machines; i++) {
        if (machines[i].machine == machine) {
            return machines[i].arch;
        }
    }
    return ARCH_OTHER;
}

static bool read_section(struct bytes bytes, uint64_t offset, struct section *section)
{
    if (!bytes_has(bytes, offset, 40)) {
        return false;
    }
    memcpy(section->name, bytes.data + offset, 8);
    section->name[8] = '\0';
    return bytes_u32(bytes, offset + 8, &section->virtual_size) &&
           bytes_u32(bytes, offset + 12, &section->address) &&
           bytes_u32(bytes, offset + 16, &section->size) &&
           bytes_u32(bytes, offset + 20, &section->offset);
}

/* NULL, or what is wrong. */
static const char *read_headers(struct arena *arena, struct image *image, struct identity *identity)
{
    struct bytes bytes = image->bytes;
    uint32_t at, signature;
    uint16_t machine, sections, optional_size, magic;
    if (!bytes_u32(bytes, 0x3c, &at) || !bytes_u32(bytes, at, &signature)) {
        return "ends within its headers";
    }
    if (signature != 0x4550) { /* "PE\0\0" */
        return "is a DOS program, not a Windows library";
    }
    uint64_t optional = (uint64_t)at + 24;
    if (!bytes_u16(bytes, (uint64_t)at + 4, &machine) ||
        !bytes_u16(bytes, (uint64_t)at + 6, &sections) ||
        !bytes_u16(bytes, (uint64_t)at + 20, &optional_size) ||
        !bytes_u16(bytes, optional, &magic)) {
        return "ends within its headers";
    }
    identity->arch = arch_of(machine);
    if (magic != 0x10b && magic != 0x20b) { /* PE32, PE32+ */
        return "has no valid optional header";
    }
    uint64_t counts = optional + (magic == 0x20b ? 108 : 92);
    image->directories = counts + 4;
    if (!bytes_u32(bytes, counts, &image->directory_count)) {
        return "ends within its headers";
    }
    image->directory_count = image->directory_count > 16 ? 16 : image->directory_count;
    if (sections == 0 || sections > SECTIONS) {
        return "has no valid section table";
    }
    for (unsigned i = 0; i < sections; i++) {
        struct section *section = &image->sections[i];
        if (!read_section(bytes, optional + optional_size + 40 * (uint64_t)i, section)) {
            return "ends within its section table";
        }
        uint64_t end = (uint64_t)section->offset + section->size;
        if (end > bytes.size) {
            return arena_printf(arena,
                                "is truncated: section %s ends at byte %llu, the file has %llu",
                                text_utf8_clean(arena, arena_strdup(arena, section->name)),
                                (unsigned long long)end, (unsigned long long)bytes.size);
        }
        image->section_count = i + 1;
    }
    return NULL;
}

/* ---- the version resource ("The .rsrc Section"; VS_VERSIONINFO in the Windows SDK) ---- */

/* The entry with this id (or the first one) of a resource directory: where it leads. */
static bool resource_entry(struct bytes resources, uint32_t directory_at, bool any, uint32_t id,
                           uint32_t *out_leads_to)
{
    uint16_t named, ids;
    if (!bytes_u16(resources, (uint64_t)directory_at + 12, &named) ||
        !bytes_u16(resources, (uint64_t)directory_at + 14, &ids)) {
        return false;
    }
    uint32_t count = (uint32_t)named + ids;
    for (uint32_t i = 0; i < count && i < RESOURCE_ENTRIES; i++) {
        uint32_t entry_id, leads_to;
        uint64_t at = (uint64_t)directory_at + 16 + 8 * (uint64_t)i;
        if (!bytes_u32(resources, at, &entry_id) || !bytes_u32(resources, at + 4, &leads_to)) {
            return false;
        }
        if (any || entry_id == id) {
            *out_leads_to = leads_to;
            return true;
        }
    }
    return false;
}

/* Type, name, language: three levels, never more, so that a loop cannot hold us. */
static bool find_version_resource(const struct image *image, struct bytes *out_block)
{
    uint32_t address, size, next, data_address, data_size;
    uint64_t offset, left;
    struct bytes resources;
    if (!directory(image, DIRECTORY_RESOURCE, &address, &size) ||
        !at_address(image, address, &offset, &left) ||
        !bytes_part(image->bytes, offset, left < size ? left : size, &resources)) {
        return false;
    }
    const uint32_t subdirectory = 0x80000000;
    if (!resource_entry(resources, 0, false, RT_VERSION, &next) || (next & subdirectory) == 0 ||
        !resource_entry(resources, next & ~subdirectory, true, 0, &next) ||
        (next & subdirectory) == 0 ||
        !resource_entry(resources, next & ~subdirectory, true, 0, &next) ||
        (next & subdirectory) != 0) {
        return false;
    }
    return bytes_u32(resources, next, &data_address) &&
           bytes_u32(resources, (uint64_t)next + 4, &data_size) && data_size <= RESOURCE_BYTES &&
           at_address(image, data_address, &offset, &left) && data_size <= left &&
           bytes_part(image->bytes, offset, data_size, out_block);
}

/* VS_FIXEDFILEINFO begins with its signature; FileVersion follows 8 bytes later. */
static bool fixed_version(struct bytes block, struct version *out_version)
{
    static const uint8_t signature[] = {0xBD, 0x04, 0xEF, 0xFE};
    uint64_t at;
    uint32_t high, low;
    if (!bytes_find(block, 0, signature, sizeof signature, &at) ||
        !bytes_u32(block, at + 8, &high) || !bytes_u32(block, at + 12, &low) ||
        (high == 0 && low == 0)) {
        return false;
    }
    *out_version = (struct version){
        .part = {high >> 16, high & 0xFFFF, low >> 16, low & 0xFFFF},
        .count = 4,
    };
    return true;
}

/* The value of StringFileInfo's "OriginalFilename": UTF-16, NUL-terminated, behind its key and up
   to three bytes of padding. File names of libraries are ASCII; anything else is not taken. */
static const char *original_filename(struct arena *arena, struct bytes block)
{
    static const char key[] = "O\0r\0i\0g\0i\0n\0a\0l\0F\0i\0l\0e\0n\0a\0m\0e\0\0";
    uint64_t at;
    char name[256];
    size_t length = 0;
    if (!bytes_find(block, 0, key, sizeof key, &at)) {
        return NULL;
    }
    at += sizeof key;
    uint16_t unit;
    for (int padding = 0; padding < 2 && bytes_u16(block, at, &unit) && unit == 0; padding++) {
        at += 2;
    }
    for (; bytes_u16(block, at, &unit) && unit != 0; at += 2) {
        if (unit < 0x20 || unit > 0x7E || length + 1 >= sizeof name) {
            return NULL;
        }
        name[length++] = (char)unit;
    }
    return length == 0 ? NULL : arena_strndup(arena, name, length);
}

/* ---- exports ("The .edata Section") ---- */

struct exports {
    uint32_t address, size; /* of the directory: an export inside it is a forwarder */
    uint32_t name, function_count, name_count, functions, names, ordinals;
};

static bool read_exports(const struct image *image, struct exports *exports)
{
    uint64_t at, left;
    return directory(image, DIRECTORY_EXPORT, &exports->address, &exports->size) &&
           at_address(image, exports->address, &at, &left) && left >= 40 &&
           bytes_u32(image->bytes, at + 12, &exports->name) &&
           bytes_u32(image->bytes, at + 20, &exports->function_count) &&
           bytes_u32(image->bytes, at + 24, &exports->name_count) &&
           bytes_u32(image->bytes, at + 28, &exports->functions) &&
           bytes_u32(image->bytes, at + 32, &exports->names) &&
           bytes_u32(image->bytes, at + 36, &exports->ordinals);
}

static bool table_u32(const struct image *image, uint32_t table, uint32_t index,
                      uint32_t *out_value)
{
    uint64_t at, left;
    return table <= UINT32_MAX - 4 * index && at_address(image, table + 4 * index, &at, &left) &&
           bytes_u32(image->bytes, at, out_value);
}

/* The address of an exported name. */
static bool find_export(const struct image *image, const struct exports *exports, const char *name,
                        uint32_t *out_address)
{
    uint32_t count = exports->name_count < EXPORTS ? exports->name_count : EXPORTS;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t name_at;
        const char *text;
        if (!table_u32(image, exports->names, i, &name_at)) {
            return false;
        }
        if (!text_at(image, name_at, &text) || strcmp(text, name) != 0) {
            continue;
        }
        uint64_t at, left;
        uint16_t ordinal;
        return exports->ordinals <= UINT32_MAX - 2 * i &&
               at_address(image, exports->ordinals + 2 * i, &at, &left) &&
               bytes_u16(image->bytes, at, &ordinal) && ordinal < exports->function_count &&
               table_u32(image, exports->functions, ordinal, out_address) &&
               !(*out_address >= exports->address &&
                 *out_address - exports->address < exports->size);
    }
    return false;
}

static void identify_exports(struct arena *arena, const struct image *image,
                             const char *export_name, struct identity *identity)
{
    struct exports exports;
    const char *name;
    uint32_t address, value;
    if (!read_exports(image, &exports)) {
        return;
    }
    if (identity->internal_name == NULL && text_at(image, exports.name, &name) && *name != '\0') {
        identity->internal_name = arena_strdup(arena, text_utf8_clean(arena, name));
    }
    if (!version_known(identity->version) && export_name != NULL &&
        find_export(image, &exports, export_name, &address) &&
        table_u32(image, address, 0, &value) && version_symbol_decode(value, &identity->version)) {
        identity->version_source = VERSION_SOURCE_EXPORT;
    }
}

/* ---- imports ("The .idata Section"): a table of 20-byte rows, the last one empty ---- */

static void identify_imports(struct arena *arena, const struct image *image,
                             struct identity *identity)
{
    uint32_t table, size, name_at;
    uint64_t at, left;
    size_t capacity = 0;
    if (!directory(image, DIRECTORY_IMPORT, &table, &size) ||
        !at_address(image, table, &at, &left)) {
        return;
    }
    for (uint64_t row = 0; row < IMPORTS && 20 * (row + 1) <= left; row++) {
        const char *name;
        if (!bytes_u32(image->bytes, at + 20 * row + 12, &name_at) || name_at == 0) {
            return;
        }
        if (text_at(image, name_at, &name)) {
            *(const char **)arena_push(arena, &identity->imports, &identity->import_count,
                                       &capacity, sizeof name) =
                arena_strdup(arena, text_utf8_clean(arena, name));
        }
    }
}

void pe_identify(struct arena *arena, struct bytes bytes, const char *export_name,
                 struct identity *identity, struct bytes *out_strings)
{
    struct image image = {.bytes = bytes};
    struct bytes block;
    *out_strings = (struct bytes){0};
    identity->problem = read_headers(arena, &image, identity);
    if (identity->problem != NULL) {
        return;
    }
    identity->is_library = true;
    if (find_version_resource(&image, &block)) {
        identity->internal_name = original_filename(arena, block);
        if (fixed_version(block, &identity->version)) {
            identity->version_source = VERSION_SOURCE_RESOURCE;
        }
    }
    identify_exports(arena, &image, export_name, identity);
    identify_imports(arena, &image, identity);
    for (unsigned i = 0; i < image.section_count; i++) {
        if (strcmp(image.sections[i].name, ".rdata") == 0) {
            bytes_part(bytes, image.sections[i].offset, image.sections[i].size, out_strings);
            return;
        }
    }
}
