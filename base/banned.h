#ifndef BASE_BANNED_H
#define BASE_BANNED_H

/* Functions that are easy to use wrongly do not compile in this program. The Makefile includes
   this header before every source file (-include); system headers that declare or use one of
   these names are read first, here. `scripts/check_banned` looks for the rest by text. */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#if __has_include(<io.h>) /* mingw-w64's own headers use one of them inline */
#include <io.h>
#endif

#define BANNED(name) sorry_##name##_is_banned_see_base_banned_h

#undef strcpy
#define strcpy(a, b) BANNED(strcpy)
#undef strcat
#define strcat(a, b) BANNED(strcat)
#undef strncpy
#define strncpy(a, b, c) BANNED(strncpy)
#undef strncat
#define strncat(a, b, c) BANNED(strncat)
#undef sprintf
#define sprintf(...) BANNED(sprintf)
#undef vsprintf
#define vsprintf(...) BANNED(vsprintf)
#undef strtok
#define strtok(a, b) BANNED(strtok)
#undef gmtime
#define gmtime(a) BANNED(gmtime)
#undef localtime
#define localtime(a) BANNED(localtime)
#undef ctime
#define ctime(a) BANNED(ctime)
#undef asctime
#define asctime(a) BANNED(asctime)
#undef atoi
#define atoi(a) BANNED(atoi)
#undef atol
#define atol(a) BANNED(atol)
#undef atof
#define atof(a) BANNED(atof)

#endif
