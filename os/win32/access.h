#ifndef OS_WIN32_ACCESS_H
#define OS_WIN32_ACCESS_H

/* Access lists that the product gives its own files. Internal to os/win32. */

#include <stdbool.h>
#include <windows.h>

#include "base/err.h"

/* A protected list: SYSTEM, Administrators, and who else must get in (see access.c). NULL on
   error; LocalFree() it. `directory`: handed down to what is created inside. */
PSECURITY_DESCRIPTOR access_private(bool directory, struct err *err);

/* The user of this process's token. NULL on error; LocalFree() it. */
PSID access_own_user(struct err *err);

/* Whose doing is no danger: SYSTEM, Administrators, TrustedInstaller and `own` (may be NULL). */
bool access_is_administrative(PSID sid, PSID own);

/* The product's own service account, NT SERVICE\cudnnd. */
bool access_is_own_service(PSID sid);

/* S-1-5-..., or a name for those that everybody knows. Never asks another machine. */
const wchar_t *access_name(PSID sid, wchar_t *out_text, size_t size);

#endif
