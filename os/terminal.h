#ifndef OS_TERMINAL_H
#define OS_TERMINAL_H

#include <stdbool.h>
#include <stdio.h>

/* True when the stream is a terminal that understands colours; makes it so on Windows.
   The variable NO_COLOR is the caller's business. */
bool os_terminal_is_interactive(FILE *stream);
int os_terminal_columns(void); /* 80 when unknown */

#endif
