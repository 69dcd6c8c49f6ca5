#include "os/host.h"

#include <windows.h>

#include <cfgmgr32.h>

#include "base/cleanup.h"
#include "base/text.h"
#include "os/registry.h"
#include "os/win32/native.h"
#include "os/win32/registry_raw.h"
#include "os/win32/wide.h"

static const char pci_key[] = "HKLM\\SYSTEM\\CurrentControlSet\\Enum\\PCI";

/* --- names and versions --- */

static const char *computer_name(struct arena *arena)
{
    struct arena scratch CLEANUP(arena_done) = {0};
    DWORD size = 0;
    GetComputerNameExW(ComputerNameDnsHostname, NULL, &size);
    wchar_t *name = arena_alloc(&scratch, (size + 1) * sizeof *name);
    if (size == 0 || !GetComputerNameExW(ComputerNameDnsHostname, name, &size)) {
        return NULL;
    }
    return wide_to_text_n(arena, name, size);
}

/* GetVersionEx() tells a program without a manifest that it runs on Windows 8. */
static const char *version(struct arena *arena)
{
    typedef LONG WINAPI version_function(OSVERSIONINFOW *);
    version_function *read = (version_function *)native_find(L"ntdll.dll", "RtlGetVersion");
    OSVERSIONINFOW info = {.dwOSVersionInfoSize = sizeof info};
    if (read == NULL || read(&info) != 0) {
        return NULL;
    }
    return arena_printf(arena, "%lu.%lu.%lu", (unsigned long)info.dwMajorVersion,
                        (unsigned long)info.dwMinorVersion, (unsigned long)info.dwBuildNumber);
}

/* The machine's, not the one this program was built for: ARM64 Windows runs it in emulation. */
static const char *architecture(void)
{
    typedef BOOL WINAPI wow64_function(HANDLE, USHORT *, USHORT *);
    wow64_function *ask = (wow64_function *)native_find(L"kernel32.dll", "IsWow64Process2");
    USHORT process = 0, machine = 0;
    if (ask != NULL && ask(GetCurrentProcess(), &process, &machine)) {
        return machine == IMAGE_FILE_MACHINE_AMD64   ? "x86_64"
               : machine == IMAGE_FILE_MACHINE_ARM64 ? "arm64"
                                                     : NULL;
    }
    SYSTEM_INFO info;
    GetNativeSystemInfo(&info);
    return info.wProcessorArchitecture == PROCESSOR_ARCHITECTURE_AMD64 ? "x86_64" : NULL;
}

/* SYSTEM_TIMEOFDAY_INFORMATION. When somebody sets the clock, the kernel moves BootTime and
   BootTimeBias together: their difference is the same from boot to boot. */
static const char *boot_id(struct arena *arena)
{
    struct {
        int64_t boot_time, current_time, time_zone_bias;
        uint32_t time_zone, reserved;
        uint64_t boot_time_bias, sleep_time_bias;
    } times = {0};
    typedef LONG NTAPI query_function(ULONG, PVOID, ULONG, PULONG);
    query_function *query = (query_function *)native_find(L"ntdll.dll", "NtQuerySystemInformation");
    const ULONG time_of_day = 3;
    ULONG size = 0;
    if (query == NULL || query(time_of_day, &times, sizeof times, &size) != 0 ||
        times.boot_time == 0) {
        return NULL;
    }
    return arena_printf(arena, "%016llx",
                        (unsigned long long)times.boot_time - times.boot_time_bias);
}

void os_host_read(struct arena *arena, const char *root, struct os_host *out_host)
{
    (void)root; /* POSIX only */
    *out_host = (struct os_host){
        .name = computer_name(arena),
        .os_name = "Windows",
        .os_version = version(arena),
        .arch = architecture(),
        .boot_id = boot_id(arena),
    };
}

/* --- NVIDIA on the bus --- */

/* Names of the devices that are there now, one behind the other; NULL when the system does not say.
   Wine answers an empty list: no real machine is without a single device. */
static const wchar_t *present_devices(struct arena *arena)
{
    typedef CONFIGRET WINAPI size_function(PULONG, PCWSTR, ULONG);
    typedef CONFIGRET WINAPI list_function(PCWSTR, PWCHAR, ULONG, ULONG);
    size_function *ask_size =
        (size_function *)native_find(L"cfgmgr32.dll", "CM_Get_Device_ID_List_SizeW");
    list_function *ask = (list_function *)native_find(L"cfgmgr32.dll", "CM_Get_Device_ID_ListW");
    const ULONG present = 0x100; /* CM_GETIDLIST_FILTER_PRESENT */
    ULONG size = 0;
    if (ask_size == NULL || ask == NULL || ask_size(&size, NULL, present) != CR_SUCCESS ||
        size < 3 || size > 1u << 24) {
        return NULL;
    }
    wchar_t *list = arena_alloc(arena, (size + 2) * sizeof *list);
    return ask(NULL, list, size, present) == CR_SUCCESS && *list != L'\0' ? list : NULL;
}

/* The registry keeps devices that were taken out, too. */
static bool is_present(const wchar_t *devices, const char *id)
{
    struct arena scratch CLEANUP(arena_done) = {0};
    const wchar_t *wide = wide_from_text(&scratch, id, NULL);
    for (; devices != NULL && *devices != L'\0'; devices += wcslen(devices) + 1) {
        if (wide != NULL && _wcsicmp(devices, wide) == 0) {
            return true;
        }
    }
    return false;
}

/* Class 0x03xxxx as Windows put it down: by its own device class, or by what the bus said. */
static bool is_display(struct arena *arena, const char *key)
{
    const char *guid = os_registry_text(arena, key, "ClassGUID");
    if (guid != NULL && text_equal_nocase(guid, "{4d36e968-e325-11ce-bfc1-08002be10318}")) {
        return true;
    }
    return registry_find_in_list(arena, key, "HardwareID", "&CC_03") != NULL ||
           registry_find_in_list(arena, key, "CompatibleIDs", "&CC_03") != NULL;
}

static bool has_display(struct arena *arena, const char *device, const wchar_t *devices)
{
    const char *key = arena_printf(arena, "%s\\%s", pci_key, device);
    char **instances = NULL;
    size_t count = 0;
    os_registry_subkeys(arena, key, &instances, &count);
    for (size_t i = 0; i < count; i++) {
        const char *id = arena_printf(arena, "PCI\\%s\\%s", device, instances[i]);
        if (is_display(arena, arena_printf(arena, "%s\\%s", key, instances[i])) &&
            (devices == NULL || is_present(devices, id))) {
            return true;
        }
    }
    return false;
}

enum os_host_presence os_host_nvidia_device(const char *root)
{
    struct arena scratch CLEANUP(arena_done) = {0};
    const wchar_t *devices = present_devices(&scratch);
    char **names = NULL;
    size_t count = 0;
    (void)root;
    os_registry_subkeys(&scratch, pci_key, &names, &count);
    for (size_t i = 0; i < count; i++) {
        if (text_has_prefix_nocase(names[i], "VEN_10DE&") &&
            has_display(&scratch, names[i], devices)) {
            return OS_HOST_PRESENT;
        }
    }
    /* Without any PCI device (some virtual machines) the key need not exist, but the list does. */
    return count == 0 && devices == NULL ? OS_HOST_UNKNOWN : OS_HOST_ABSENT;
}
