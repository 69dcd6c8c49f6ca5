#include "os/watch.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/inotify.h>
#include <unistd.h>

#include "base/log.h"
#include "base/text.h"
#include "os/posix/syscall.h"
#include "os/thread.h"

enum { EVENT_BYTES = 16 * 1024 };

/* inotify(7). IN_MODIFY: a long copy is seen to go on. IN_CREATE: a link is never written to. */
#define FILE_EVENTS                                                                                \
    (IN_CREATE | IN_MODIFY | IN_CLOSE_WRITE | IN_MOVED_TO | IN_MOVED_FROM | IN_DELETE | IN_ATTRIB)
#define DIRECTORY_EVENTS (IN_CREATE | IN_MOVED_TO | IN_MOVED_FROM | IN_DELETE)
#define OWN_EVENTS (IN_DELETE_SELF | IN_MOVE_SELF | IN_ONLYDIR)

struct watched {
    int descriptor;
    bool files, directories;
};

struct os_watch {
    char *word;
    os_watch_changed *on_change;
    void *context;
    int events, stop; /* descriptors: inotify, eventfd */
    pthread_t thread;
    pthread_mutex_t mutex; /* guards what follows */
    struct watched *items;
    size_t count;
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

static bool is_relevant(struct os_watch *watch, const struct inotify_event *event)
{
    if ((event->mask & IN_Q_OVERFLOW) != 0) {
        return true;
    }
    bool relevant = false;
    pthread_mutex_lock(&watch->mutex);
    for (size_t i = 0; i < watch->count; i++) {
        const struct watched *item = &watch->items[i];
        if (item->descriptor != event->wd) {
            continue;
        }
        if ((event->mask & (IN_DELETE_SELF | IN_MOVE_SELF)) != 0) {
            relevant = true;
        } else if ((event->mask & IN_ISDIR) != 0) {
            relevant = item->directories && (event->mask & DIRECTORY_EVENTS) != 0;
        } else {
            relevant = item->files && event->len > 0 && has_word(event->name, watch->word);
        }
        break;
    }
    pthread_mutex_unlock(&watch->mutex);
    return relevant;
}

/* Everything that waits, told once. */
static void read_events(struct os_watch *watch)
{
    _Alignas(struct inotify_event) char buffer[EVENT_BYTES];
    bool relevant = false;
    ssize_t size;
    while ((size = read(watch->events, buffer, sizeof buffer)) > 0) {
        for (ssize_t at = 0; at < size;) {
            const struct inotify_event *event = (const void *)(buffer + at);
            relevant = relevant || is_relevant(watch, event);
            at += (ssize_t)(sizeof *event + event->len);
        }
    }
    if (relevant) {
        watch->on_change(watch->context);
    }
}

static void *wait_for_events(void *context)
{
    struct os_watch *watch = context;
    struct pollfd sources[] = {{.fd = watch->events, .events = POLLIN},
                               {.fd = watch->stop, .events = POLLIN}};
    os_thread_name("watch");
    for (;;) {
        if (poll(sources, 2, -1) < 0 && errno != EINTR) {
            log_error("changes of directories are no longer seen: %s", strerror(errno));
            return NULL;
        }
        if (sources[1].revents != 0) {
            return NULL;
        }
        if (sources[0].revents != 0) {
            read_events(watch);
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
    watch->events = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
    int number = watch->events < 0 ? errno : 0;
    watch->stop = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    number = number == 0 && watch->stop < 0 ? errno : number;
    if (number == 0) {
        number = pthread_create(&watch->thread, NULL, wait_for_events, watch);
    }
    if (number != 0) {
        posix_close(&watch->events);
        posix_close(&watch->stop);
        free(watch->word);
        free(watch);
        return posix_fail(err, number, "cannot watch directories");
    }
    *out_watch = watch;
    return 0;
}

static struct watched *find(struct watched *items, size_t count, int descriptor)
{
    for (size_t i = 0; i < count; i++) {
        if (items[i].descriptor == descriptor) {
            return &items[i];
        }
    }
    return NULL;
}

static uint32_t mask_of(bool files, bool directories)
{
    uint32_t mask = OWN_EVENTS;
    if (files) {
        mask |= FILE_EVENTS;
    }
    if (directories) {
        mask |= DIRECTORY_EVENTS;
    }
    return mask;
}

/* Two paths of one directory get one descriptor: it is watched for what both want. */
static size_t add_all(struct os_watch *watch, const struct os_watch_directory *directories,
                      size_t count, struct watched *items)
{
    size_t used = 0;
    for (size_t i = 0; i < count; i++) {
        uint32_t mask = mask_of(directories[i].files, directories[i].directories);
        int descriptor = inotify_add_watch(watch->events, directories[i].path, mask);
        if (descriptor < 0) {
            log_debug("not watched: '%s': %s", directories[i].path, strerror(errno));
            continue;
        }
        struct watched *item = find(items, used, descriptor);
        if (item == NULL) {
            item = &items[used++];
            *item = (struct watched){.descriptor = descriptor};
        } else {
            inotify_add_watch(watch->events, directories[i].path, mask_of(true, true));
        }
        item->files = item->files || directories[i].files;
        item->directories = item->directories || directories[i].directories;
    }
    return used;
}

size_t os_watch_set(struct os_watch *watch, const struct os_watch_directory *directories,
                    size_t count)
{
    struct watched *items = calloc(count + 1, sizeof *items);
    if (items == NULL) {
        log_fatal("out of memory: watching %zu directories", count);
    }
    /* Under the mutex: an event of a new descriptor waits until the descriptor is known. */
    pthread_mutex_lock(&watch->mutex);
    size_t used = add_all(watch, directories, count, items);
    for (size_t i = 0; i < watch->count; i++) {
        if (find(items, used, watch->items[i].descriptor) == NULL) {
            inotify_rm_watch(watch->events, watch->items[i].descriptor);
        }
    }
    free(watch->items);
    watch->items = items;
    watch->count = used;
    pthread_mutex_unlock(&watch->mutex);
    return used;
}

void os_watch_stop(struct os_watch *watch)
{
    if (watch == NULL) {
        return;
    }
    uint64_t one = 1;
    (void)!write(watch->stop, &one, sizeof one);
    pthread_join(watch->thread, NULL);
    posix_close(&watch->events);
    posix_close(&watch->stop);
    pthread_mutex_destroy(&watch->mutex);
    free(watch->items);
    free(watch->word);
    free(watch);
}
