#include "inventory/identify.h"

#include <string.h>

#include "base/text.h"
#include "inventory/cache.h"
#include "inventory/cuda_names.h"
#include "inventory/elf.h"
#include "inventory/files.h"
#include "inventory/not_library.h"
#include "inventory/pe.h"
#include "inventory/version_symbol.h"
#include "os/file.h"

/* What is searched for names of CUDA libraries at most. In NVIDIA's files the whole .rdata or
   .rodata of those that have such names is 1 to 6.4 MB. */
enum { MAX_SEARCHED_BYTES = 16 * 1024 * 1024 };

/* What the caller knows of a file besides its bytes. */
struct hints {
    const char *file_name;   /* NULL */
    const char *export_name; /* version symbol to look for; NULL */
    bool search_cuda;        /* search read-only data for names of CUDA libraries */
};

/* A cuDNN library that the table does not know yet is searched; other libraries are not. */
static struct hints hints_of(const char *file_name)
{
    struct files_name name;
    const struct cudnn_file *row = files_find(file_name);
    return (struct hints){
        .file_name = file_name,
        .export_name = row != NULL ? row->version_export : NULL,
        .search_cuda = row != NULL ? row->names_cuda : files_parse_name(file_name, &name),
    };
}

/* The symbols to try: the one of the name it is known by, and the one of the name it gives itself,
   which is what a renamed copy still has. */
static size_t exports_to_try(const struct hints *hints, const char *internal_name,
                             const char *out_names[2])
{
    size_t count = 0;
    const struct cudnn_file *own = internal_name != NULL ? files_find(internal_name) : NULL;
    if (hints->export_name != NULL) {
        out_names[count++] = hints->export_name;
    }
    if (own != NULL && own->version_export != NULL &&
        (count == 0 || !text_equal(own->version_export, out_names[0]))) {
        out_names[count++] = own->version_export;
    }
    return count;
}

/* Names that it imports say it as well as names in its data, and cost nothing. */
static void add_imports(struct cuda_names *names, const struct identity *identity)
{
    for (size_t i = 0; i < identity->import_count; i++) {
        cuda_names_add(names, identity->imports[i]);
    }
    for (size_t i = 0; i < identity->delay_import_count; i++) {
        cuda_names_add(names, identity->delay_imports[i]);
    }
}

static void search_data(struct cuda_names *names, struct bytes data)
{
    if (data.size > MAX_SEARCHED_BYTES) {
        data.size = MAX_SEARCHED_BYTES;
    }
    cuda_names_search(names, data);
}

/* ---- PE ---- */

static enum arch pe_arch(uint16_t machine)
{
    switch (machine) {
    case PE_MACHINE_AMD64:
        return ARCH_X86_64;
    case PE_MACHINE_I386:
        return ARCH_X86;
    case PE_MACHINE_ARM64:
        return ARCH_ARM64;
    case 0:
        return ARCH_UNKNOWN;
    default:
        return ARCH_OTHER;
    }
}

/* The resource first: it has all four numbers. In every real file that has both (ops, adv of 9,
   five libraries of 8) the symbol says the same, so it is read only where there is no resource. */
static void pe_version(struct arena *arena, const struct pe *pe, const struct hints *hints,
                       struct identity *out)
{
    const char *original_name;
    if (pe_version_resource(arena, pe, &out->version, &original_name)) {
        out->internal_name = original_name;
    }
    if (out->internal_name == NULL) {
        out->internal_name = pe_export_name(arena, pe);
    }
    if (version_known(out->version)) {
        out->version_source = VERSION_SOURCE_RESOURCE;
        return;
    }
    const char *names[2];
    size_t count = exports_to_try(hints, out->internal_name, names);
    for (size_t i = 0; i < count; i++) {
        uint32_t value;
        if (pe_export_u32(pe, names[i], &value) && version_symbol_decode(value, &out->version)) {
            out->version_source = VERSION_SOURCE_EXPORT;
            return;
        }
    }
}

/* Where Microsoft's linker puts texts. Not .nv_fatb and .nvFatBi (code for GPUs, up to 94 % of
   a file), not .cask_re. */
static bool pe_read_only_data(const struct pe *pe, struct bytes *out)
{
    for (uint32_t i = 0; i < pe->section_count; i++) {
        struct pe_section section;
        if (pe_section_at(pe, i, &section) && text_equal(section.name, ".rdata")) {
            return pe_section_bytes(pe, &section, out);
        }
    }
    return false;
}

static void identify_pe(struct arena *arena, struct bytes bytes, const struct hints *hints,
                        struct identity *out)
{
    struct pe pe;
    struct bytes data;
    out->problem = pe_open(arena, bytes, &pe);
    out->arch = pe_arch(pe.machine);
    if (out->problem != NULL) {
        return;
    }
    if (!pe.is_dll) {
        out->problem = "is a program, not a library";
    }
    out->is_library = pe.is_dll;
    pe_version(arena, &pe, hints, out);
    pe_imports(arena, &pe, PE_DIRECTORY_IMPORT, &out->imports, &out->import_count);
    pe_imports(arena, &pe, PE_DIRECTORY_DELAY_IMPORT, &out->delay_imports,
               &out->delay_import_count);
    struct cuda_names names = {0};
    add_imports(&names, out);
    if (hints->search_cuda && pe_read_only_data(&pe, &data)) {
        search_data(&names, data);
    }
    out->cuda_major = cuda_names_result(&names);
}

/* ---- ELF ---- */

static enum arch elf_arch(const struct elf *elf)
{
    if (elf->machine == 0) {
        return ARCH_UNKNOWN;
    }
    if (!elf->is_little) {
        return ARCH_OTHER;
    }
    if (!elf->is_64) {
        return elf->machine == ELF_MACHINE_386 ? ARCH_X86 : ARCH_OTHER;
    }
    switch (elf->machine) {
    case ELF_MACHINE_X86_64:
        return ARCH_X86_64;
    case ELF_MACHINE_AARCH64:
        return ARCH_ARM64;
    default:
        return ARCH_OTHER;
    }
}

static const char *elf_kind_problem(const struct elf *elf)
{
    switch (elf->type) {
    case ELF_TYPE_DYN:
        return NULL;
    case ELF_TYPE_EXEC:
        return "is a program, not a library";
    case ELF_TYPE_REL:
        return "is an object file, not a library";
    case ELF_TYPE_CORE:
        return "is a memory dump, not a library";
    default:
        return "has a damaged header: it says no known kind of ELF file";
    }
}

static void elf_version(const struct elf *elf, const struct elf_dynamic *dynamic,
                        const struct hints *hints, struct identity *out)
{
    const char *names[2];
    size_t count = exports_to_try(hints, out->internal_name, names);
    for (size_t i = 0; i < count; i++) {
        uint32_t value;
        if (elf_symbol_u32(elf, dynamic, names[i], &value) &&
            version_symbol_decode(value, &out->version)) {
            out->version_source = VERSION_SOURCE_EXPORT;
            return;
        }
    }
    struct files_name name;
    if (hints->file_name != NULL && files_parse_name(hints->file_name, &name) &&
        version_known(name.version)) {
        out->version = name.version;
        out->version_source = VERSION_SOURCE_FILE_NAME;
    }
}

/* A file stripped of its section headers still loads, and has its texts in a segment that may only
   be read. */
static void search_elf(struct cuda_names *names, const struct elf *elf)
{
    struct bytes data;
    if (elf_section(elf, ".rodata", &data)) {
        search_data(names, data);
        return;
    }
    for (uint32_t i = 0; i < elf->program_count; i++) {
        if (elf_read_only_segment(elf, i, &data)) {
            search_data(names, data);
        }
    }
}

static void identify_elf(struct arena *arena, struct bytes bytes, const struct hints *hints,
                         struct identity *out)
{
    struct elf elf;
    struct elf_dynamic dynamic;
    out->is_elf = true;
    out->problem = elf_open(arena, bytes, &elf);
    out->arch = elf_arch(&elf);
    if (out->problem != NULL) {
        return;
    }
    if (!elf.is_64 || !elf.is_little) { /* a library, but not for any machine served here */
        out->is_library = true;
        return;
    }
    out->problem = elf_kind_problem(&elf);
    if (!elf_dynamic(arena, &elf, &dynamic)) {
        if (out->problem == NULL) {
            out->problem = "has no dynamic section, so that nothing can load it";
        }
        return;
    }
    out->is_library = out->problem == NULL;
    out->internal_name = dynamic.soname;
    out->run_path = dynamic.run_path;
    out->imports = dynamic.needed;
    out->import_count = dynamic.needed_count;
    elf_version(&elf, &dynamic, hints, out);
    struct cuda_names names = {0};
    add_imports(&names, out);
    if (hints->search_cuda) {
        search_elf(&names, &elf);
    }
    out->cuda_major = cuda_names_result(&names);
}

/* ---- */

static void identify(struct arena *arena, struct bytes bytes, const struct hints *hints,
                     struct identity *out)
{
    struct identity identity = {.size_bytes = bytes.size};
    switch (not_library_format(bytes)) {
    case FORMAT_PE:
        identify_pe(arena, bytes, hints, &identity);
        break;
    case FORMAT_ELF:
        identify_elf(arena, bytes, hints, &identity);
        break;
    case FORMAT_OTHER:
        identity.problem = not_library_problem(bytes);
        break;
    }
    *out = identity;
}

void identify_bytes(struct arena *arena, struct bytes bytes, const char *export_name,
                    struct identity *out_identity)
{
    const struct hints hints = {.export_name = export_name, .search_cuda = true};
    identify(arena, bytes, &hints, out_identity);
}

void identify_bytes_named(struct arena *arena, struct bytes bytes, const char *file_name,
                          struct identity *out_identity)
{
    const struct hints hints = hints_of(file_name);
    identify(arena, bytes, &hints, out_identity);
}

/* What the reader of a mapped file works with and leaves behind: all of it in the arena or here,
   as a read error leaves the reader by a jump. */
struct reading {
    struct arena *arena;
    struct hints hints;
    struct os_file_info info;
    struct identity identity;
};

static int read_mapped(struct bytes bytes, const struct os_file_info *info, void *context,
                       struct err *err)
{
    struct reading *reading = context;
    (void)err;
    reading->info = *info;
    identify(reading->arena, bytes, &reading->hints, &reading->identity);
    reading->identity.modified_at_ms = info->modified_at_ms;
    return 0;
}

int identify_library(struct arena *arena, struct inventory_cache *cache, const char *system_path,
                     const char *file_name, struct identity *out_identity, struct err *err)
{
    struct os_file_info info;
    int code = os_file_stat(system_path, &info, err);
    if (code != 0) {
        return code;
    }
    if (info.type != OS_FILE_REGULAR) {
        return err_set(err, ERR_FORMAT, "'%s' is not a regular file", system_path);
    }
    if (cache != NULL && cache_get(cache, arena, system_path, file_name, &info, out_identity)) {
        return 0;
    }
    struct reading reading = {.arena = arena, .hints = hints_of(file_name)};
    code = os_file_with_map(system_path, read_mapped, &reading, err);
    if (code != 0) {
        return code;
    }
    if (cache != NULL) {
        cache_put(cache, system_path, file_name, &reading.info, &reading.identity);
    }
    *out_identity = reading.identity;
    return 0;
}
