/* The version resource: three levels of directories (type, name, language), then a tree of
   length-prefixed blocks. "PE Format", "The .rsrc Section"; "VS_VERSIONINFO structure". */
#include "inventory/pe.h"

#include <string.h>

#include "base/text.h"
#include "inventory/read_text.h"

enum {
    TYPE_VERSION = 16, /* RT_VERSION */
    DIRECTORY_NAMED = 12,
    DIRECTORY_IDS = 14,
    DIRECTORY_ENTRIES = 16,
    ENTRY_SIZE = 8,
    MAX_ENTRIES = 4096,
    MAX_KEY_UNITS = 64,
    MAX_CHILDREN = 256
};
#define IS_DIRECTORY UINT32_C(0x80000000)
#define IS_NAMED UINT32_C(0x80000000)
#define FIXED_SIGNATURE UINT32_C(0xFEEF04BD)

/* The entry of a directory with this id, or the first of all when `any`: what it points to, with
   the high bit when that is a directory again. */
static bool find_entry(struct bytes resources, uint64_t directory, bool any, uint32_t id,
                       uint32_t *out_target)
{
    uint16_t named;
    uint16_t ids;
    if (!bytes_u16(resources, directory + DIRECTORY_NAMED, &named) ||
        !bytes_u16(resources, directory + DIRECTORY_IDS, &ids)) {
        return false;
    }
    uint32_t count = (uint32_t)named + ids;
    for (uint32_t i = 0; i < count && i < MAX_ENTRIES; i++) {
        uint64_t entry = directory + DIRECTORY_ENTRIES + (uint64_t)i * ENTRY_SIZE;
        uint32_t name;
        if (!bytes_u32(resources, entry, &name) || !bytes_u32(resources, entry + 4, out_target)) {
            return false;
        }
        if (any || ((name & IS_NAMED) == 0 && name == id)) {
            return true;
        }
    }
    return false;
}

/* The data of the first version resource: exactly three levels, so nothing can loop. */
static bool find_version(const struct pe *pe, struct bytes resources, struct bytes *out_data)
{
    uint32_t at = IS_DIRECTORY;
    uint32_t rva;
    uint32_t size;
    struct bytes rest;
    for (unsigned level = 0; level < 3; level++) {
        if ((at & IS_DIRECTORY) == 0 ||
            !find_entry(resources, at & ~IS_DIRECTORY, level > 0, TYPE_VERSION, &at)) {
            return false;
        }
    }
    return (at & IS_DIRECTORY) == 0 && bytes_u32(resources, at, &rva) &&
           bytes_u32(resources, (uint64_t)at + 4, &size) && pe_at(pe, rva, &rest) &&
           bytes_part(rest, 0, size < rest.size ? size : rest.size, out_data);
}

/* One block of the tree. Offsets count from the start of the resource, to which all is aligned. */
struct block {
    uint64_t end;
    char key[MAX_KEY_UNITS + 1]; /* ASCII; other characters become '?' */
    uint64_t value;
    uint64_t value_size; /* bytes */
};

static uint64_t align4(uint64_t offset)
{
    return (offset + 3) & ~UINT64_C(3);
}

static bool read_block(struct bytes data, uint64_t at, uint64_t limit, struct block *out)
{
    struct block block = {0};
    uint16_t length;
    uint16_t value_length;
    uint16_t type;
    if (!bytes_u16(data, at, &length) || !bytes_u16(data, at + 2, &value_length) ||
        !bytes_u16(data, at + 4, &type) || length < 6 || length > limit - at) {
        return false;
    }
    block.end = at + length;
    uint64_t key = at + 6;
    for (unsigned i = 0;; i++, key += 2) {
        uint16_t unit;
        if (i >= MAX_KEY_UNITS || key + 2 > block.end || !bytes_u16(data, key, &unit)) {
            return false;
        }
        if (unit == 0) {
            break;
        }
        block.key[i] = unit < 0x7F ? (char)unit : '?';
    }
    block.value = align4(key + 2);
    block.value_size = type == 1 ? 2 * (uint64_t)value_length : value_length;
    if (block.value > block.end) {
        block.value = block.end;
    }
    if (block.value_size > block.end - block.value) {
        block.value_size = block.end - block.value;
    }
    *out = block;
    return true;
}

/* The child of a block by its key; NULL key = the first one. Starts behind the parent's value. */
static bool find_child(struct bytes data, const struct block *parent, const char *key,
                       struct block *out)
{
    uint64_t at = align4(parent->value + parent->value_size);
    for (unsigned i = 0; i < MAX_CHILDREN && at < parent->end; i++) {
        if (!read_block(data, at, parent->end, out)) {
            return false;
        }
        if (key == NULL || text_equal(out->key, key)) {
            return true;
        }
        at = align4(out->end);
    }
    return false;
}

/* "VS_FIXEDFILEINFO structure": dwFileVersionMS and dwFileVersionLS. All 0 says nothing. */
static struct version file_version(struct bytes data, const struct block *root)
{
    uint32_t signature;
    uint32_t high;
    uint32_t low;
    if (root->value_size < 16 || !bytes_u32(data, root->value, &signature) ||
        signature != FIXED_SIGNATURE || !bytes_u32(data, root->value + 8, &high) ||
        !bytes_u32(data, root->value + 12, &low) || (high == 0 && low == 0)) {
        return (struct version){0};
    }
    return (struct version){
        .part = {high >> 16, high & 0xFFFF, low >> 16, low & 0xFFFF},
        .count = 4,
    };
}

bool pe_version_resource(struct arena *arena, const struct pe *pe, struct version *out_version,
                         const char **out_original_name)
{
    struct bytes resources;
    struct bytes data;
    struct block root;
    struct block block;
    *out_version = (struct version){0};
    *out_original_name = NULL;
    if (!pe_directory_bytes(pe, PE_DIRECTORY_RESOURCE, &resources) ||
        !find_version(pe, resources, &data) || !read_block(data, 0, data.size, &root) ||
        !text_equal(root.key, "VS_VERSION_INFO")) {
        return false;
    }
    *out_version = file_version(data, &root);
    if (find_child(data, &root, "StringFileInfo", &block)) {
        struct block table;
        struct block name;
        if (find_child(data, &block, NULL, &table) &&
            find_child(data, &table, "OriginalFilename", &name)) {
            *out_original_name =
                read_text_utf16(arena, data, name.value, (size_t)(name.value_size / 2));
        }
    }
    return true;
}
