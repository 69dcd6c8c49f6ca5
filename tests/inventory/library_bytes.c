#include "tests/inventory/library_bytes.h"

#include "tests/test.h"

/* ---- writing ---- */

void library_bytes_put(struct library_bytes *library, size_t at, unsigned width, uint64_t value)
{
    assert_true(at + width <= sizeof library->data);
    for (unsigned i = 0; i < width; i++) {
        library->data[at + i] = (uint8_t)(value >> (8 * i));
    }
    if (library->size < at + width) {
        library->size = at + width;
    }
}

uint64_t library_bytes_get(const struct library_bytes *library, size_t at, unsigned width)
{
    uint64_t value = 0;
    for (unsigned i = 0; i < width; i++) {
        value |= (uint64_t)library->data[at + i] << (8 * i);
    }
    return value;
}

static void put_u16(struct library_bytes *library, size_t at, uint64_t value)
{
    library_bytes_put(library, at, 2, value);
}

static void put_u32(struct library_bytes *library, size_t at, uint64_t value)
{
    library_bytes_put(library, at, 4, value);
}

static void put_u64(struct library_bytes *library, size_t at, uint64_t value)
{
    library_bytes_put(library, at, 8, value);
}

/* Room at the end; returns where it begins. */
static size_t add_room(struct library_bytes *library, size_t size, size_t alignment)
{
    size_t at = (library->size + alignment - 1) / alignment * alignment;
    assert_true(at + size <= sizeof library->data);
    library->size = at + size;
    return at;
}

static size_t add_text(struct library_bytes *library, const char *text)
{
    size_t at = add_room(library, strlen(text) + 1, 1);
    memcpy(library->data + at, text, strlen(text) + 1);
    return at;
}

static void put_text(struct library_bytes *library, size_t at, const char *text)
{
    assert_true(at + strlen(text) <= library->size);
    memcpy(library->data + at, text, strlen(text));
}

static size_t list_count(const char *const names[LIBRARY_BYTES_LIST])
{
    size_t count = 0;
    while (count < LIBRARY_BYTES_LIST && names[count] != NULL) {
        count++;
    }
    return count;
}

static size_t export_count(const struct exported exports[LIBRARY_BYTES_LIST])
{
    size_t count = 0;
    while (count < LIBRARY_BYTES_LIST && exports[count].name != NULL) {
        count++;
    }
    return count;
}

struct bytes library_bytes_of(const struct library_bytes *library)
{
    return (struct bytes){.data = library->data, .size = library->size};
}

struct bytes library_bytes_cut(const struct library_bytes *library, size_t size)
{
    uint8_t *copy = malloc(size == 0 ? 1 : size);
    assert_non_null(copy);
    memcpy(copy, library->data, size);
    return (struct bytes){.data = copy, .size = size};
}

/* ---- PE ---- */

enum { PE_COFF = 0x80, PE_SECTIONS = 2, PE_HEADERS = 0x400, PE_ALIGNMENT = 0x200 };

static size_t rdata_rva(size_t offset)
{
    return offset - PE_HEADERS + LIBRARY_BYTES_RDATA_RVA;
}

static void put_directory(struct library_bytes *out, unsigned index, size_t rva, size_t size)
{
    put_u32(out, out->pe.directories + 8 * (size_t)index, rva);
    put_u32(out, out->pe.directories + 8 * (size_t)index + 4, size);
}

static void put_section(struct library_bytes *out, unsigned index, const char *name, size_t rva,
                        size_t offset, size_t size)
{
    size_t at = out->pe.sections + 40 * (size_t)index;
    put_text(out, at, name);
    put_u32(out, at + 8, size);
    put_u32(out, at + 12, rva);
    put_u32(out, at + 16, size);
    put_u32(out, at + 20, offset);
}

static void put_headers(struct library_bytes *out, const struct pe_parts *parts)
{
    size_t fixed = parts->pe32 ? 96 : 112;
    out->size = PE_HEADERS;
    out->pe.coff = PE_COFF;
    out->pe.optional = PE_COFF + 24;
    out->pe.directories = out->pe.optional + fixed;
    out->pe.sections = out->pe.directories + 16 * 8;
    put_text(out, 0, "MZ");
    put_u32(out, 0x3C, PE_COFF);
    put_text(out, PE_COFF, "PE");
    put_u16(out, PE_COFF + 4, parts->machine != 0 ? parts->machine : 0x8664);
    put_u16(out, PE_COFF + 6, PE_SECTIONS);
    put_u16(out, PE_COFF + 20, fixed + 16 * 8);
    put_u16(out, PE_COFF + 22, parts->is_program ? 0x0022 : 0x2022);
    put_u16(out, out->pe.optional, parts->pe32 ? 0x10B : 0x20B);
    put_u32(out, out->pe.optional + 60, PE_HEADERS);
    put_u32(out, out->pe.directories - 4, 16);
}

/* Each value is put before the directory, as what lies inside it is a forwarder. The table of
   functions runs against that of the names, with a row before them that no name has. */
static void add_exports(struct library_bytes *out, const struct pe_parts *parts)
{
    size_t count = export_count(parts->exports);
    size_t values = add_room(out, 4 * count, 4);
    size_t directory = add_room(out, 40, 4);
    size_t functions = add_room(out, 4 * (count + 1), 4);
    size_t names = add_room(out, 4 * count, 4);
    size_t ordinals = add_room(out, 2 * count, 4);
    put_u32(out, directory + 12, rdata_rva(add_text(out, parts->dll_name)));
    put_u32(out, directory + 16, 1);
    put_u32(out, directory + 20, count + 1);
    put_u32(out, directory + 24, count);
    put_u32(out, directory + 28, rdata_rva(functions));
    put_u32(out, directory + 32, rdata_rva(names));
    put_u32(out, directory + 36, rdata_rva(ordinals));
    for (size_t i = 0; i < count; i++) {
        const struct exported *export = &parts->exports[i];
        size_t ordinal = count - i;
        size_t target = values + 4 * i;
        put_u32(out, target, export->value);
        if (export->forward != NULL) {
            target = add_text(out, export->forward);
        }
        put_u32(out, functions + 4 * ordinal, rdata_rva(target));
        put_u16(out, ordinals + 2 * i, ordinal);
        put_u32(out, names + 4 * i, rdata_rva(add_text(out, export->name)));
    }
    put_directory(out, 0, rdata_rva(directory), out->size - directory);
    out->pe.export_directory = directory;
    out->pe.export_functions = functions;
    out->pe.export_names = names;
    out->pe.export_ordinals = ordinals;
}

/* Rows, and one of zeros at the end. */
static size_t add_imports(struct library_bytes *out, const char *const names[LIBRARY_BYTES_LIST],
                          unsigned directory, size_t row_size, size_t name_at)
{
    size_t count = list_count(names);
    if (count == 0) {
        return 0;
    }
    size_t table = add_room(out, row_size * (count + 1), 4);
    for (size_t i = 0; i < count; i++) {
        put_u32(out, table + row_size * i + name_at, rdata_rva(add_text(out, names[i])));
    }
    put_directory(out, directory, rdata_rva(table), row_size * (count + 1));
    return table;
}

/* Length (close_block() knows it), value's length, type, key. */
static size_t open_block(struct library_bytes *out, const char *key, size_t value_length, bool text)
{
    size_t block = add_room(out, 6 + 2 * (strlen(key) + 1), 4);
    put_u16(out, block + 2, value_length);
    put_u16(out, block + 4, text ? 1 : 0);
    for (size_t i = 0; key[i] != '\0'; i++) {
        put_u16(out, block + 6 + 2 * i, (uint8_t)key[i]);
    }
    return block;
}

static void close_block(struct library_bytes *out, size_t block)
{
    put_u16(out, block, out->size - block);
}

static void add_string(struct library_bytes *out, const char *key, const char *text)
{
    size_t block = open_block(out, key, strlen(text) + 1, true);
    size_t value = add_room(out, 2 * (strlen(text) + 1), 4);
    for (size_t i = 0; text[i] != '\0'; i++) {
        put_u16(out, value + 2 * i, (uint8_t)text[i]);
    }
    close_block(out, block);
}

static void add_version_info(struct library_bytes *out, const struct pe_parts *parts)
{
    size_t root = open_block(out, "VS_VERSION_INFO", 52, false);
    size_t fixed = add_room(out, 52, 4);
    put_u32(out, fixed, 0xFEEF04BD);
    put_u16(out, fixed + 8, parts->version[1]);
    put_u16(out, fixed + 10, parts->version[0]);
    put_u16(out, fixed + 12, parts->version[3]);
    put_u16(out, fixed + 14, parts->version[2]);
    put_u16(out, fixed + 18, 77); /* the product's version, which is another */
    size_t strings = open_block(out, "StringFileInfo", 0, true);
    size_t table = open_block(out, "040904B0", 0, true);
    add_string(out, "CompanyName", "NVIDIA Corporation");
    if (parts->original_name != NULL) {
        add_string(out, "OriginalFilename", parts->original_name);
    }
    close_block(out, table);
    close_block(out, strings);
    close_block(out, root);
    out->pe.version_info = root;
}

/* Type, name, language; another type comes first and leads nowhere. */
static void add_resources(struct library_bytes *out, const struct pe_parts *parts)
{
    enum { IS_DIRECTORY = 1 << 15 };
    size_t start = add_room(out, 0, 4);
    size_t types = add_room(out, 16 + 2 * 8, 4);
    size_t names = add_room(out, 16 + 8, 4);
    size_t languages = add_room(out, 16 + 8, 4);
    size_t leaf = add_room(out, 16, 4);
    put_u16(out, types + 14, 2);
    put_u32(out, types + 16, 14);
    put_u32(out, types + 20, 0xFFFFFF);
    put_u32(out, types + 24, 16);
    put_u32(out, types + 28, names - start);
    put_u16(out, types + 30, IS_DIRECTORY);
    put_u16(out, names + 14, 1);
    put_u32(out, names + 16, 1);
    put_u32(out, names + 20, languages - start);
    put_u16(out, names + 22, IS_DIRECTORY);
    put_u16(out, languages + 14, 1);
    put_u32(out, languages + 16, 0x409);
    put_u32(out, languages + 20, leaf - start);
    add_version_info(out, parts);
    put_u32(out, leaf, out->pe.version_info - start + LIBRARY_BYTES_RSRC_RVA);
    put_u32(out, leaf + 4, out->size - out->pe.version_info);
    put_directory(out, 2, LIBRARY_BYTES_RSRC_RVA, out->size - start);
    out->pe.resources = start;
}

void library_bytes_pe(struct library_bytes *out, const struct pe_parts *parts)
{
    *out = (struct library_bytes){0};
    put_headers(out, parts);
    add_text(out, "first"); /* so that no section begins with what is looked for */
    for (size_t i = 0; i < list_count(parts->texts); i++) {
        add_text(out, parts->texts[i]);
    }
    if (parts->dll_name != NULL) {
        add_exports(out, parts);
    }
    out->pe.imports = add_imports(out, parts->imports, 1, 20, 12);
    out->pe.delay_imports = add_imports(out, parts->delay_imports, 13, 32, 4);
    add_room(out, 0, PE_ALIGNMENT);
    size_t rsrc = out->size;
    put_section(out, 0, ".rdata", LIBRARY_BYTES_RDATA_RVA, PE_HEADERS, rsrc - PE_HEADERS);
    if (parts->original_name != NULL || (parts->version[0] | parts->version[1]) != 0) {
        add_resources(out, parts);
    }
    add_room(out, out->size == rsrc ? PE_ALIGNMENT : 0, PE_ALIGNMENT);
    put_section(out, 1, ".rsrc", LIBRARY_BYTES_RSRC_RVA, rsrc, out->size - rsrc);
}

/* ---- ELF ---- */

enum {
    ELF_HEADER = 64,
    ELF_PROGRAM = 56,
    ELF_PROGRAMS = 3,
    ELF_SECTION = 64,
    ELF_SYMBOL = 24,
    ELF_BUCKETS = 3,
    ELF_SHIFT = 0x5000 /* second segment: address minus file offset */
};

static uint32_t gnu_hash_of(const char *name)
{
    uint32_t hash = 5381;
    for (; *name != '\0'; name++) {
        hash = hash * 33 + (uint8_t)*name;
    }
    return hash;
}

/* gABI, "Hash Table" */
static uint32_t sysv_hash_of(const char *name)
{
    uint32_t hash = 0;
    for (; *name != '\0'; name++) {
        hash = (hash << 4) + (uint8_t)*name;
        uint32_t high = hash & 0xF0000000;
        hash ^= high >> 24;
        hash &= ~high;
    }
    return hash;
}

/* As both tables want them: the undefined ones first, then by GNU bucket. */
static size_t order_symbols(const struct elf_parts *parts,
                            const struct exported *ordered[LIBRARY_BYTES_LIST])
{
    size_t count = 0;
    for (unsigned bucket = 0; bucket <= ELF_BUCKETS; bucket++) {
        for (size_t i = 0; i < export_count(parts->symbols); i++) {
            const struct exported *symbol = &parts->symbols[i];
            unsigned own = symbol->undefined ? 0 : 1 + gnu_hash_of(symbol->name) % ELF_BUCKETS;
            if (own == bucket) {
                ordered[count++] = symbol;
            }
        }
    }
    return count;
}

/* Symbol i + 1 is ordered[i]; the value of each lies in the first segment. */
static void put_symbols(struct library_bytes *out, const struct exported **ordered, size_t count,
                        size_t values)
{
    for (size_t i = 0; i < count; i++) {
        size_t at = out->elf.symbols + ELF_SYMBOL * (i + 1);
        put_u32(out, at, add_text(out, ordered[i]->name) - out->elf.strings);
        put_u16(out, at + 6, ordered[i]->undefined ? 0 : 1);
        put_u64(out, at + 8, values + 4 * i);
        put_u32(out, values + 4 * i, ordered[i]->value);
    }
}

static void add_gnu_hash(struct library_bytes *out, const struct exported **ordered, size_t count)
{
    size_t first = 0;
    while (first < count && ordered[first]->undefined) {
        first++;
    }
    size_t table = add_room(out, 16 + 8 + 4 * (size_t)ELF_BUCKETS + 4 * (count - first), 8);
    size_t buckets = table + 24;
    size_t chains = buckets + 4 * (size_t)ELF_BUCKETS;
    put_u32(out, table, ELF_BUCKETS);
    put_u32(out, table + 4, first + 1);
    put_u32(out, table + 8, 1);
    put_u32(out, table + 12, 6);
    put_u64(out, table + 16, UINT64_MAX); /* a filter that lets everything through */
    for (size_t i = first; i < count; i++) {
        uint32_t hash = gnu_hash_of(ordered[i]->name);
        size_t bucket = buckets + 4 * (size_t)(hash % ELF_BUCKETS);
        bool last =
            i + 1 == count || gnu_hash_of(ordered[i + 1]->name) % ELF_BUCKETS != hash % ELF_BUCKETS;
        if (library_bytes_get(out, bucket, 4) == 0) {
            put_u32(out, bucket, i + 1);
        }
        put_u32(out, chains + 4 * (i - first), (hash & ~UINT32_C(1)) | (last ? 1 : 0));
    }
    out->elf.gnu_hash = table;
}

static void add_sysv_hash(struct library_bytes *out, const struct exported **ordered, size_t count)
{
    size_t table = add_room(out, 8 + 4 * (size_t)ELF_BUCKETS + 4 * (count + 1), 8);
    size_t chains = table + 8 + 4 * (size_t)ELF_BUCKETS;
    put_u32(out, table, ELF_BUCKETS);
    put_u32(out, table + 4, count + 1);
    for (size_t i = 0; i < count; i++) {
        size_t bucket = table + 8 + 4 * (size_t)(sysv_hash_of(ordered[i]->name) % ELF_BUCKETS);
        put_u32(out, chains + 4 * (i + 1), library_bytes_get(out, bucket, 4));
        put_u32(out, bucket, i + 1);
    }
    out->elf.hash = table;
}

static void put_tag(struct library_bytes *out, size_t *row, uint64_t tag, uint64_t value)
{
    put_u64(out, out->elf.dynamic + 16 * *row, tag);
    put_u64(out, out->elf.dynamic + 16 * *row + 8, value);
    (*row)++;
}

static void put_text_tag(struct library_bytes *out, size_t *row, uint64_t tag, const char *text)
{
    if (text != NULL) {
        put_tag(out, row, tag, add_text(out, text) - out->elf.strings);
    }
}

/* The dynamic section's rows; texts behind those of the symbols, then the tables. */
static void put_dynamic(struct library_bytes *out, const struct elf_parts *parts,
                        const struct exported **ordered, size_t count)
{
    size_t row = 0;
    for (size_t i = 0; i < list_count(parts->needed); i++) {
        put_text_tag(out, &row, 1, parts->needed[i]);
    }
    put_text_tag(out, &row, 14, parts->soname);
    put_text_tag(out, &row, 15, parts->rpath);
    put_text_tag(out, &row, 29, parts->run_path);
    put_tag(out, &row, 5, out->elf.strings + ELF_SHIFT);
    put_tag(out, &row, 10, out->size - out->elf.strings);
    put_tag(out, &row, 6, out->elf.symbols);
    if (!parts->no_gnu_hash) {
        add_gnu_hash(out, ordered, count);
        put_tag(out, &row, 0x6FFFFEF5, out->elf.gnu_hash + ELF_SHIFT);
    }
    if (parts->sysv_hash) {
        add_sysv_hash(out, ordered, count);
        put_tag(out, &row, 4, out->elf.hash + ELF_SHIFT);
    }
}

static void put_program(struct library_bytes *out, unsigned index, uint32_t type, size_t offset,
                        size_t shift, size_t size)
{
    size_t at = out->elf.program_headers + ELF_PROGRAM * (size_t)index;
    put_u32(out, at, type);
    put_u32(out, at + 4, shift == 0 ? 4 : 6); /* the second segment can be written to */
    put_u64(out, at + 8, offset);
    put_u64(out, at + 16, offset + shift);
    put_u64(out, at + 32, size);
    put_u64(out, at + 40, size);
}

/* None, .rodata and the names of the sections. */
static void add_sections(struct library_bytes *out, size_t rodata, size_t rodata_size)
{
    size_t names = add_text(out, "");
    size_t name = add_text(out, ".rodata");
    size_t own_name = add_text(out, ".shstrtab");
    size_t names_size = out->size - names;
    size_t table = add_room(out, 3 * (size_t)ELF_SECTION, 8);
    put_u32(out, table + ELF_SECTION, name - names);
    put_u32(out, table + ELF_SECTION + 4, 1);
    put_u64(out, table + ELF_SECTION + 24, rodata);
    put_u64(out, table + ELF_SECTION + 32, rodata_size);
    put_u32(out, table + 2 * (size_t)ELF_SECTION, own_name - names);
    put_u32(out, table + 2 * (size_t)ELF_SECTION + 4, 3);
    put_u64(out, table + 2 * (size_t)ELF_SECTION + 24, names);
    put_u64(out, table + 2 * (size_t)ELF_SECTION + 32, names_size);
    out->elf.section_headers = table;
    put_u64(out, 40, table);
    put_u16(out, 58, ELF_SECTION);
    put_u16(out, 60, 3);
    put_u16(out, 62, 2);
}

static void put_elf_header(struct library_bytes *out, const struct elf_parts *parts)
{
    out->elf.program_headers = ELF_HEADER;
    add_room(out, ELF_HEADER + ELF_PROGRAMS * (size_t)ELF_PROGRAM, 1);
    library_bytes_put(out, 0, 4, 0x464C457F);
    library_bytes_put(out, 4, 3, 0x010102); /* 64-bit, little endian, version 1 */
    put_u16(out, 16, parts->type != 0 ? parts->type : 3);
    put_u16(out, 18, parts->machine != 0 ? parts->machine : 62);
    put_u64(out, 32, ELF_HEADER);
    put_u16(out, 54, ELF_PROGRAM);
    put_u16(out, 56, ELF_PROGRAMS);
}

void library_bytes_elf(struct library_bytes *out, const struct elf_parts *parts)
{
    const struct exported *ordered[LIBRARY_BYTES_LIST];
    size_t count = order_symbols(parts, ordered);
    *out = (struct library_bytes){0};
    put_elf_header(out, parts);
    size_t rodata = add_text(out, "first");
    for (size_t i = 0; i < list_count(parts->texts); i++) {
        add_text(out, parts->texts[i]);
    }
    size_t rodata_size = out->size - rodata;
    size_t values = add_room(out, 4 * count, 4);
    out->elf.symbols = add_room(out, ELF_SYMBOL * (count + 1), 8);
    out->elf.symbol_count = count + 1;
    size_t first_size = out->size;
    size_t second = add_room(out, 0, 64);
    size_t dynamic_size = 16 * (size_t)(LIBRARY_BYTES_LIST + 10);
    out->elf.dynamic = add_room(out, dynamic_size, 8);
    out->elf.strings = add_text(out, "");
    put_symbols(out, ordered, count, values);
    put_dynamic(out, parts, ordered, count);
    put_program(out, 0, 1, 0, 0, first_size);
    put_program(out, 1, 1, second, ELF_SHIFT, out->size - second);
    if (!parts->no_dynamic) {
        put_program(out, 2, 2, second, ELF_SHIFT, dynamic_size);
    }
    if (!parts->no_sections) {
        add_sections(out, rodata, rodata_size);
    }
}
