#include "os/secure.h"

#include <aclapi.h>
#include <bcrypt.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "os/file.h"
#include "os/path.h"
#include "os/win32/access.h"
#include "os/win32/native.h"
#include "os/win32/wide.h"

/* Rights by what they are good for. On a directory FILE_WRITE_DATA adds files and FILE_APPEND_DATA
   adds subdirectories. */
enum {
    /* to replace what it is, or its access list */
    TAKE_OVER = DELETE | WRITE_DAC | WRITE_OWNER,
    /* for a directory above: to put another one in the place of the child */
    CHANGE_CHILD = TAKE_OVER | FILE_DELETE_CHILD,
    CHANGE_CONTENT = CHANGE_CHILD | FILE_WRITE_DATA,
    CHANGE_FILE = TAKE_OVER | FILE_WRITE_DATA | FILE_APPEND_DATA,
    CHANGE_ANYTHING = CHANGE_CONTENT | FILE_APPEND_DATA | FILE_WRITE_EA | FILE_WRITE_ATTRIBUTES,
};

struct security {
    PSID owner;
    PACL list; /* NULL: everybody may do everything */
    PSECURITY_DESCRIPTOR descriptor;
};

static void security_done(struct security *security)
{
    LocalFree(security->descriptor);
}

static DWORD read_security(HANDLE file, struct security *out_security)
{
    return GetSecurityInfo(
        file, SE_FILE_OBJECT, OWNER_SECURITY_INFORMATION | DACL_SECURITY_INFORMATION,
        &out_security->owner, NULL, &out_security->list, NULL, &out_security->descriptor);
}

/* --- one access list --- */

/* The rights an entry gives, generic ones as what they mean for files; 0 for anything but a grant.
   All kinds of grants begin alike, but for "object" ones, which files do not have. */
static DWORD granted(const ACE_HEADER *entry, PSID *out_sid)
{
    static GENERIC_MAPPING mapping = {FILE_GENERIC_READ, FILE_GENERIC_WRITE, FILE_GENERIC_EXECUTE,
                                      FILE_ALL_ACCESS};
    if (entry->AceType != ACCESS_ALLOWED_ACE_TYPE &&
        entry->AceType != ACCESS_ALLOWED_CALLBACK_ACE_TYPE) {
        return 0;
    }
    ACCESS_ALLOWED_ACE allowed;
    memcpy(&allowed, entry, sizeof allowed);
    MapGenericMask(&allowed.Mask, &mapping);
    *out_sid = (PSID)((uintptr_t)entry + offsetof(ACCESS_ALLOWED_ACE, SidStart));
    return allowed.Mask;
}

/* Does this entry count here? `files_too`: what files in the directory inherit counts as well. */
static bool applies(const ACE_HEADER *entry, bool files_too)
{
    return (entry->AceFlags & INHERIT_ONLY_ACE) == 0 ||
           (files_too && (entry->AceFlags & OBJECT_INHERIT_ACE) != 0);
}

typedef bool sid_check(PSID sid, PSID own);

/* The first account with any of `rights` that `allowed` does not vouch for; NULL when none. Denials
   are not looked at: that errs on the safe side. CREATOR OWNER stands for whoever makes a file,
   which needs a right of its own. */
static PSID find_stranger(PACL list, DWORD rights, bool files_too, sid_check *allowed, PSID own)
{
    for (DWORD i = 0; i < list->AceCount; i++) {
        void *entry = NULL;
        PSID sid = NULL;
        if (!GetAce(list, i, &entry) || !applies(entry, files_too)) {
            continue;
        }
        if ((granted(entry, &sid) & rights) != 0 && !IsWellKnownSid(sid, WinCreatorOwnerSid) &&
            !IsWellKnownSid(sid, WinCreatorOwnerRightsSid) && !allowed(sid, own)) {
            return sid;
        }
    }
    return NULL;
}

static const char *name_of(struct arena *arena, PSID sid)
{
    wchar_t name[300];
    return wide_to_text(arena, access_name(sid, name, sizeof name / sizeof *name));
}

/* --- the product's own directory --- */

static bool is_ours(PSID sid, PSID own)
{
    return access_is_administrative(sid, own) || access_is_own_service(sid);
}

static bool is_clean(const struct security *security, PSID own)
{
    return security->list != NULL &&
           find_stranger(security->list, CHANGE_ANYTHING, true, is_ours, own) == NULL;
}

/* Puts our own list in place of one that lets others in; what is inside inherits it. */
static int repair(const char *path, HANDLE directory, const struct security *security, PSID own,
                  struct err *err)
{
    struct arena scratch CLEANUP(arena_done) = {0};
    PSECURITY_DESCRIPTOR descriptor CLEANUP(native_local_free) = access_private(true, err);
    BOOL present = FALSE, defaulted = FALSE;
    PACL list = NULL;
    if (descriptor == NULL) {
        return err_context(err, "%s", path);
    }
    GetSecurityDescriptorDacl(descriptor, &present, &list, &defaulted);
    DWORD error = SetSecurityInfo(directory, SE_FILE_OBJECT,
                                  DACL_SECURITY_INFORMATION | PROTECTED_DACL_SECURITY_INFORMATION,
                                  NULL, NULL, list, NULL);
    struct security now CLEANUP(security_done) = {0};
    if (error == 0 && read_security(directory, &now) == 0 && is_clean(&now, own)) {
        return 0;
    }
    PSID who = security->list == NULL
                   ? NULL
                   : find_stranger(security->list, CHANGE_ANYTHING, true, is_ours, own);
    return err_set(err, ERR_PERMISSION,
                   "%s can be changed by %s, and the access list cannot be repaired (error %lu): "
                   "remove that right, or remove the directory and start again",
                   path, who == NULL ? "everybody" : name_of(&scratch, who), (unsigned long)error);
}

/* Opens the directory itself, not what a link there leads to. */
static int open_own(const char *path, const wchar_t *wide, HANDLE *out_directory, struct err *err)
{
    const DWORD share = FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE;
    const DWORD flags = FILE_FLAG_BACKUP_SEMANTICS | FILE_FLAG_OPEN_REPARSE_POINT;
    const DWORD access = READ_CONTROL | FILE_READ_ATTRIBUTES;
    HANDLE directory CLEANUP(native_close) =
        CreateFileW(wide, access | WRITE_DAC, share, NULL, OPEN_EXISTING, flags, NULL);
    if (directory == INVALID_HANDLE_VALUE) { /* without the right to repair, then */
        directory = CreateFileW(wide, access, share, NULL, OPEN_EXISTING, flags, NULL);
    }
    FILE_ATTRIBUTE_TAG_INFO info;
    if (directory == INVALID_HANDLE_VALUE ||
        !GetFileInformationByHandleEx(directory, FileAttributeTagInfo, &info, sizeof info)) {
        return wide_error(err, GetLastError(), "%s", path);
    }
    if ((info.FileAttributes & FILE_ATTRIBUTE_REPARSE_POINT) != 0) {
        return err_set(err, ERR_PERMISSION,
                       "%s is a link or junction and may lead anywhere: remove it", path);
    }
    if ((info.FileAttributes & FILE_ATTRIBUTE_DIRECTORY) == 0) {
        return err_set(err, ERR_EXISTS, "%s is a file, not a directory: remove it", path);
    }
    *out_directory = directory;
    directory = NULL;
    return 0;
}

static int check_existing(const char *path, const wchar_t *wide, struct err *err)
{
    struct arena scratch CLEANUP(arena_done) = {0};
    HANDLE directory CLEANUP(native_close) = NULL;
    struct security security CLEANUP(security_done) = {0};
    PSID own CLEANUP(native_local_free) = access_own_user(err);
    if (own == NULL) {
        return err_context(err, "%s", path);
    }
    int code = open_own(path, wide, &directory, err);
    if (code != 0) {
        return code;
    }
    DWORD error = read_security(directory, &security);
    if (error != 0) {
        return wide_error(err, error, "%s: the access list cannot be read", path);
    }
    if (security.owner == NULL || !is_ours(security.owner, own)) {
        return err_set(err, ERR_PERMISSION,
                       "%s belongs to %s, not to an administrator: somebody else made it; "
                       "look at what is in it and remove it",
                       path, name_of(&scratch, security.owner));
    }
    return is_clean(&security, own) ? 0 : repair(path, directory, &security, own, err);
}

int os_secure_directory(const char *path, struct err *err)
{
    struct err own_err = {0};
    err = wide_reason(err, &own_err);
    struct arena scratch CLEANUP(arena_done) = {0};
    wchar_t *wide = wide_path(&scratch, path, err);
    if (wide == NULL) {
        return err_context(err, "%s", path);
    }
    int code = os_dir_make(os_path_parent(&scratch, path), err); /* whose lists others answer for */
    if (code != 0) {
        return code;
    }
    PSECURITY_DESCRIPTOR descriptor CLEANUP(native_local_free) = access_private(true, err);
    if (descriptor == NULL) {
        return err_context(err, "%s", path);
    }
    SECURITY_ATTRIBUTES attributes = {sizeof attributes, descriptor, FALSE};
    DWORD error = CreateDirectoryW(wide, &attributes) ? 0 : GetLastError();
    if (error == 0) {
        return 0;
    }
    if (error == ERROR_ALREADY_EXISTS) {
        return check_existing(path, wide, err);
    }
    return wide_error(err, error, "cannot make directory %s", path);
}

/* --- directories that libraries are loaded from --- */

/* False, and in *out_reason one sentence, when somebody else has any of `rights`. */
static bool check_one(struct arena *arena, const wchar_t *path, DWORD rights, bool files_too,
                      PSID own, const char **out_reason)
{
    const DWORD share = FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE;
    const char *shown = wide_path_to_text(arena, path);
    struct security security CLEANUP(security_done) = {0};
    HANDLE file CLEANUP(native_close) = CreateFileW(path, READ_CONTROL, share, NULL, OPEN_EXISTING,
                                                    FILE_FLAG_BACKUP_SEMANTICS, NULL);
    DWORD error = file == INVALID_HANDLE_VALUE ? GetLastError() : read_security(file, &security);
    if (error != 0 || security.owner == NULL) {
        const char *words = wide_error_text(arena, error);
        *out_reason = arena_printf(arena, "the access list of %s cannot be read: %s", shown,
                                   words != NULL ? words : "no owner");
        return false;
    }
    if (!access_is_administrative(security.owner, own)) {
        *out_reason =
            arena_printf(arena, "%s belongs to %s", shown, name_of(arena, security.owner));
        return false;
    }
    PSID who = NULL;
    if (security.list != NULL) {
        who = find_stranger(security.list, rights, files_too, access_is_administrative, own);
        if (who == NULL) {
            return true;
        }
    }
    *out_reason = arena_printf(arena, "%s can be changed by %s", shown,
                               who == NULL ? "Everyone" : name_of(arena, who));
    return false;
}

/* Cuts the last component off; false at the root. The root keeps its backslash. */
static bool cut_component(wchar_t *path)
{
    size_t length = wcslen(path);
    if (length == 0 || path[length - 1] == L'\\') {
        return false;
    }
    wchar_t *last = wcsrchr(path, L'\\');
    bool drive = last != NULL && last > path && last[-1] == L':';
    bool volume = last != NULL && last > path && last[-1] == L'}';
    if (last == NULL || last - path < 4) {
        return false;
    }
    last[drive || volume] = L'\0';
    return true;
}

/* \\?\UNC\server\share has no parent that could be asked. */
static bool is_share(const wchar_t *path)
{
    size_t separators = 0;
    for (const wchar_t *at = path; *at != L'\0'; at++) {
        separators += *at == L'\\' && at[1] != L'\0';
    }
    return _wcsnicmp(path, L"\\\\?\\UNC\\", 8) == 0 && separators <= 5;
}

bool os_secure_is_trusted(struct arena *arena, const char *path, const char **out_reason)
{
    struct err err = {0};
    PSID own CLEANUP(native_local_free) = access_own_user(&err);
    wchar_t *wide = own == NULL ? NULL : wide_path(arena, path, &err);
    DWORD attributes = wide == NULL ? INVALID_FILE_ATTRIBUTES : GetFileAttributesW(wide);
    if (attributes == INVALID_FILE_ATTRIBUTES) {
        *out_reason = arena_printf(arena, "%s cannot be looked at%s%s", path,
                                   err.code != 0 ? ": " : "", err.message);
        return false;
    }
    if ((attributes & FILE_ATTRIBUTE_DIRECTORY) == 0) {
        if (!check_one(arena, wide, CHANGE_FILE, false, own, out_reason)) {
            return false;
        }
        cut_component(wide); /* its siblings are loaded with it: their directory counts in full */
    }
    if (!check_one(arena, wide, CHANGE_CONTENT, true, own, out_reason)) {
        return false;
    }
    while (!is_share(wide) && cut_component(wide)) {
        /* A volume's root cannot be removed or renamed, whoever has the right; on disks other than
           the system's, every user has it. */
        bool root = wide[wcslen(wide) - 1] == L'\\';
        DWORD rights = root ? CHANGE_CHILD & ~DELETE : CHANGE_CHILD;
        if (!check_one(arena, wide, rights, false, own, out_reason)) {
            return false;
        }
    }
    return true;
}

/* --- this process --- */

bool os_secure_is_administrator(void)
{
    SID_IDENTIFIER_AUTHORITY authority = {SECURITY_NT_AUTHORITY};
    PSID administrators = NULL;
    BOOL member = FALSE;
    if (!AllocateAndInitializeSid(&authority, 2, SECURITY_BUILTIN_DOMAIN_RID,
                                  DOMAIN_ALIAS_RID_ADMINS, 0, 0, 0, 0, 0, 0, &administrators)) {
        return false;
    }
    if (!CheckTokenMembership(NULL, administrators, &member)) {
        member = FALSE;
    }
    FreeSid(administrators);
    return member != FALSE;
}

void os_secure_random(void *out_data, size_t size)
{
    unsigned char *at = out_data;
    while (size > 0) {
        ULONG part = size > 65536 ? 65536 : (ULONG)size;
        if (BCryptGenRandom(NULL, at, part, BCRYPT_USE_SYSTEM_PREFERRED_RNG) != 0) {
            log_fatal("the system gives no random numbers");
        }
        at += part;
        size -= part;
    }
}
