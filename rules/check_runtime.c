/* What the driver and the probes answered. */
#include "base/text.h"
#include "rules/checks.h"
#include "rules/judge.h"

void check_driver_missing(struct judge *judge)
{
    const struct snapshot *snapshot = judge->snapshot;
    if (snapshot->driver.status != DRIVER_MISSING || snapshot->inventory.install_count == 0) {
        return;
    }
    bool device = snapshot->nvidia_device == OS_HOST_PRESENT;
    struct finding *finding =
        judge_add(judge, device ? SEVERITY_CRITICAL : SEVERITY_INFO, "driver", NULL, NULL);
    judge_title(judge, finding, "no NVIDIA driver");
    judge_detail(
        judge, finding,
        "%zu cuDNN %s found, but no NVIDIA driver answers%s%s%s. Without one cuDNN computes "
        "nothing.",
        snapshot->inventory.install_count,
        snapshot->inventory.install_count == 1 ? "copy was" : "copies were",
        device ? ", although an NVIDIA device is on the PCI bus"
               : "; this machine has no NVIDIA device either",
        snapshot->driver.error == NULL ? "" : ": ",
        snapshot->driver.error == NULL ? "" : snapshot->driver.error);
    judge_evidence(judge, finding, "nvidia_device", "%s",
                   device                                      ? "present"
                   : snapshot->nvidia_device == OS_HOST_ABSENT ? "absent"
                                                               : "unknown");
    if (!device) {
        judge_remedy(judge, finding, "Nothing to do unless this machine should have a GPU.");
    }
}

/* Causes of a driver error that can be told from its words, with what helps. */
static const struct {
    const char *word;
    const char *remedy;
} driver_remedies[] = {
    {"mismatch", "The driver was updated under a running kernel module: reboot the machine."},
    {"lost",
     "The GPU fell off the bus: shut the machine down, check power and seating, start it again."},
    {"time", "The driver hangs: reboot the machine; if it comes back, reinstall the driver."},
};

void check_driver_error(struct judge *judge)
{
    const struct driver *driver = &judge->snapshot->driver;
    if (driver->status != DRIVER_ERROR) {
        return;
    }
    const char *error = driver->error == NULL ? "it gave no reason" : driver->error;
    struct finding *finding = judge_add(judge, SEVERITY_CRITICAL, "driver", NULL, NULL);
    judge_title(judge, finding, "the NVIDIA driver answers with an error");
    judge_detail(judge, finding, "%s. Programs that use the GPU fail.", error);
    judge_evidence(judge, finding, "error", "%s", error);
    if (driver->version != NULL) {
        judge_evidence(judge, finding, "version", "%s", driver->version);
    }
    for (size_t i = 0; i < sizeof driver_remedies / sizeof *driver_remedies; i++) {
        if (strstr(error, driver_remedies[i].word) != NULL) {
            judge_remedy(judge, finding, "%s", driver_remedies[i].remedy);
            break;
        }
    }
}

/* A library that needs the driver's own library and does not find it, on a machine whose driver is
   missing or broken: the driver's finding is the cause. */
static bool driver_explains(const struct judge *judge, const struct probe *probe)
{
    return judge->snapshot->driver.status != DRIVER_OK && probe->error != NULL &&
           (strstr(probe->error, "libcuda") != NULL || strstr(probe->error, "nvcuda") != NULL);
}

/* Calls `add` for every install whose probe ended so, unless something else explains it. */
static void each_probe(struct judge *judge, enum probe_status status,
                       void (*add)(struct judge *, const struct install *, const struct probe *))
{
    JUDGE_EACH_INSTALL (judge, install) {
        const struct probe *probe = judge_probe(judge, install);
        if (probe != NULL && probe->status == status && !judge_files_explain(judge, install) &&
            !driver_explains(judge, probe)) {
            add(judge, install, probe);
        }
    }
}

static void add_load_failed(struct judge *judge, const struct install *install,
                            const struct probe *probe)
{
    struct finding *finding = judge_add_install(judge, SEVERITY_CRITICAL, install);
    const char *error = probe->error == NULL ? "the loader gave no reason" : probe->error;
    judge_title(judge, finding, "cuDNN %s cannot be loaded",
                judge_version(judge, install->version));
    judge_detail(judge, finding, "Loading the cuDNN in %s failed: %s.", install->path, error);
    judge_evidence(judge, finding, "error", "%s", error);
    if (probe->loader_code != 0) {
        judge_evidence(judge, finding, "loader_code", "%d", probe->loader_code);
    }
}

void check_load_failed(struct judge *judge)
{
    each_probe(judge, PROBE_FAILED, add_load_failed);
}

static void add_probe_crashed(struct judge *judge, const struct install *install,
                              const struct probe *probe)
{
    struct finding *finding = judge_add_install(judge, SEVERITY_CRITICAL, install);
    judge_title(judge, finding, "loading cuDNN %s ends the process",
                judge_version(judge, install->version));
    judge_detail(judge, finding, "The process that loaded the cuDNN in %s died: %s.", install->path,
                 probe->error == NULL ? "it left no word" : probe->error);
    judge_probe_evidence(judge, finding, install);
    judge_remedy_reinstall(judge, finding, install);
}

void check_probe_crashed(struct judge *judge)
{
    each_probe(judge, PROBE_CRASHED, add_probe_crashed);
}

static void add_probe_timeout(struct judge *judge, const struct install *install,
                              const struct probe *probe)
{
    if (judge->snapshot->driver.status == DRIVER_ERROR) {
        return; /* a driver that hangs is the cause */
    }
    struct finding *finding = judge_add_install(judge, SEVERITY_CRITICAL, install);
    judge_title(judge, finding, "loading cuDNN %s takes too long",
                judge_version(judge, install->version));
    judge_detail(judge, finding, "The process that loaded the cuDNN in %s did not come back: %s.",
                 install->path, probe->error == NULL ? "it was ended" : probe->error);
    judge_probe_evidence(judge, finding, install);
}

void check_probe_timeout(struct judge *judge)
{
    each_probe(judge, PROBE_TIMEOUT, add_probe_timeout);
}

static const char *mismatched_checks(struct judge *judge, const struct probe *probe)
{
    const char *list = "";
    for (int i = 0; i < PROBE_CHECKS; i++) {
        if (probe->checks[i] != NULL && strstr(probe->checks[i], "VERSION_MISMATCH") != NULL) {
            list = arena_printf(judge->arena, "%s%s%s", list, *list == '\0' ? "" : ", ",
                                probe_check_name((enum probe_check)i));
        }
    }
    return list;
}

static void add_runtime_mismatch(struct judge *judge, const struct install *install,
                                 const struct probe *probe)
{
    struct version running = version_from_cudnn((uint64_t)probe->version);
    bool other = version_known(running) && version_known(install->version) &&
                 version_compare(running, install->version, 3) != 0;
    const char *checks = mismatched_checks(judge, probe);
    if (!other && *checks == '\0') {
        return;
    }
    struct finding *finding = judge_add_install(judge, SEVERITY_CRITICAL, install);
    judge_title(judge, finding, "cuDNN %s does not run as what its files say",
                judge_version(judge, install->version));
    judge_detail(judge, finding, "The files in %s are cuDNN %s, running it answers %s%s%s.",
                 install->path, judge_version(judge, install->version),
                 judge_version(judge, running),
                 *checks == '\0' ? "" : "; SUBLIBRARY_VERSION_MISMATCH from ", checks);
    judge_probe_evidence(judge, finding, install);
    judge_remedy_reinstall(judge, finding, install);
}

void check_runtime_mismatch(struct judge *judge)
{
    each_probe(judge, PROBE_OK, add_runtime_mismatch);
}
