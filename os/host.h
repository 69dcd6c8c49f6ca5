#ifndef OS_HOST_H
#define OS_HOST_H

/* Who and what this machine is. Unknown texts are NULL, never invented. */

#include "base/arena.h"

struct os_host {
    const char *name;
    const char *os_name;    /* "Windows", "Debian GNU/Linux" */
    const char *os_version; /* "10.0.22631", "12" */
    const char *arch;       /* "x86_64", "arm64" */
    const char *boot_id;    /* changes with every boot */
};

enum os_host_presence { OS_HOST_ABSENT, OS_HOST_PRESENT, OS_HOST_UNKNOWN };

/* `root`: as in os/path.h. */
void os_host_read(struct arena *arena, const char *root, struct os_host *out_host);

/* Is an NVIDIA display device (vendor 0x10DE, class 0x03xxxx) on the PCI bus? Asked of the system's
   own device list (/sys/bus/pci/devices, registry Enum\PCI), never of a driver. */
enum os_host_presence os_host_nvidia_device(const char *root);

#endif
