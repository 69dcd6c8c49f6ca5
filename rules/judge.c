#include "rules/judge.h"

#include <stdio.h>

#include "base/hash.h"
#include "base/text.h"

static const char *finding_id(struct judge *judge, const char *subject_type, const char *subject)
{
    uint64_t hash = hash_text(HASH_START, judge->rule->code);
    hash = hash_text(hash, subject_type);
    hash = hash_text(hash, subject == NULL ? "" : subject);
    return arena_printf(judge->arena, "%016llx", (unsigned long long)hash);
}

struct finding *judge_add(struct judge *judge, enum severity severity, const char *subject_type,
                          const char *subject_id, const char *subject_path)
{
    struct snapshot *snapshot = judge->snapshot;
    struct finding *finding =
        arena_push(judge->arena, &snapshot->findings, &snapshot->finding_count, &judge->capacity,
                   sizeof *finding);
    *finding = (struct finding){
        .id = finding_id(judge, subject_type, subject_id != NULL ? subject_id : subject_path),
        .code = judge->rule->code,
        .severity = severity < judge->rule->severity ? severity : judge->rule->severity,
        .subject_type = subject_type,
        .subject_id = subject_id,
        .subject_path = subject_path,
        .title = "",
        .detail = "",
        .remedy = judge->rule->remedy,
    };
    return finding;
}

struct finding *judge_add_install(struct judge *judge, enum severity severity,
                                  const struct install *install)
{
    bool reached = judge_is_reached(install);
    struct finding *finding =
        judge_add(judge, reached ? severity : SEVERITY_INFO, "install", install->id, install->path);
    judge_evidence(judge, finding, "version", "%s", judge_version(judge, install->version));
    if (install->cuda_major > 0) {
        judge_evidence(judge, finding, "cuda_major", "%d", install->cuda_major);
    }
    if (!reached) {
        judge_evidence(judge, finding, "reached_by",
                       "nothing: no search path, toolkit or environment leads here");
    }
    return finding;
}

void judge_distinguish(struct judge *judge, struct finding *finding, const char *part)
{
    uint64_t hash = hash_text(hash_text(HASH_START, finding->id), part);
    finding->id = arena_printf(judge->arena, "%016llx", (unsigned long long)hash);
}

#define JUDGE_TEXT(name, field)                                                                    \
    void name(struct judge *judge, struct finding *finding, const char *format, ...)               \
    {                                                                                              \
        va_list arguments;                                                                         \
        va_start(arguments, format);                                                               \
        finding->field = arena_vprintf(judge->arena, format, arguments);                           \
        va_end(arguments);                                                                         \
    }

JUDGE_TEXT(judge_title, title)
JUDGE_TEXT(judge_detail, detail)
JUDGE_TEXT(judge_remedy, remedy)

/* Findings have a handful of pieces of evidence and commands: a new array each time is cheap. */
void judge_evidence(struct judge *judge, struct finding *finding, const char *key,
                    const char *format, ...)
{
    struct evidence *grown =
        arena_alloc(judge->arena, (finding->evidence_count + 1) * sizeof *grown);
    if (finding->evidence_count > 0) {
        memcpy(grown, finding->evidence, finding->evidence_count * sizeof *grown);
    }
    va_list arguments;
    va_start(arguments, format);
    grown[finding->evidence_count++] =
        (struct evidence){.key = key, .value = arena_vprintf(judge->arena, format, arguments)};
    va_end(arguments);
    finding->evidence = grown;
}

void judge_command(struct judge *judge, struct finding *finding, const char *format, ...)
{
    const char **grown = arena_alloc(judge->arena, (finding->command_count + 1) * sizeof *grown);
    if (finding->command_count > 0) {
        memcpy(grown, finding->commands, finding->command_count * sizeof *grown);
    }
    va_list arguments;
    va_start(arguments, format);
    grown[finding->command_count++] = arena_vprintf(judge->arena, format, arguments);
    va_end(arguments);
    finding->commands = grown;
}

bool judge_is_reached(const struct install *install)
{
    return install->on_search_path || install->in_toolkit || install->in_environment;
}

const struct probe *judge_probe(const struct judge *judge, const struct install *install)
{
    if (judge->snapshot->probes == NULL) {
        return NULL;
    }
    const struct probe *probe =
        &judge->snapshot->probes[install - judge->snapshot->inventory.installs];
    return probe->status == PROBE_SKIPPED ? NULL : probe;
}

void judge_probe_evidence(struct judge *judge, struct finding *finding,
                          const struct install *install)
{
    const struct probe *probe = judge_probe(judge, install);
    if (probe == NULL) {
        return;
    }
    judge_evidence(judge, finding, "probe", "%s%s%s", probe_status_name(probe->status),
                   probe->error == NULL ? "" : ": ", probe->error == NULL ? "" : probe->error);
    for (int i = 0; i < PROBE_CHECKS; i++) {
        if (probe->checks[i] != NULL && strstr(probe->checks[i], "SUCCESS") == NULL) {
            judge_evidence(
                judge, finding,
                arena_printf(judge->arena, "probe_check_%s", probe_check_name((enum probe_check)i)),
                "%s", probe->checks[i]);
        }
    }
}

bool judge_has_missing(const struct install *install)
{
    JUDGE_EACH_LIBRARY (install, library) {
        if (library->state == LIBRARY_MISSING) {
            return true;
        }
    }
    return false;
}

bool judge_has_corrupt(const struct install *install)
{
    JUDGE_EACH_LIBRARY (install, library) {
        if (library->state == LIBRARY_CORRUPT) {
            return true;
        }
    }
    return false;
}

bool judge_is_wrong_arch(const struct judge *judge, const struct install *install,
                         const struct library *library)
{
    if (library->state == LIBRARY_MISSING || library->state == LIBRARY_CORRUPT ||
        library->arch == ARCH_UNKNOWN) {
        return false;
    }
    if (install->arch != ARCH_UNKNOWN && library->arch != install->arch) {
        return true;
    }
    /* A whole set for another processor. Windows on ARM runs x86-64 programs: no fault there. */
    return text_equal(judge->snapshot->host.arch, "x86_64") && library->arch != ARCH_X86_64;
}

bool judge_has_wrong_arch(const struct judge *judge, const struct install *install)
{
    JUDGE_EACH_LIBRARY (install, library) {
        if (judge_is_wrong_arch(judge, install, library)) {
            return true;
        }
    }
    return false;
}

bool judge_is_renamed(const struct library *library)
{
    if (library->internal_name == NULL || library->state == LIBRARY_MISSING ||
        library->state == LIBRARY_CORRUPT) {
        return false;
    }
    /* An ELF file may carry more of its version in its name than its SONAME has:
       libcudnn_ops.so.9.5.0 calls itself libcudnn_ops.so.9. */
    size_t length = strlen(library->internal_name);
    if (strstr(library->internal_name, ".so") != NULL) {
        return !(text_has_prefix(library->file, library->internal_name) &&
                 (library->file[length] == '\0' || library->file[length] == '.'));
    }
    return !text_equal_nocase(library->file, library->internal_name);
}

bool judge_is_comparable(const struct install *install, const struct library *library)
{
    return (library->state == LIBRARY_OK || library->state == LIBRARY_ALTERED) &&
           version_known(library->version) && library->version_source != VERSION_SOURCE_SIBLING &&
           (install->arch == ARCH_UNKNOWN || library->arch == install->arch) &&
           !judge_is_renamed(library);
}

/* Different releases among the libraries of one generation, or builds for different CUDA majors.
   (The sets of two generations have different names and may lie side by side.) */
bool judge_has_mixed(const struct install *install)
{
    const struct library *first = NULL;
    const struct library *first_cuda = NULL;
    JUDGE_EACH_LIBRARY (install, library) {
        if (!judge_is_comparable(install, library) || library->generation != install->generation) {
            continue;
        }
        if (first == NULL) {
            first = library;
        } else if (version_compare(first->version, library->version, 3) != 0) {
            return true;
        }
        if (library->cuda_major > 0) {
            if (first_cuda == NULL) {
                first_cuda = library;
            } else if (first_cuda->cuda_major != library->cuda_major) {
                return true;
            }
        }
    }
    return false;
}

bool judge_files_explain(const struct judge *judge, const struct install *install)
{
    return judge_has_missing(install) || judge_has_corrupt(install) ||
           judge_has_wrong_arch(judge, install) || judge_has_mixed(install);
}

bool judge_is_windows_path(const char *path)
{
    return path[0] != '/';
}

const char *judge_quote(struct judge *judge, const char *path)
{
    /* PowerShell: '' inside '...'; POSIX shells: '\'' . */
    bool windows = judge_is_windows_path(path);
    size_t length = strlen(path);
    char *quoted = arena_alloc(judge->arena, length * 4 + 3);
    size_t used = 0;
    quoted[used++] = '\'';
    for (; *path != '\0'; path++) {
        if (*path == '\'') {
            const char *escape = windows ? "''" : "'\\''";
            memcpy(quoted + used, escape, strlen(escape));
            used += strlen(escape);
        } else {
            quoted[used++] = *path;
        }
    }
    quoted[used++] = '\'';
    quoted[used] = '\0';
    return quoted;
}

const char *judge_version(struct judge *judge, struct version version)
{
    char text[VERSION_TEXT_SIZE];
    return version_known(version) ? arena_strdup(judge->arena, version_text(version, 3, text))
                                  : "unknown";
}

/* "nvidia-cudnn-cu12" out of "nvidia-cudnn-cu12 9.5.0.50", and its version behind the blank. */
static const char *owner_package(struct judge *judge, const struct install *install,
                                 const char **out_version)
{
    const char *blank = install->owner_name == NULL ? NULL : strchr(install->owner_name, ' ');
    *out_version = blank == NULL ? NULL : blank + 1;
    return blank == NULL ? install->owner_name
                         : arena_strndup(judge->arena, install->owner_name,
                                         (size_t)(blank - install->owner_name));
}

static void remedy_wheel(struct judge *judge, struct finding *finding,
                         const struct install *install)
{
    const char *version;
    const char *package = owner_package(judge, install, &version);
    bool windows = judge_is_windows_path(install->path);
    judge_remedy(judge, finding, "Install the package again, whole, in its environment.");
    const char *python = arena_printf(
        judge->arena, windows ? "%s\\Scripts\\python.exe" : "%s/bin/python", install->environment);
    judge_command(judge, finding, "%s%s -m pip install --force-reinstall --no-deps %s%s%s",
                  windows ? "& " : "", judge_quote(judge, python), package,
                  version == NULL ? "" : "==", version == NULL ? "" : version);
}

static void remedy_conda(struct judge *judge, struct finding *finding,
                         const struct install *install)
{
    const char *version;
    const char *package = owner_package(judge, install, &version);
    judge_remedy(judge, finding, "Install the package again in its conda environment.");
    judge_command(judge, finding, "conda install -p %s --force-reinstall %s%s%s",
                  judge_quote(judge, install->environment), package, version == NULL ? "" : "=",
                  version == NULL ? "" : version);
}

static void remedy_archive(struct judge *judge, struct finding *finding,
                           const struct install *install)
{
    bool windows = judge_is_windows_path(install->path);
    const char *cuda = install->cuda_major > 0
                           ? arena_printf(judge->arena, " for CUDA %d", install->cuda_major)
                           : "";
    judge_remedy(
        judge, finding,
        "Copy every library of one cuDNN %s%s package into this directory, over the ones that "
        "are there: all files of one release belong together.",
        judge_version(judge, install->version), cuda);
    if (windows) {
        judge_command(judge, finding,
                      "Get-Item (Join-Path %s 'cudnn*.dll') | Select-Object Name, Length, "
                      "@{n='Version';e={$_.VersionInfo.FileVersion}}",
                      judge_quote(judge, install->path));
    } else {
        judge_command(judge, finding, "ls -lL %s/libcudnn*", judge_quote(judge, install->path));
    }
}

void judge_remedy_reinstall(struct judge *judge, struct finding *finding,
                            const struct install *install)
{
    if (install->environment != NULL && text_equal(install->owner_type, "conda")) {
        remedy_conda(judge, finding, install);
    } else if (install->environment != NULL && install->owner_name != NULL &&
               (text_equal(install->owner_type, "wheel") ||
                text_equal(install->owner_type, "torch"))) {
        remedy_wheel(judge, finding, install);
    } else {
        remedy_archive(judge, finding, install);
    }
}
