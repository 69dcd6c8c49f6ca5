#ifndef GPU_WORKER_CHANNEL_H
#define GPU_WORKER_CHANNEL_H

#include <stdbool.h>

/* The worker's one channel to its parent. Vendor code prints on stdout when it likes: before any is
   loaded the real stdout is put aside and descriptor 1 leads to stderr. */
bool channel_open(void);
bool channel_write(const char *text); /* the whole document; false when the parent is gone */

#endif
