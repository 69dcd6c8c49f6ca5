#ifndef BASE_VERSION_H
#define BASE_VERSION_H

/* Version numbers: of cuDNN (9.5.0.50), CUDA (12.6, 12.6.2), drivers (560.35.03, 560.94).
   Kept as up to four numbers with how many were given; text keeps the driver's leading zeros
   elsewhere. Unknown = zeroed (count 0). */

#include <stdbool.h>
#include <stdint.h>

struct version {
    uint32_t part[4]; /* major, minor, patch, build; parts not given are 0 */
    uint8_t count;    /* how many were given, 0 = unknown */
};

enum { VERSION_TEXT_SIZE = 48 };

/* Reads "9", "9.5", "9.5.0", "9.5.0.50"; anything after the fourth number or a character that
   cannot belong to a version ("+cu126", "-1", ",") ends it. False when there is no number. */
bool version_parse(const char *text, struct version *out_version);

/* cuDNN's own number, cudnnGetVersion() and CUDNN_VERSION: 90500 -> 9.5.0, 8907 -> 8.9.7.
   Up to 8.x MAJOR*1000 + MINOR*100 + PATCH, from 9 MAJOR*10000 + MINOR*100 + PATCH. */
struct version version_from_cudnn(uint64_t number);

/* CUDA's own number, cudnnGetCudartVersion() and cuDriverGetVersion(): 12060 -> 12.6. */
struct version version_from_cuda(uint64_t number);

/* Compares the first `parts` numbers (missing = 0): negative, 0, positive. */
int version_compare(struct version a, struct version b, unsigned parts);

/* The first `parts` numbers joined by dots; "" when unknown. Returns out_text. */
const char *version_text(struct version version, unsigned parts, char out_text[VERSION_TEXT_SIZE]);

static inline bool version_known(struct version version)
{
    return version.count > 0;
}

#endif
