#ifndef INVENTORY_PE_H
#define INVENTORY_PE_H

/* Reads Windows' library format out of bytes that somebody else wrote: headers, sections, export
   and import tables, the version resource. Never maps, relocates or runs anything. All names and
   numbers are those of Microsoft's "PE Format". Texts go to the caller's arena. */

#include "base/arena.h"
#include "base/bytes.h"
#include "base/version.h"

enum pe_machine { PE_MACHINE_I386 = 0x14C, PE_MACHINE_AMD64 = 0x8664, PE_MACHINE_ARM64 = 0xAA64 };

enum pe_directory {
    PE_DIRECTORY_EXPORT = 0,
    PE_DIRECTORY_IMPORT = 1,
    PE_DIRECTORY_RESOURCE = 2,
    PE_DIRECTORY_DELAY_IMPORT = 13
};

struct pe {
    struct bytes file;
    uint16_t machine;
    bool is_dll; /* IMAGE_FILE_DLL */
    uint32_t header_size;
    uint64_t section_table; /* file offset */
    uint32_t section_count;
    uint64_t directories; /* file offset of the data directories */
    uint32_t directory_count;
};

struct pe_section {
    char name[9]; /* printable ASCII, anything else replaced by '?' */
    uint32_t rva, virtual_size;
    uint32_t file_offset, file_size; /* file_size 0: nothing of it is in the file */
};

/* Reads the headers and holds every section against the file's size. NULL, or what is wrong in
   words ("ends before section .rdata does (700 of 1234 bytes)"); out_pe->machine is set whenever
   the header could be read, else 0. */
const char *pe_open(struct arena *arena, struct bytes file, struct pe *out_pe);

bool pe_section_at(const struct pe *pe, uint32_t index, struct pe_section *out_section);
bool pe_section_bytes(const struct pe *pe, const struct pe_section *section, struct bytes *out);

/* The bytes in the file from an address (relative to the image) to the end of its section. */
bool pe_at(const struct pe *pe, uint64_t rva, struct bytes *out_rest);

/* The bytes from the start of a data directory to the end of its section. */
bool pe_directory_bytes(const struct pe *pe, enum pe_directory which, struct bytes *out);

/* FileVersion (VS_FIXEDFILEINFO, four numbers) and OriginalFilename (NULL) of the first version
   resource. False when there is none; outputs are unknown and NULL then. */
bool pe_version_resource(struct arena *arena, const struct pe *pe, struct version *out_version,
                         const char **out_original_name);

/* The four bytes an exported data symbol points to; false when it is not exported, forwarded to
   another library or not backed by the file. */
bool pe_export_u32(const struct pe *pe, const char *name, uint32_t *out_value);

/* The library's own name in its export directory; NULL when it exports nothing. */
const char *pe_export_name(struct arena *arena, const struct pe *pe);

/* Names of the libraries it imports, at load time or (delay) at first use. */
void pe_imports(struct arena *arena, const struct pe *pe, enum pe_directory which,
                const char ***out_names, size_t *out_count);

#endif
