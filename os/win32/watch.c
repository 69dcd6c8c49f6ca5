#include "os/watch.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/text.h"
#include "os/thread.h"
#include "os/win32/wide.h"

enum { EVENT_BYTES = 4096 };

/* One request to one directory, for files or for directories: Windows does not say of a name which
   of the two it is, but can be asked for one kind alone. */
struct watched {
    OVERLAPPED overlapped; /* first: what a completion gives back */
    HANDLE directory;
    char *path;
    bool files;
    bool wanted; /* while a new set is put together */
    bool ending; /* nothing is asked any more; freed when the last answer has come */
    struct watched *next;
    _Alignas(DWORD) unsigned char events[EVENT_BYTES];
};

struct os_watch {
    char *word;
    os_watch_changed *on_change;
    void *context;
    HANDLE port;
    pthread_t thread;
    pthread_mutex_t mutex; /* guards the list and what is in it */
    struct watched *first;
};

static bool has_word(const char *name, const char *word)
{
    for (; *name != '\0'; name++) {
        if (text_has_prefix_nocase(name, word)) {
            return true;
        }
    }
    return false;
}

static bool ask(struct watched *item)
{
    DWORD filter = item->files ? FILE_NOTIFY_CHANGE_FILE_NAME | FILE_NOTIFY_CHANGE_SIZE |
                                     FILE_NOTIFY_CHANGE_LAST_WRITE
                               : FILE_NOTIFY_CHANGE_DIR_NAME;
    memset(&item->overlapped, 0, sizeof item->overlapped);
    return ReadDirectoryChangesW(item->directory, item->events, EVENT_BYTES, FALSE, filter, NULL,
                                 &item->overlapped, NULL) != 0;
}

/* "FILE_NOTIFY_INFORMATION structure": entries with the offset of the next one. No bytes: there
   were more than fit. */
static bool is_relevant(const struct os_watch *watch, const struct watched *item, DWORD size)
{
    if (size == 0 || !item->files) {
        return true;
    }
    struct arena arena = {0};
    bool relevant = false;
    for (DWORD at = 0; !relevant && at + offsetof(FILE_NOTIFY_INFORMATION, FileName) <= size;) {
        const FILE_NOTIFY_INFORMATION *event = (const void *)(item->events + at);
        const char *name =
            wide_to_text_n(&arena, event->FileName, event->FileNameLength / sizeof(wchar_t));
        relevant = name == NULL || has_word(name, watch->word);
        if (event->NextEntryOffset == 0) {
            break;
        }
        at += event->NextEntryOffset;
    }
    arena_done(&arena);
    return relevant;
}

static void unlink_item(struct os_watch *watch, struct watched *item)
{
    for (struct watched **link = &watch->first; *link != NULL; link = &(*link)->next) {
        if (*link == item) {
            *link = item->next;
            return;
        }
    }
}

static void free_item(struct watched *item)
{
    if (item->directory != INVALID_HANDLE_VALUE) {
        CloseHandle(item->directory);
    }
    free(item->path);
    free(item);
}

/* One answer came. A directory that is gone answers with an error: that is a change, and the end
   of watching it. True: tell. */
static bool handle_answer(struct os_watch *watch, struct watched *item, bool failed, DWORD size)
{
    pthread_mutex_lock(&watch->mutex);
    bool ending = item->ending;
    bool relevant = !ending && (failed || is_relevant(watch, item, size));
    if (ending || failed || !ask(item)) {
        unlink_item(watch, item);
        free_item(item);
        relevant = relevant || !ending;
    }
    pthread_mutex_unlock(&watch->mutex);
    return relevant;
}

static void *wait_for_answers(void *context)
{
    struct os_watch *watch = context;
    os_thread_name("watch");
    for (;;) {
        DWORD size = 0;
        ULONG_PTR key = 0;
        OVERLAPPED *overlapped = NULL;
        BOOL ok = GetQueuedCompletionStatus(watch->port, &size, &key, &overlapped, INFINITE);
        if (overlapped ==
            NULL) { /* posted by os_watch_stop: leave when nothing is asked any more */
            pthread_mutex_lock(&watch->mutex);
            bool empty = watch->first == NULL;
            pthread_mutex_unlock(&watch->mutex);
            if (empty || !ok) {
                return NULL;
            }
            continue;
        }
        if (handle_answer(watch, (struct watched *)(void *)overlapped, !ok, size)) {
            watch->on_change(watch->context);
        }
    }
}

int os_watch_start(const char *word, os_watch_changed *on_change, void *context,
                   struct os_watch **out_watch, struct err *err)
{
    struct os_watch *watch = calloc(1, sizeof *watch);
    if (watch == NULL || (watch->word = strdup(word)) == NULL) {
        log_fatal("out of memory: watching directories");
    }
    watch->on_change = on_change;
    watch->context = context;
    pthread_mutex_init(&watch->mutex, NULL);
    watch->port = CreateIoCompletionPort(INVALID_HANDLE_VALUE, NULL, 0, 1);
    if (watch->port == NULL || pthread_create(&watch->thread, NULL, wait_for_answers, watch) != 0) {
        DWORD error = GetLastError();
        if (watch->port != NULL) {
            CloseHandle(watch->port);
        }
        free(watch->word);
        free(watch);
        return wide_error(err, error, "cannot watch directories");
    }
    *out_watch = watch;
    return 0;
}

static struct watched *find(struct os_watch *watch, const char *path, bool files)
{
    for (struct watched *item = watch->first; item != NULL; item = item->next) {
        if (!item->ending && item->files == files && text_equal(item->path, path)) {
            return item;
        }
    }
    return NULL;
}

/* Sharing everything: watching must not keep anybody from renaming or deleting the directory. */
static HANDLE open_directory(const char *path)
{
    struct arena arena = {0};
    wchar_t *wide = wide_path(&arena, path, NULL);
    HANDLE handle =
        wide == NULL
            ? INVALID_HANDLE_VALUE
            : CreateFileW(wide, FILE_LIST_DIRECTORY,
                          FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE, NULL,
                          OPEN_EXISTING, FILE_FLAG_BACKUP_SEMANTICS | FILE_FLAG_OVERLAPPED, NULL);
    arena_done(&arena);
    return handle;
}

static bool add(struct os_watch *watch, const char *path, bool files)
{
    struct watched *item = find(watch, path, files);
    if (item != NULL) {
        item->wanted = true;
        return true;
    }
    item = calloc(1, sizeof *item);
    if (item == NULL || (item->path = strdup(path)) == NULL) {
        log_fatal("out of memory: watching directories");
    }
    item->files = files;
    item->wanted = true;
    item->directory = open_directory(path);
    if (item->directory == INVALID_HANDLE_VALUE ||
        CreateIoCompletionPort(item->directory, watch->port, 1, 0) == NULL || !ask(item)) {
        log_debug("not watched: '%s' (error %lu)", path, GetLastError());
        free_item(item);
        return false;
    }
    item->next = watch->first;
    watch->first = item;
    return true;
}

/* Its request ends with an answer, and the item with that. */
static void end_unwanted(struct os_watch *watch)
{
    for (struct watched *item = watch->first; item != NULL; item = item->next) {
        if (!item->wanted && !item->ending) {
            item->ending = true;
            CancelIoEx(item->directory, &item->overlapped);
        }
        item->wanted = false;
    }
}

size_t os_watch_set(struct os_watch *watch, const struct os_watch_directory *directories,
                    size_t count)
{
    size_t watched = 0;
    pthread_mutex_lock(&watch->mutex);
    for (size_t i = 0; i < count; i++) {
        bool ok = true;
        if (directories[i].files) {
            ok = add(watch, directories[i].path, true);
        }
        if (ok && directories[i].directories) {
            ok = add(watch, directories[i].path, false);
        }
        watched += ok ? 1 : 0;
    }
    end_unwanted(watch);
    pthread_mutex_unlock(&watch->mutex);
    return watched;
}

void os_watch_stop(struct os_watch *watch)
{
    if (watch == NULL) {
        return;
    }
    os_watch_set(watch, NULL, 0);
    for (bool empty = false; !empty;) { /* until every cancelled request has been answered */
        PostQueuedCompletionStatus(watch->port, 0, 0, NULL);
        pthread_mutex_lock(&watch->mutex);
        empty = watch->first == NULL;
        pthread_mutex_unlock(&watch->mutex);
        if (!empty) {
            Sleep(1);
        }
    }
    PostQueuedCompletionStatus(watch->port, 0, 0, NULL);
    pthread_join(watch->thread, NULL);
    CloseHandle(watch->port);
    pthread_mutex_destroy(&watch->mutex);
    free(watch->word);
    free(watch);
}
