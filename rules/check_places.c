/* Where it lies: toolkits, the search path, what could not be read. */
#include "base/text.h"
#include "rules/checks.h"
#include "rules/judge.h"

void check_cuda_major_mismatch(struct judge *judge)
{
    JUDGE_EACH_INSTALL (judge, install) {
        if (!install->in_toolkit || install->cuda_major == 0) {
            continue;
        }
        const struct toolkit *toolkit =
            &judge->snapshot->inventory.toolkits[install->toolkit_index];
        if (!version_known(toolkit->version) ||
            toolkit->version.part[0] == (uint32_t)install->cuda_major) {
            continue;
        }
        char text[VERSION_TEXT_SIZE];
        version_text(toolkit->version, 2, text);
        struct finding *finding = judge_add_install(judge, SEVERITY_CRITICAL, install);
        judge_title(judge, finding, "cuDNN for CUDA %d in the toolkit of CUDA %s",
                    install->cuda_major, text);
        judge_detail(
            judge, finding,
            "The cuDNN %s in %s was built for CUDA %d, the toolkit it lies in is CUDA %s (%s). "
            "Programs of CUDA %u that load it fail or crash.",
            judge_version(judge, install->version), install->path, install->cuda_major, text,
            toolkit->path, toolkit->version.part[0]);
        judge_evidence(judge, finding, "cuda_major_from", "%s",
                       install->cuda_major_source == NULL ? "unknown" : install->cuda_major_source);
        judge_evidence(judge, finding, "toolkit", "%s", toolkit->path);
        judge_remedy(judge, finding,
                     "Replace it by a cuDNN built for CUDA %u. The one for CUDA %d belongs into a "
                     "toolkit of CUDA %d.",
                     toolkit->version.part[0], install->cuda_major, install->cuda_major);
    }
}

static bool has_entry_library(const struct install *install)
{
    JUDGE_EACH_LIBRARY (install, library) {
        if (library->state != LIBRARY_MISSING && text_equal(library->component, "shim")) {
            return true;
        }
        if (library->state != LIBRARY_MISSING && text_equal(library->component, "all")) {
            return true; /* 7 and older: one file */
        }
    }
    return false;
}

static bool path_offers_generation(const struct judge *judge, int generation)
{
    JUDGE_EACH_INSTALL (judge, install) {
        if (install->on_search_path && install->generation == generation &&
            has_entry_library(install)) {
            return true;
        }
    }
    return false;
}

static bool is_separator(char c)
{
    return c == '/' || c == '\\';
}

/* The search-path entry that names a directory above the install: somebody meant this install. */
static const struct search_entry *entry_above(const struct judge *judge,
                                              const struct install *install)
{
    const struct inventory *inventory = &judge->snapshot->inventory;
    bool windows = judge_is_windows_path(install->path);
    for (size_t i = 0; i < inventory->search_count; i++) {
        const struct search_entry *entry = &inventory->search_path[i];
        const char *canonical = entry->canonical;
        if (canonical == NULL || !entry->is_directory || entry->cudnn_count > 0) {
            continue;
        }
        size_t length = strlen(canonical);
        bool below = windows ? text_has_prefix_nocase(install->path, canonical)
                             : text_has_prefix(install->path, canonical);
        /* A root or a home directory above says nothing: the entry must name cuDNN. */
        if (below && length > 3 && is_separator(install->path[length]) &&
            strstr(canonical, "CUDNN") != NULL) {
            return entry;
        }
    }
    return NULL;
}

/* The CUDA major that programs here would want: the default toolkit's, else the newest one's. */
static uint32_t wanted_cuda_major(const struct judge *judge)
{
    uint32_t newest = 0;
    const struct inventory *inventory = &judge->snapshot->inventory;
    for (size_t i = 0; i < inventory->toolkit_count; i++) {
        if (inventory->toolkits[i].is_default && version_known(inventory->toolkits[i].version)) {
            return inventory->toolkits[i].version.part[0];
        }
        if (inventory->toolkits[i].version.part[0] > newest) {
            newest = inventory->toolkits[i].version.part[0];
        }
    }
    return newest;
}

/* The installer puts builds for several CUDA majors beside each other; only one can be on the
   path. Of twins the one for the wanted CUDA major counts, else the one for the newest. */
static bool has_better_twin(const struct judge *judge, const struct install *install)
{
    uint32_t wanted = wanted_cuda_major(judge);
    if (install->standalone_root == NULL) {
        return false;
    }
    JUDGE_EACH_INSTALL (judge, other) {
        if (other == install || other->standalone_root == NULL ||
            !text_equal(other->standalone_root, install->standalone_root)) {
            continue;
        }
        bool other_wanted = (uint32_t)other->cuda_major == wanted;
        bool this_wanted = (uint32_t)install->cuda_major == wanted;
        if (other->on_search_path || (other_wanted && !this_wanted) ||
            (other_wanted == this_wanted &&
             (other->cuda_major > install->cuda_major ||
              (other->cuda_major == install->cuda_major && other < install)))) {
            return true;
        }
    }
    return false;
}

static void add_not_on_path(struct judge *judge, const struct install *install,
                            const struct search_entry *meant)
{
    bool windows = judge_is_windows_path(install->path);
    /* Not judge_add_install: that nothing reaches it is the very fault. */
    struct finding *finding =
        judge_add(judge, SEVERITY_WARNING, "install", install->id, install->path);
    judge_title(judge, finding, "no search path leads to cuDNN %s in %s",
                judge_version(judge, install->version), install->path);
    if (meant != NULL) {
        judge_detail(
            judge, finding,
            "The search path names %s, but the libraries are one level lower, in %s: programs "
            "do not find them.",
            meant->directory, install->path);
        judge_evidence(judge, finding, "search_path_entry", "%s", meant->directory);
    } else {
        judge_detail(
            judge, finding,
            "%s holds cuDNN %s, and no directory of the search path holds a cuDNN %d: programs "
            "that look for it by name do not find it.",
            install->path, judge_version(judge, install->version), install->generation);
    }
    const char *quoted = judge_quote(judge, install->path);
    if (windows) {
        judge_remedy(judge, finding,
                     "Add %s to the machine's PATH (as administrator), then start programs anew.",
                     install->path);
        judge_command(judge, finding,
                      "[Environment]::SetEnvironmentVariable('Path', %s + ';' + "
                      "[Environment]::GetEnvironmentVariable('Path','Machine'), 'Machine')",
                      quoted);
    } else {
        judge_remedy(judge, finding, "Tell the loader about %s.", install->path);
        judge_command(judge, finding,
                      "echo %s | sudo tee /etc/ld.so.conf.d/cudnn.conf && sudo ldconfig", quoted);
    }
}

void check_not_on_path(struct judge *judge)
{
    JUDGE_EACH_INSTALL (judge, install) {
        if (install->on_search_path || !has_entry_library(install) ||
            (install->kind != INSTALL_TOOLKIT && install->kind != INSTALL_STANDALONE) ||
            has_better_twin(judge, install)) {
            continue;
        }
        const struct search_entry *meant = entry_above(judge, install);
        if (meant == NULL && path_offers_generation(judge, install->generation)) {
            continue; /* programs find a cuDNN of this generation: which one is another question */
        }
        add_not_on_path(judge, install, meant);
    }
}

void check_inventory_incomplete(struct judge *judge)
{
    enum { SHOWN = 10 };
    const struct inventory *inventory = &judge->snapshot->inventory;
    size_t count = 0;
    const char *list = "";
    for (size_t i = 0; i < inventory->problem_count; i++) {
        const struct problem *problem = &inventory->problems[i];
        if (problem->kind != PROBLEM_UNREADABLE) {
            continue;
        }
        if (count < SHOWN) {
            list = arena_printf(judge->arena, "%s%s%s (%s)", list, count == 0 ? "" : "; ",
                                problem->path, problem->error);
        }
        count++;
    }
    if (count == 0) {
        return;
    }
    struct finding *finding = judge_add(judge, SEVERITY_WARNING, "host", NULL, NULL);
    judge_title(judge, finding, "%zu place%s could not be read", count, count == 1 ? "" : "s");
    judge_detail(judge, finding, "Not looked at: %s%s. A cuDNN there is not known.", list,
                 count > SHOWN ? "; and more" : "");
    judge_evidence(judge, finding, "count", "%zu", count);
    judge_remedy(
        judge, finding,
        "Let the account that scans read them, or remove entries that nobody needs from the "
        "search path.");
}
