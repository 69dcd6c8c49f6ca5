#ifndef CONFIG_VALUE_H
#define CONFIG_VALUE_H

/* One option's value: from the text in a file to the field in struct config, and back.
   Knows types, ranges and units; knows nothing of YAML. */

#include "config/config.h"

/* Scalars. `text` NULL means null. The message says what would be right, without file and key. */
int value_set_scalar(struct arena *arena, const struct config_option *option, const char *text,
                     struct config *config, struct err *err);
int value_set_list(struct arena *arena, const struct config_option *option,
                   const char *const *items, size_t count, struct config *config, struct err *err);
bool value_is_list(enum config_type type);

/* The value as a person would write it in YAML. */
int value_print(const struct config_option *option, const struct config *config, struct buf *out,
                struct err *err);
/* "a duration (15m; ms s m h d y), 10s to 30d" */
int value_print_type(const struct config_option *option, struct buf *out, struct err *err);

#endif
