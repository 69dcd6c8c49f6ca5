#include "os/posix/mounts.h"

#include <fcntl.h>
#include <poll.h>
#include <pthread.h>

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

/* The table as it was read last. A scan asks some hundred times; the kernel says on the open file
   when something was mounted or unmounted: proc_pid_mounts(5), "poll". */
static struct {
    pthread_mutex_t mutex;
    int fd; /* 0 = not opened yet */
    struct arena arena;
    struct posix_mount *mounts;
    size_t count, capacity;
} table = {.mutex = PTHREAD_MUTEX_INITIALIZER};

static bool is_current(void)
{
    struct pollfd changes = {.fd = table.fd, .events = POLLPRI};
    return table.count > 0 && poll(&changes, 1, 0) == 0;
}

static bool read_table(void)
{
    if (table.fd == 0) {
        int fd = open("/proc/self/mountinfo", O_RDONLY | O_CLOEXEC);
        table.fd = fd > 0 ? fd : 0;
    }
    CLEANUP(close_stream) FILE *stream = fopen("/proc/self/mountinfo", "re");
    if (stream == NULL) {
        return false;
    }
    CLEANUP(cleanup_free) char *line = NULL;
    size_t line_capacity = 0;
    arena_done(&table.arena);
    table.mounts = NULL;
    table.count = table.capacity = 0;
    while (getline(&line, &line_capacity, stream) > 0) {
        struct posix_mount mount;
        if (posix_mount_parse(&table.arena, line, &mount)) {
            struct posix_mount *slot = arena_push(&table.arena, &table.mounts, &table.count,
                                                  &table.capacity, sizeof *slot);
            *slot = mount;
        }
    }
    return table.count > 0;
}

static const struct posix_mount *find_mount(const char *path)
{
    const struct posix_mount *found = NULL;
    size_t longest = 0;
    for (size_t i = 0; i < table.count; i++) {
        size_t length = strlen(table.mounts[i].point);
        if (length >= longest && os_path_is_below(path, table.mounts[i].point)) {
            longest = length; /* of two on the same point the later one is on top */
            found = &table.mounts[i];
        }
    }
    return found;
}

bool posix_mount_of(struct arena *arena, const char *path, struct posix_mount *out_mount)
{
    pthread_mutex_lock(&table.mutex);
    const struct posix_mount *found = is_current() || read_table() ? find_mount(path) : NULL;
    if (found != NULL) {
        *out_mount = (struct posix_mount){
            .point = arena_strdup(arena, found->point),
            .type = arena_strdup(arena, found->type),
            .options = arena_strdup(arena, found->options),
        };
    }
    pthread_mutex_unlock(&table.mutex);
    return found != NULL;
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
