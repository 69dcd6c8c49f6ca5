#ifndef OS_WIN32_NATIVE_H
#define OS_WIN32_NATIVE_H

/* Small things around Windows' own calls: releasing what they return, their times, and functions
   that not every supported Windows (or Wine) has. Internal to os/win32. */

#include <stdint.h>
#include <windows.h>

void native_close(HANDLE *handle); /* for CLEANUP; NULL and INVALID_HANDLE_VALUE are fine */
void native_close_key(HKEY *key);  /* for CLEANUP */
void native_local_free(void *pointer_to_pointer); /* for CLEANUP: what LocalFree() releases */

int64_t native_unix_ms(FILETIME time);
uint64_t native_join(DWORD high, DWORD low);

/* A function of a system library, NULL when this Windows has none of that name. Cast to its type
   before the call. The library stays loaded; it comes from System32 only. */
typedef void native_function(void);
native_function *native_find(const wchar_t *library, const char *name);

#endif
