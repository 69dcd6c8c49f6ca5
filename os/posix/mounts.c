#include "os/posix/mounts.h"

#include "base/cleanup.h"
#include "base/text.h"
#include "os/path.h"

static void close_stream(FILE **stream)
{
    if (*stream != NULL) {
        fclose(*stream);
    }
}

/* Blank, tab, line feed and backslash are written as \ and three octal digits. */
static char *unescape(struct arena *arena, const char *text)
{
    char *plain = arena_strdup(arena, text);
    char *to = plain;
    for (const char *from = text; *from != '\0'; to++) {
        if (from[0] == '\\' && strspn(from + 1, "01234567") >= 3) {
            *to = (char)(((from[1] - '0') << 6) | ((from[2] - '0') << 3) | (from[3] - '0'));
            from += 4;
        } else {
            *to = *from++;
        }
    }
    *to = '\0';
    return plain;
}

static char *next_field(char **rest)
{
    char *field;
    do {
        field = strsep(rest, " \n");
    } while (field != NULL && *field == '\0');
    return field;
}

/* 36 35 98:0 /mnt1 /mnt2 rw,noatime master:1 - ext3 /dev/root rw,errors=continue
   id parent device root POINT options (optional fields) - TYPE source OPTIONS */
bool posix_mount_parse(struct arena *arena, const char *line, struct posix_mount *out_mount)
{
    char *rest = arena_strdup(arena, line);
    char *point = NULL;
    for (int i = 0; i < 5; i++) {
        point = next_field(&rest);
    }
    char *field = point;
    while (field != NULL && strcmp(field, "-") != 0) {
        field = next_field(&rest);
    }
    char *type = next_field(&rest);
    char *source = next_field(&rest);
    char *options = next_field(&rest);
    if (point == NULL || type == NULL || source == NULL) {
        return false;
    }
    out_mount->point = unescape(arena, point);
    out_mount->type = unescape(arena, type);
    out_mount->options = options != NULL ? options : "";
    return true;
}

bool posix_mount_of(struct arena *arena, const char *path, struct posix_mount *out_mount)
{
    CLEANUP(close_stream) FILE *table = fopen("/proc/self/mountinfo", "re");
    if (table == NULL) {
        return false;
    }
    CLEANUP(cleanup_free) char *line = NULL;
    size_t capacity = 0;
    size_t longest = 0;
    bool found = false;
    while (getline(&line, &capacity, table) > 0) {
        struct posix_mount mount;
        if (!posix_mount_parse(arena, line, &mount) || !os_path_is_below(path, mount.point)) {
            continue;
        }
        size_t length = strlen(mount.point);
        if (length >= longest) { /* of two on the same point the later one is on top */
            longest = length;
            *out_mount = mount;
            found = true;
        }
    }
    return found;
}

bool posix_mount_is_remote(const struct posix_mount *mount)
{
    static const char *const remote[] = {
        "9p",    "afs",      "autofs", "beegfs", "ceph",  "cifs", "coda",
        "davfs", "fuse",     "gpfs",   "lustre", "ncpfs", "nfs",  "nfs4",
        "ocfs2", "orangefs", "panfs",  "pvfs2",  "smb2",  "smb3", "smbfs",
    };
    if (strcmp(mount->point, "/") == 0) {
        return false; /* when the root does not answer, this program does not run either */
    }
    for (size_t i = 0; i < sizeof remote / sizeof *remote; i++) {
        if (strcmp(mount->type, remote[i]) == 0) {
            return true;
        }
    }
    return text_has_prefix(mount->type, "fuse."); /* "fuseblk" is a local disk (NTFS) */
}
