/* The words that stand for this room's enums in documents. */
#include "inventory/inventory.h"

const char *arch_name(enum arch arch)
{
    static const char *const names[] = {[ARCH_UNKNOWN] = NULL,
                                        [ARCH_X86_64] = "x86_64",
                                        [ARCH_X86] = "x86",
                                        [ARCH_ARM64] = "arm64",
                                        [ARCH_OTHER] = "other"};
    return names[arch];
}

const char *install_kind_name(enum install_kind kind)
{
    static const char *const names[] = {
        [INSTALL_TOOLKIT] = "toolkit", [INSTALL_STANDALONE] = "standalone",
        [INSTALL_WHEEL] = "wheel",     [INSTALL_CONDA] = "conda",
        [INSTALL_TORCH] = "torch",     [INSTALL_APP] = "app",
        [INSTALL_SYSTEM] = "system",   [INSTALL_OTHER] = "other"};
    return names[kind];
}

const char *install_layout_name(enum install_layout layout)
{
    return layout == INSTALL_LAYOUT_JIT ? "jit" : "full";
}

const char *version_source_name(enum version_source source)
{
    static const char *const names[] = {
        [VERSION_SOURCE_NONE] = NULL,        [VERSION_SOURCE_RESOURCE] = "resource",
        [VERSION_SOURCE_EXPORT] = "export",  [VERSION_SOURCE_FILE_NAME] = "file_name",
        [VERSION_SOURCE_RECORD] = "record",  [VERSION_SOURCE_PROBE] = "probe",
        [VERSION_SOURCE_SIBLING] = "sibling"};
    return names[source];
}

const char *library_state_name(enum library_state state)
{
    static const char *const names[] = {[LIBRARY_OK] = "ok",
                                        [LIBRARY_MISSING] = "missing",
                                        [LIBRARY_CORRUPT] = "corrupt",
                                        [LIBRARY_ALTERED] = "altered",
                                        [LIBRARY_FOREIGN] = "foreign"};
    return names[state];
}

const char *search_scope_name(enum search_scope scope)
{
    static const char *const names[] = {
        [SEARCH_MACHINE] = "machine", [SEARCH_USER] = "user", [SEARCH_PROCESS] = "process"};
    return names[scope];
}
