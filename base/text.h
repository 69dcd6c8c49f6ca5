#ifndef BASE_TEXT_H
#define BASE_TEXT_H

/* Small operations on NUL-terminated UTF-8 text. Never allocates except into a given arena.
   Comparison without case folds ASCII only: what the file formats and names read here need. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct arena;

bool text_equal(const char *a, const char *b); /* two NULLs are equal */
bool text_equal_nocase(const char *a, const char *b);
bool text_has_prefix(const char *text, const char *prefix);
bool text_has_suffix(const char *text, const char *suffix);
bool text_has_prefix_nocase(const char *text, const char *prefix);
bool text_has_suffix_nocase(const char *text, const char *suffix);

/* Copies at most size - 1 bytes and always terminates; never cuts a UTF-8 character in half.
   Returns false when the text did not fit. */
bool text_copy(char *to, size_t size, const char *from);

/* Strict decimal: the whole text, no sign, no blanks, at most `max`. */
bool text_to_u64(const char *text, uint64_t max, uint64_t *out_value);

/* True for well-formed UTF-8 (no surrogates, no overlong forms). */
bool text_utf8_valid(const char *text, size_t length);

/* The text with every ill-formed byte sequence replaced by U+FFFD; the same pointer when it is
   already well formed. Disk paths keep lone surrogates inside (WTF-8); JSON gets this. */
const char *text_utf8_clean(struct arena *arena, const char *text);

/* Removes an incomplete UTF-8 character at the end, in place. */
void text_utf8_trim(char *text);

/* Removes blanks (space, tab, CR, LF) at both ends, in place; returns the first kept byte. */
char *text_strip(char *text);

/* Edit distance (Levenshtein) of two short texts, for "did you mean"; at most 64 bytes each. */
size_t text_distance(const char *a, const char *b);

#endif
