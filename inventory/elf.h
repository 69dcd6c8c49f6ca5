#ifndef INVENTORY_ELF_H
#define INVENTORY_ELF_H

/* Reads Linux's library format out of bytes that somebody else wrote: 64-bit, little endian. Finds
   everything through the program headers, as the dynamic loader does; section headers serve only
   to find .rodata and to notice a file that was cut short. Never maps, relocates or runs anything.
   All names and numbers are those of the System V gABI ("Object Files") and the GNU hash table of
   glibc. Texts go to the caller's arena. */

#include "base/arena.h"
#include "base/bytes.h"

enum elf_type { ELF_TYPE_REL = 1, ELF_TYPE_EXEC = 2, ELF_TYPE_DYN = 3, ELF_TYPE_CORE = 4 };
enum elf_machine { ELF_MACHINE_386 = 3, ELF_MACHINE_X86_64 = 62, ELF_MACHINE_AARCH64 = 183 };

struct elf {
    struct bytes file;
    bool is_64;     /* ELFCLASS64 */
    bool is_little; /* ELFDATA2LSB */
    uint16_t type, machine;
    uint64_t program_headers, section_headers; /* file offsets; 0 = none */
    uint16_t program_size, program_count;      /* bytes each, number */
    uint16_t section_size, section_count, section_names;
};

/* What the dynamic section says. */
struct elf_dynamic {
    const char *soname;   /* NULL when it has none */
    const char *run_path; /* DT_RUNPATH, else DT_RPATH; NULL */
    const char **needed;
    size_t needed_count;
    uint64_t symbols;        /* address of .dynsym; 0 = none */
    uint64_t hash, gnu_hash; /* addresses; 0 = none */
    struct bytes strings;    /* .dynstr; empty = none */
};

/* Reads the header and holds segments and section headers against the file's size. NULL, or what
   is wrong in words ("ends before its section headers do (700 of 1234 bytes)"). Of anything but
   64-bit little endian only the fields up to `machine` are read, and nothing is wrong. */
const char *elf_open(struct arena *arena, struct bytes file, struct elf *out_elf);

/* False when there is no dynamic section: then nothing can load it. */
bool elf_dynamic(struct arena *arena, const struct elf *elf, struct elf_dynamic *out_dynamic);

/* The four bytes of a defined data symbol, found through the hash tables as the loader does;
   false when it is not there or not backed by the file. */
bool elf_symbol_u32(const struct elf *elf, const struct elf_dynamic *dynamic, const char *name,
                    uint32_t *out_value);

/* The bytes in the file of segment `index` when it is loaded to be read only. */
bool elf_read_only_segment(const struct elf *elf, uint32_t index, struct bytes *out_bytes);

/* A section by its name; false without section headers. */
bool elf_section(const struct elf *elf, const char *name, struct bytes *out_bytes);

#endif
