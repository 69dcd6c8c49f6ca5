#ifndef TESTS_FUZZ_CHECK_IDENTITY_H
#define TESTS_FUZZ_CHECK_IDENTITY_H

/* What holds of an identity whatever the bytes were. */

#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "inventory/identify.h"

static inline void check_text(const char *text)
{
    if (text != NULL && (text[0] == '\0' || !text_utf8_valid(text, strlen(text)))) {
        abort();
    }
}

static inline void check_identity(const struct identity *identity)
{
    if (!identity->is_library && identity->problem == NULL) {
        abort(); /* what is no library is told why */
    }
    if (version_known(identity->version) != (identity->version_source != VERSION_SOURCE_NONE)) {
        abort();
    }
    check_text(identity->internal_name);
    check_text(identity->run_path);
    for (size_t i = 0; i < identity->import_count; i++) {
        check_text(identity->imports[i]);
    }
    for (size_t i = 0; i < identity->delay_import_count; i++) {
        check_text(identity->delay_imports[i]);
    }
}

#endif
