/* What the bytes on disk say: missing, mixed, corrupt, renamed, for another architecture. */
#include "base/text.h"
#include "rules/checks.h"
#include "rules/judge.h"

typedef bool library_test(const struct judge *judge, const struct install *install,
                          const struct library *library);

/* "a.dll, b.dll and c.dll" of the libraries that pass the test; how many in *out_count. */
static const char *list_files(struct judge *judge, const struct install *install,
                              library_test *test, size_t *out_count)
{
    const char *list = "";
    size_t count = 0, total = 0;
    JUDGE_EACH_LIBRARY (install, library) {
        total += test(judge, install, library) ? 1 : 0;
    }
    JUDGE_EACH_LIBRARY (install, library) {
        if (test(judge, install, library)) {
            const char *glue = count == 0 ? "" : count + 1 == total ? " and " : ", ";
            list = arena_printf(judge->arena, "%s%s%s", list, glue, library->file);
            count++;
        }
    }
    *out_count = total;
    return list;
}

static bool is_missing(const struct judge *judge, const struct install *install,
                       const struct library *library)
{
    (void)judge;
    (void)install;
    return library->state == LIBRARY_MISSING;
}

void check_file_missing(struct judge *judge)
{
    JUDGE_EACH_INSTALL (judge, install) {
        size_t count;
        const char *files = list_files(judge, install, is_missing, &count);
        if (count == 0) {
            continue;
        }
        struct finding *finding = judge_add_install(judge, SEVERITY_CRITICAL, install);
        judge_title(judge, finding, "cuDNN %s lacks %s", judge_version(judge, install->version),
                    count == 1 ? files : arena_printf(judge->arena, "%zu of its libraries", count));
        judge_detail(judge, finding,
                     "%s of cuDNN %s %s not in %s. A program that needs %s ends with \"Could not "
                     "locate\" or \"cannot open shared object file\".",
                     files, judge_version(judge, install->version), count == 1 ? "is" : "are",
                     install->path, count == 1 ? "it" : "one of them");
        judge_evidence(judge, finding, "missing", "%s", files);
        judge_probe_evidence(judge, finding, install);
        judge_remedy_reinstall(judge, finding, install);
    }
}

/* "cudnn_cnn64_9.dll 9.1.0, ..." of what differs from the install's own version or CUDA major. */
static const char *list_odd_ones(struct judge *judge, const struct install *install)
{
    const char *list = "";
    JUDGE_EACH_LIBRARY (install, library) {
        if (!judge_is_comparable(install, library) || library->generation != install->generation) {
            continue;
        }
        bool other_version = version_compare(library->version, install->version, 3) != 0;
        bool other_cuda = library->cuda_major > 0 && install->cuda_major > 0 &&
                          library->cuda_major != install->cuda_major;
        if (other_version || other_cuda) {
            const char *cuda = library->cuda_major > 0
                                   ? arena_printf(judge->arena, " for CUDA %d", library->cuda_major)
                                   : "";
            list = arena_printf(judge->arena, "%s%s%s %s%s", list, *list == '\0' ? "" : ", ",
                                library->file, judge_version(judge, library->version), cuda);
        }
    }
    return list;
}

void check_mixed_versions(struct judge *judge)
{
    JUDGE_EACH_INSTALL (judge, install) {
        if (!judge_has_mixed(install)) {
            continue;
        }
        const char *odd = list_odd_ones(judge, install);
        const char *version = judge_version(judge, install->version);
        struct finding *finding = judge_add_install(judge, SEVERITY_CRITICAL, install);
        judge_title(judge, finding, "cuDNN libraries of different releases in one directory");
        judge_detail(
            judge, finding,
            "Most of the libraries in %s are cuDNN %s, but not: %s. Mixed sets load and then "
            "answer NOT_SUPPORTED or SUBLIBRARY_VERSION_MISMATCH.",
            install->path, version, odd);
        JUDGE_EACH_LIBRARY (install, library) {
            if (judge_is_comparable(install, library) &&
                library->generation == install->generation) {
                judge_evidence(judge, finding, library->file, "%s (%s)%s",
                               judge_version(judge, library->version),
                               version_source_name(library->version_source),
                               library->cuda_major > 0
                                   ? arena_printf(judge->arena, ", CUDA %d", library->cuda_major)
                                   : "");
            }
        }
        judge_probe_evidence(judge, finding, install);
        judge_remedy_reinstall(judge, finding, install);
    }
}

void check_header_mismatch(struct judge *judge)
{
    JUDGE_EACH_INSTALL (judge, install) {
        if (!version_known(install->header_version) || !version_known(install->version) ||
            version_compare(install->header_version, install->version, 3) == 0) {
            continue;
        }
        const char *header = judge_version(judge, install->header_version);
        const char *version = judge_version(judge, install->version);
        struct finding *finding = judge_add_install(judge, SEVERITY_WARNING, install);
        judge_title(judge, finding, "headers of cuDNN %s beside libraries of %s", header, version);
        judge_detail(
            judge, finding,
            "%s says %s, the libraries in %s are %s. Programs built here are built for %s and "
            "run with %s.",
            install->header_path, header, install->path, version, header, version);
        judge_evidence(judge, finding, "header", "%s", install->header_path);
        judge_evidence(judge, finding, "header_version", "%s", header);
        judge_remedy(judge, finding, "Copy the headers of the cuDNN %s package over them.",
                     version);
    }
}

static bool is_corrupt(const struct judge *judge, const struct install *install,
                       const struct library *library)
{
    (void)judge;
    (void)install;
    return library->state == LIBRARY_CORRUPT;
}

void check_file_corrupt(struct judge *judge)
{
    JUDGE_EACH_INSTALL (judge, install) {
        size_t count;
        const char *files = list_files(judge, install, is_corrupt, &count);
        if (count == 0) {
            continue;
        }
        struct finding *finding = judge_add_install(judge, SEVERITY_CRITICAL, install);
        const char *reasons = "";
        JUDGE_EACH_LIBRARY (install, library) {
            if (library->state == LIBRARY_CORRUPT) {
                const char *problem =
                    library->problem == NULL ? "cannot be a library" : library->problem;
                reasons = arena_printf(judge->arena, "%s%s%s %s", reasons,
                                       *reasons == '\0' ? "" : "; ", library->file, problem);
                judge_evidence(judge, finding, library->file, "%s", problem);
            }
        }
        judge_title(judge, finding, "%s %s damaged", files, count == 1 ? "is" : "are");
        judge_detail(judge, finding, "In %s: %s. It cannot be loaded.", install->path, reasons);
        judge_probe_evidence(judge, finding, install);
        judge_remedy_reinstall(judge, finding, install);
    }
}

void check_wrong_architecture(struct judge *judge)
{
    JUDGE_EACH_INSTALL (judge, install) {
        size_t count;
        const char *files = list_files(judge, install, judge_is_wrong_arch, &count);
        if (count == 0) {
            continue;
        }
        struct finding *finding = judge_add_install(judge, SEVERITY_CRITICAL, install);
        const char *arch = NULL;
        JUDGE_EACH_LIBRARY (install, library) {
            if (judge_is_wrong_arch(judge, install, library)) {
                arch = arch_name(library->arch);
                judge_evidence(judge, finding, library->file, "%s", arch);
            }
        }
        judge_title(judge, finding, "%s %s for another processor", files,
                    count == 1 ? "is" : "are");
        judge_detail(
            judge, finding,
            "%s in %s %s built for %s, this machine's programs are %s. Loading gives error 193 "
            "(Windows) or \"wrong ELF class\".",
            files, install->path, count == 1 ? "is" : "are", arch,
            judge->snapshot->host.arch == NULL ? "of another kind" : judge->snapshot->host.arch);
        judge_probe_evidence(judge, finding, install);
        judge_remedy_reinstall(judge, finding, install);
    }
}

static void add_renamed(struct judge *judge, const struct install *install,
                        const struct library *library)
{
    const char *path =
        arena_printf(judge->arena, "%s%c%s", install->path,
                     judge_is_windows_path(install->path) ? '\\' : '/', library->file);
    struct finding *finding = judge_add_install(judge, SEVERITY_WARNING, install);
    judge_distinguish(judge, finding, library->file);
    judge_title(judge, finding, "%s is a renamed %s", library->file, library->internal_name);
    judge_detail(
        judge, finding,
        "%s calls itself %s (%s). A renamed file makes a program load something it was not "
        "built for: functions are missing or behave differently.",
        path, library->internal_name, judge_version(judge, library->version));
    judge_evidence(judge, finding, "file", "%s", library->file);
    judge_evidence(judge, finding, "internal_name", "%s", library->internal_name);
    judge_remedy(
        judge, finding,
        "Delete the renamed copy. A program that asks for a file of an older generation needs "
        "that generation of cuDNN installed beside this one.");
    judge_command(judge, finding, "%s %s", judge_is_windows_path(path) ? "Remove-Item" : "rm",
                  judge_quote(judge, path));
}

void check_renamed_copy(struct judge *judge)
{
    JUDGE_EACH_INSTALL (judge, install) {
        JUDGE_EACH_LIBRARY (install, library) {
            if (judge_is_renamed(library)) {
                add_renamed(judge, install, library);
            }
        }
    }
}
