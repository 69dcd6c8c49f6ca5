#include "base/version.h"

#include <stdio.h>
#include <string.h>

bool version_parse(const char *text, struct version *out_version)
{
    struct version version = {0};
    while (version.count < 4 && *text >= '0' && *text <= '9') {
        uint64_t value = 0;
        for (; *text >= '0' && *text <= '9'; text++) {
            value = value * 10 + (uint64_t)(*text - '0');
            if (value > UINT32_MAX) {
                return false;
            }
        }
        version.part[version.count++] = (uint32_t)value;
        if (*text != '.') {
            break;
        }
        text++;
    }
    if (version.count == 0) {
        return false;
    }
    *out_version = version;
    return true;
}

struct version version_from_cudnn(uint64_t number)
{
    uint64_t unit = number >= 10000 ? 10000 : 1000;
    if (number == 0 || number / unit > UINT32_MAX) {
        return (struct version){0};
    }
    return (struct version){
        .part = {(uint32_t)(number / unit), (uint32_t)(number % unit / 100),
                 (uint32_t)(number % 100)},
        .count = 3,
    };
}

struct version version_from_cuda(uint64_t number)
{
    if (number == 0 || number / 1000 > UINT32_MAX) {
        return (struct version){0};
    }
    return (struct version){
        .part = {(uint32_t)(number / 1000), (uint32_t)(number % 1000 / 10)},
        .count = 2,
    };
}

int version_compare(struct version a, struct version b, unsigned parts)
{
    for (unsigned i = 0; i < parts && i < 4; i++) {
        if (a.part[i] != b.part[i]) {
            return a.part[i] < b.part[i] ? -1 : 1;
        }
    }
    return 0;
}

const char *version_text(struct version version, unsigned parts, char out_text[VERSION_TEXT_SIZE])
{
    size_t used = 0;
    out_text[0] = '\0';
    for (unsigned i = 0; version.count > 0 && i < parts && i < 4; i++) {
        used += (size_t)snprintf(out_text + used, VERSION_TEXT_SIZE - used, i == 0 ? "%u" : ".%u",
                                 version.part[i]);
    }
    return out_text;
}
