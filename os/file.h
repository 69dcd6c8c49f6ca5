#ifndef OS_FILE_H
#define OS_FILE_H

/* Files and directories. Reading never follows a pipe, a device or a directory by mistake, never
   blocks on one, and never trusts a size: a file may vanish, shrink or grow at any moment.
   A mapped file that shrinks is an error (ERR_IO), not a crash. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/bytes.h"
#include "base/err.h"

enum os_file_type { OS_FILE_REGULAR, OS_FILE_DIRECTORY, OS_FILE_LINK, OS_FILE_OTHER };

struct os_file_info {
    enum os_file_type type;
    uint64_t size_bytes;
    int64_t modified_at_ms; /* Unix time */
    uint64_t device, inode; /* identity: Windows volume serial and file index */
};

/* Follows links. ERR_NOT_FOUND, ERR_PERMISSION, ERR_LIMIT (link loop), ERR_IO. */
int os_file_stat(const char *path, struct os_file_info *out_info, struct err *err);

struct os_dir_entry {
    char *name;             /* without the directory */
    enum os_file_type type; /* of the entry itself: a link is OS_FILE_LINK */
};

struct os_dir_list {
    struct os_dir_entry *entries; /* in the caller's arena, sorted by name (byte order) */
    size_t count;
    bool cut; /* there were more than `limit` */
};

/* The entries of a directory, without "." and "..". */
int os_dir_read(struct arena *arena, const char *path, size_t limit, struct os_dir_list *out_list,
                struct err *err);

/* Reads a whole small regular file; ERR_LIMIT when it is larger than `limit`. The text is in the
   arena, NUL-terminated behind out_size. */
int os_file_read(struct arena *arena, const char *path, size_t limit, char **out_data,
                 size_t *out_size, struct err *err);

/* What a reader of a mapped file does with the bytes; returns 0 or an ERR_*. Must hold nothing
   that needs cleaning up while it touches the bytes (a read error leaves it by a jump), and keep
   results in `context`. */
typedef int os_file_reader(struct bytes bytes, const struct os_file_info *info, void *context,
                           struct err *err);

/* Maps a regular file read-only, without reading it, tells the system that access is random, and
   calls the reader once. A page that cannot be read (shrunk file, bad disk) makes this return
   ERR_IO. An empty file gives an empty block. */
int os_file_with_map(const char *path, os_file_reader *reader, void *context, struct err *err);

/* Writes a new file and renames it into place: the old content or the new, never a mixture.
   `private`: readable by the owner (POSIX 0600; Windows: administrators, SYSTEM, the owner). */
int os_file_write(const char *path, const void *data, size_t size, bool private_file,
                  struct err *err);
int os_file_remove(const char *path, struct err *err);
int os_file_rename(const char *from, const char *to, struct err *err); /* replaces `to` */
int os_file_copy(const char *from, const char *to, struct err *err);   /* replaces `to` */

int os_dir_make(const char *path, struct err *err); /* with its parents; existing is fine */
uint64_t os_disk_free_bytes(const char *path);      /* 0 when unknown */

#endif
