#include "os/secure.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/cleanup.h"
#include "base/log.h"
#include "base/text.h"
#include "os/file.h"
#include "os/path.h"
#include "os/posix/mounts.h"
#include "os/posix/syscall.h"

static bool is_trusted_user(uint64_t user)
{
    return user == 0 || user == geteuid();
}

/* ---- a directory of our own ---- */

static int check_own(const char *path, int fd, struct err *err)
{
    struct stat status;
    if (fstat(fd, &status) != 0) {
        return posix_fail(err, errno, "cannot look at '%s'", path);
    }
    if (!is_trusted_user(status.st_uid)) {
        return err_set(err, ERR_PERMISSION,
                       "'%s' belongs to user %u; remove it, give it to user %u or choose another "
                       "directory",
                       path, status.st_uid, geteuid());
    }
    /* With an access list the group bits are its mask: taking them away disarms its entries. */
    mode_t open_bits = status.st_mode & (S_IWGRP | S_IWOTH);
    if (open_bits != 0 && fchmod(fd, status.st_mode & 07777 & ~(mode_t)(S_IWGRP | S_IWOTH)) != 0) {
        return err_set(err, ERR_PERMISSION,
                       "others can write to '%s'; run `chmod go-w` on it or choose another "
                       "directory",
                       path);
    }
    return 0;
}

int os_secure_directory(const char *path, struct err *err)
{
    CLEANUP(arena_done) struct arena arena = {0};
    int made = mkdir(path, 0700);
    if (made != 0 && errno == ENOENT) {
        int code = os_dir_make(os_path_parent(&arena, path), err);
        if (code != 0) {
            return code;
        }
        made = mkdir(path, 0700);
    }
    int number = made == 0 ? 0 : errno;
    /* A trailing slash would make the system follow a link in spite of O_NOFOLLOW. */
    char *bare = arena_strdup(&arena, path);
    for (size_t end = strlen(bare); end > 1 && bare[end - 1] == '/'; end--) {
        bare[end - 1] = '\0';
    }
    CLEANUP(posix_close) int fd = open(bare, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd >= 0) {
        return check_own(path, fd, err);
    }
    if (errno == ELOOP || errno == ENOTDIR) {
        return err_set(err, ERR_PERMISSION,
                       "'%s' is a link or a file, not a directory; remove it or choose another "
                       "directory",
                       path);
    }
    return posix_fail(err, number != 0 && number != EEXIST ? number : errno,
                      "cannot use directory '%s'", path);
}

/* ---- who can change what is loaded ---- */

enum { ACL_HEADER = 4, ACL_ENTRY = 8, ACL_BYTES = 4096 };
/* linux/posix_acl.h, linux/posix_acl_xattr.h: {u32 version = 2} {u16 tag, u16 perm, u32 id}... */
enum { ACL_VERSION = 2, ACL_WRITE = 2 };
enum { ACL_USER = 0x02, ACL_GROUP_OBJ = 0x04, ACL_GROUP = 0x08 };

struct acl_entry {
    uint16_t tag, permissions;
    uint32_t id;
};

static bool acl_entry_at(struct bytes acl, uint64_t offset, struct acl_entry *out_entry)
{
    return bytes_u16(acl, offset, &out_entry->tag) &&
           bytes_u16(acl, offset + 2, &out_entry->permissions) &&
           bytes_u32(acl, offset + 4, &out_entry->id);
}

/* Whom the access list lets write, in words; NULL when nobody that matters. Only asked when the
   group bits, which are its mask, allow writing. */
static const char *acl_writer(struct arena *arena, struct bytes acl)
{
    uint32_t version;
    if (!bytes_u32(acl, 0, &version) || version != ACL_VERSION) {
        return "somebody, by an access list of an unknown kind,";
    }
    struct acl_entry entry;
    for (uint64_t at = ACL_HEADER; acl_entry_at(acl, at, &entry); at += ACL_ENTRY) {
        if ((entry.permissions & ACL_WRITE) == 0) {
            continue;
        }
        if (entry.tag == ACL_USER && !is_trusted_user(entry.id)) {
            return arena_printf(arena, "user %u, by its access list,", entry.id);
        }
        if (entry.tag == ACL_GROUP) {
            return arena_printf(arena, "group %u, by its access list,", entry.id);
        }
        if (entry.tag == ACL_GROUP_OBJ) {
            return "its group";
        }
    }
    return NULL;
}

/* Who but us and root can write to it; NULL when nobody. */
static const char *writer_of(struct arena *arena, const char *path, const struct stat *status)
{
    if ((status->st_mode & S_IWOTH) != 0) {
        return "everybody";
    }
    if ((status->st_mode & S_IWGRP) == 0) {
        return NULL; /* an access list grants nothing either: these bits are its mask */
    }
    uint8_t acl[ACL_BYTES];
    ssize_t size = lgetxattr(path, "system.posix_acl_access", acl, sizeof acl);
    if (size >= 0) {
        return acl_writer(arena, (struct bytes){.data = acl, .size = (uint64_t)size});
    }
    if (errno == ENODATA || errno == EOPNOTSUPP) {
        return arena_printf(arena, "group %u", status->st_gid);
    }
    return "somebody, by an access list that cannot be read,";
}

/* `names_matter`: new names in this directory can be loaded too, so that the sticky bit, which
   protects only what is there, is not enough. */
static const char *reason_against(struct arena *arena, const char *path, bool names_matter)
{
    struct stat status;
    if (lstat(path, &status) != 0) {
        return arena_printf(arena, "'%s' cannot be looked at: %s", path, strerrordesc_np(errno));
    }
    if (!S_ISDIR(status.st_mode) && !S_ISREG(status.st_mode)) {
        return arena_printf(arena, "'%s' is neither a file nor a directory", path);
    }
    if (!is_trusted_user(status.st_uid)) {
        return arena_printf(arena, "'%s' belongs to user %u", path, status.st_uid);
    }
    if (S_ISDIR(status.st_mode) && (status.st_mode & S_ISVTX) != 0 && !names_matter) {
        return NULL;
    }
    const char *writer = writer_of(arena, path, &status);
    return writer == NULL ? NULL : arena_printf(arena, "%s can write to '%s'", writer, path);
}

/* A FUSE file system shows whatever owners its program likes: it is as trusted as the user who
   mounted it, whom the kernel names in the mount's options. */
static const char *reason_against_mount(struct arena *arena, const char *path)
{
    struct posix_mount mount;
    if (!posix_mount_of(arena, path, &mount) || !text_has_prefix(mount.type, "fuse")) {
        return NULL;
    }
    const char *option = strstr(mount.options, "user_id=");
    uint64_t user = UINT64_MAX;
    if (option != NULL) {
        option += strlen("user_id=");
        char *digits = arena_strndup(arena, option, strcspn(option, ","));
        if (!text_to_u64(digits, UINT32_MAX, &user)) {
            user = UINT64_MAX;
        }
    }
    return is_trusted_user(user)
               ? NULL
               : arena_printf(arena, "'%s' is a FUSE mount of another user", mount.point);
}

static const char *find_reason(struct arena *arena, const char *path)
{
    if (!os_path_is_absolute(path)) {
        return arena_printf(arena, "'%s' is not an absolute path", path);
    }
    struct stat status;
    bool is_file = lstat(path, &status) == 0 && !S_ISDIR(status.st_mode);
    const char *at = path;
    for (unsigned depth = 0;; depth++) {
        /* the directory itself, or the one that holds the file: siblings are loaded from it */
        const char *reason = reason_against(arena, at, depth <= (is_file ? 1 : 0));
        if (reason != NULL) {
            return reason;
        }
        if (strcmp(at, "/") == 0) {
            return reason_against_mount(arena, path);
        }
        at = os_path_parent(arena, at);
    }
}

bool os_secure_is_trusted(struct arena *arena, const char *path, const char **out_reason)
{
    CLEANUP(arena_done) struct arena scratch = {0};
    const char *reason = find_reason(&scratch, path);
    if (reason == NULL) {
        return true;
    }
    *out_reason = arena_strdup(arena, reason);
    return false;
}

bool os_secure_is_administrator(void)
{
    return geteuid() == 0;
}

void os_secure_random(void *out_data, size_t size)
{
    unsigned char *data = out_data;
    while (size > 0) {
        ssize_t got = getrandom(data, size, 0);
        if (got < 0 && errno != EINTR) {
            log_fatal("the system gives no random bytes (error %d)", errno);
        }
        if (got > 0) {
            data += got;
            size -= (size_t)got;
        }
    }
}
