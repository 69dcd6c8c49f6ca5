#include "os/win32/access.h"

#include <sddl.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/cleanup.h"
#include "os/secure.h"
#include "os/win32/native.h"
#include "os/win32/wide.h"

/* A service's SID is S-1-5-80 and the SHA-1 of its name in capitals and UTF-16; it exists whether
   or not the service is installed. */
static const wchar_t own_service[] =
    L"S-1-5-80-967656687-3417479299-2266274724-1081748933-575143577"; /* cudnnd */

static const struct {
    const wchar_t *sid;
    const wchar_t *name;
} administrative[] =
    {
        {L"S-1-5-18", L"SYSTEM"},
        {L"S-1-5-32-544", L"Administrators"},
        {L"S-1-5-80-956008885-3418522649-1831038044-1853292631-2271478464", L"TrustedInstaller"},
},
  well_known[] = {
      {L"S-1-1-0", L"Everyone"},
      {L"S-1-3-0", L"CREATOR OWNER"},
      {L"S-1-5-4", L"INTERACTIVE"},
      {L"S-1-5-7", L"ANONYMOUS LOGON"},
      {L"S-1-5-11", L"Authenticated Users"},
      {L"S-1-5-19", L"LOCAL SERVICE"},
      {L"S-1-5-20", L"NETWORK SERVICE"},
      {L"S-1-5-32-545", L"Users"},
      {L"S-1-5-32-546", L"Guests"},
      {L"S-1-5-32-547", L"Power Users"},
};

static bool is_sid(PSID sid, const wchar_t *text)
{
    LPWSTR own CLEANUP(native_local_free) = NULL;
    return ConvertSidToStringSidW(sid, &own) && wcscmp(own, text) == 0;
}

bool access_is_own_service(PSID sid)
{
    return is_sid(sid, own_service);
}

bool access_is_administrative(PSID sid, PSID own)
{
    if (own != NULL && EqualSid(sid, own)) {
        return true;
    }
    for (size_t i = 0; i < sizeof administrative / sizeof *administrative; i++) {
        if (is_sid(sid, administrative[i].sid)) {
            return true;
        }
    }
    return false;
}

/* An account of this machine only: an unreachable domain controller would cost half a minute. */
static bool local_name(PSID sid, wchar_t *out_text, size_t size)
{
    typedef BOOL WINAPI lookup_function(PSID, LPWSTR, LPDWORD, LPWSTR, LPDWORD, PSID_NAME_USE);
    lookup_function *lookup =
        (lookup_function *)native_find(L"sechost.dll", "LookupAccountSidLocalW");
    wchar_t name[256], domain[256];
    DWORD name_size = 256, domain_size = 256;
    SID_NAME_USE use;
    if (lookup == NULL || !lookup(sid, name, &name_size, domain, &domain_size, &use)) {
        return false;
    }
    swprintf(out_text, size, *domain != L'\0' ? L"%ls\\%ls" : L"%ls%ls", domain, name);
    return true;
}

const wchar_t *access_name(PSID sid, wchar_t *out_text, size_t size)
{
    LPWSTR text CLEANUP(native_local_free) = NULL;
    if (sid == NULL || !IsValidSid(sid) || !ConvertSidToStringSidW(sid, &text)) {
        return L"an unknown account";
    }
    for (size_t i = 0; i < sizeof well_known / sizeof *well_known; i++) {
        if (wcscmp(text, well_known[i].sid) == 0) {
            return well_known[i].name;
        }
    }
    if (!local_name(sid, out_text, size)) {
        swprintf(out_text, size, L"account %ls", text);
    }
    return out_text;
}

PSID access_own_user(struct err *err)
{
    HANDLE token CLEANUP(native_close) = NULL;
    if (!OpenProcessToken(GetCurrentProcess(), TOKEN_QUERY, &token)) {
        wide_error(err, GetLastError(), "cannot read this process's token");
        return NULL;
    }
    union {
        TOKEN_USER user;
        unsigned char bytes[sizeof(TOKEN_USER) + SECURITY_MAX_SID_SIZE];
    } own;
    DWORD size = 0;
    if (!GetTokenInformation(token, TokenUser, &own, sizeof own, &size)) {
        wide_error(err, GetLastError(), "cannot read this process's account");
        return NULL;
    }
    DWORD length = GetLengthSid(own.user.User.Sid);
    PSID copy = LocalAlloc(LMEM_FIXED, length);
    if (copy == NULL || !CopySid(length, copy, own.user.User.Sid)) {
        wide_error(err, GetLastError(), "cannot read this process's account");
        LocalFree(copy);
        return NULL;
    }
    return copy;
}

/* Besides SYSTEM and Administrators: an ordinary account gets in itself. What an elevated
   administrator creates is the service's, which runs as its own account; the administrator gets in
   as one of Administrators, and his programs without elevation do not. */
PSECURITY_DESCRIPTOR access_private(bool directory, struct err *err)
{
    PSID own CLEANUP(native_local_free) = access_own_user(err);
    LPWSTR own_text CLEANUP(native_local_free) = NULL;
    if (own == NULL) {
        return NULL;
    }
    if (!ConvertSidToStringSidW(own, &own_text)) {
        wide_error(err, GetLastError(), "cannot read this process's account");
        return NULL;
    }
    const wchar_t *inherit = directory ? L"OICI" : L"";
    wchar_t text[512];
    swprintf(text, sizeof text / sizeof *text, L"D:P(A;%ls;FA;;;SY)(A;%ls;FA;;;BA)(A;%ls;FA;;;%ls)",
             inherit, inherit, inherit, os_secure_is_administrator() ? own_service : own_text);
    PSECURITY_DESCRIPTOR descriptor = NULL;
    if (!ConvertStringSecurityDescriptorToSecurityDescriptorW(text, SDDL_REVISION_1, &descriptor,
                                                              NULL)) {
        wide_error(err, GetLastError(), "cannot make an access list");
        return NULL;
    }
    return descriptor;
}
