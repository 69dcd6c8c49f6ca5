#include "os/host.h"

#include <elf.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/text.h"
#include "os/file.h"
#include "os/path.h"
#include "os/posix/rooted.h"

enum { DEVICE_LIMIT = 4096 };

static const char *first_line(char *text)
{
    if (text == NULL) {
        return NULL;
    }
    text[strcspn(text, "\n")] = '\0';
    text = text_strip(text);
    return text[0] != '\0' ? text : NULL;
}

/* os-release(5): a value may be quoted, and inside double quotes \ escapes. */
static const char *unquote(char *value)
{
    value = text_strip(value);
    char quote = value[0];
    if (quote != '"' && quote != '\'') {
        return value;
    }
    char *to = value;
    for (const char *from = value + 1; *from != '\0' && *from != quote; from++) {
        if (quote == '"' && *from == '\\' && from[1] != '\0') {
            from++;
        }
        *to++ = *from;
    }
    *to = '\0';
    return value;
}

static void read_release(struct arena *arena, const char *root, struct os_host *host)
{
    char *text = posix_rooted_read(arena, root, "/etc/os-release");
    if (text == NULL) {
        text = posix_rooted_read(arena, root, "/usr/lib/os-release");
    }
    for (char *line; (line = strsep(&text, "\n")) != NULL;) {
        if (text_has_prefix(line, "NAME=")) {
            host->os_name = unquote(line + strlen("NAME="));
        } else if (text_has_prefix(line, "VERSION_ID=")) {
            host->os_version = unquote(line + strlen("VERSION_ID="));
        }
    }
}

static int read_machine_code(struct bytes bytes, const struct os_file_info *info, void *context,
                             struct err *err)
{
    (void)info;
    uint32_t magic;
    if (!bytes_u32(bytes, 0, &magic) || magic != 0x464C457F ||
        !bytes_u16(bytes, offsetof(Elf64_Ehdr, e_machine), context)) {
        return err_set(err, ERR_FORMAT, "not an ELF file");
    }
    return 0;
}

/* Another root is made for the processor that its shell is made for. */
static const char *arch_of_root(struct arena *arena, const char *root)
{
    uint16_t machine = EM_NONE;
    const char *shell = posix_rooted_path(arena, root, "/bin/sh");
    if (shell == NULL || os_file_with_map(shell, read_machine_code, &machine, NULL) != 0) {
        return NULL;
    }
    switch (machine) {
    case EM_X86_64:
        return "x86_64";
    case EM_AARCH64:
        return "arm64";
    default:
        return NULL;
    }
}

static const char *arch_of_kernel(struct arena *arena)
{
    struct utsname names;
    if (uname(&names) != 0) {
        return NULL;
    }
    return strcmp(names.machine, "aarch64") == 0 ? "arm64" : arena_strdup(arena, names.machine);
}

static const char *name_of_kernel(struct arena *arena)
{
    char name[256];
    if (gethostname(name, sizeof name) != 0) {
        return NULL;
    }
    name[sizeof name - 1] = '\0';
    return name[0] != '\0' ? arena_strdup(arena, name) : NULL;
}

void os_host_read(struct arena *arena, const char *root, struct os_host *out_host)
{
    *out_host = (struct os_host){0};
    read_release(arena, root, out_host);
    out_host->boot_id =
        first_line(posix_rooted_read(arena, root, "/proc/sys/kernel/random/boot_id"));
    out_host->name = root == NULL ? name_of_kernel(arena)
                                  : first_line(posix_rooted_read(arena, root, "/etc/hostname"));
    out_host->arch = root == NULL ? arch_of_kernel(arena) : arch_of_root(arena, root);
}

/* Devices that are not on the PCI bus as what they are: WSL's paravirtual GPU, Tegra's own. */
static bool has_other_gpu(struct arena *arena, const char *root)
{
    const char *compatible = posix_rooted_read(arena, root, "/proc/device-tree/compatible");
    return posix_rooted_path(arena, root, "/dev/dxg") != NULL ||
           (compatible != NULL && text_has_prefix(compatible, "nvidia,"));
}

enum os_host_presence os_host_nvidia_device(const char *root)
{
    CLEANUP(arena_done) struct arena arena = {0};
    const char *directory = posix_rooted_path(&arena, root, "/sys/bus/pci/devices");
    struct os_dir_list list;
    if (directory == NULL || os_dir_read(&arena, directory, DEVICE_LIMIT, &list, NULL) != 0) {
        return OS_HOST_UNKNOWN;
    }
    bool unreadable = list.cut;
    for (size_t i = 0; i < list.count; i++) {
        const char *device = os_path_join(&arena, "/sys/bus/pci/devices", list.entries[i].name);
        const char *vendor =
            first_line(posix_rooted_read(&arena, root, os_path_join(&arena, device, "vendor")));
        const char *class =
            first_line(posix_rooted_read(&arena, root, os_path_join(&arena, device, "class")));
        if (vendor == NULL || class == NULL) {
            unreadable = true;
        } else if (text_equal_nocase(vendor, "0x10de") && text_has_prefix_nocase(class, "0x03")) {
            return OS_HOST_PRESENT;
        }
    }
    return unreadable || has_other_gpu(&arena, root) ? OS_HOST_UNKNOWN : OS_HOST_ABSENT;
}
