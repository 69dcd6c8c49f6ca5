#ifndef BASE_CLOCK_TEXT_H
#define BASE_CLOCK_TEXT_H

/* Times as text: milliseconds since 1970-01-01T00:00:00Z <-> RFC 3339 in UTC. No clock is read
   here (os/clock.h does), no time zone is ever applied. */

#include <stdbool.h>
#include <stdint.h>

enum { CLOCK_TEXT_SIZE = 32 };

/* "2026-01-31T12:00:00Z", with ".123" only when the milliseconds are not 0.
   Years 0000 to 9999; outside, the nearest of these. */
void clock_text_format(int64_t unix_ms, char out_text[CLOCK_TEXT_SIZE]);

/* "Sat, 31 Jan 2026 12:00:00 GMT", as HTTP writes times (RFC 9110, section 5.6.7). Same years. */
void clock_text_format_http(int64_t unix_ms, char out_text[CLOCK_TEXT_SIZE]);

/* Strict: date, 'T', time, optional fraction, 'Z' or +hh:mm / -hh:mm. */
bool clock_text_parse(const char *text, int64_t *out_unix_ms);

#endif
