/* Where to look on Windows. */
#include "inventory/places_shared.h"

#include "base/hash.h"
#include "base/text.h"
#include "os/path.h"

#define CUDA_KEY "HKLM\\SOFTWARE\\NVIDIA Corporation\\GPU Computing Toolkit\\CUDA\\*"
#define PYTHON_KEY "SOFTWARE\\Python\\*\\*\\InstallPath:"

/* role, where the pattern begins, the name it needs, the pattern, what else the role needs */

const struct place places[] = {
    /* CUDA toolkits. CUDA_PATH and CUDA_PATH_Vx_y are the installer's. */
    ROW(PLACE_TOOLKIT, PLACE_VARIABLE, "CUDA_PATH", "", .is_default = true),
    ROW(PLACE_TOOLKIT, PLACE_VARIABLES, "CUDA_PATH_V", ""),
    ROW(PLACE_TOOLKIT, PLACE_VARIABLE, "CUDA_HOME", ""),
    ROW(PLACE_TOOLKIT, PLACE_REGISTRY, CUDA_KEY ":InstallDir", ""),
    ROW(PLACE_TOOLKIT, PLACE_PROGRAM_FILES, NULL, "NVIDIA GPU Computing Toolkit/CUDA/*"),
    ROW(PLACE_TOOLKIT_SIGN, PLACE_IN_TOOLKIT, NULL, "version.json"),
    ROW(PLACE_TOOLKIT_SIGN, PLACE_IN_TOOLKIT, NULL, "version.txt"),
    ROW(PLACE_TOOLKIT_SIGN, PLACE_IN_TOOLKIT, NULL, "bin/nvcc.exe"),
    ROW(PLACE_TOOLKIT_SIGN, PLACE_IN_TOOLKIT, NULL, "include/cuda.h"),
    ROW(PLACE_TOOLKIT_SIGN, PLACE_IN_TOOLKIT, NULL, "bin/cudart64_*.dll"),
    ROW(PLACE_TOOLKIT_SIGN, PLACE_IN_TOOLKIT, NULL, "bin/x64/cudart64_*.dll"),
    ROW(PLACE_LIBRARIES, PLACE_IN_TOOLKIT, NULL, "bin", .kind = INSTALL_TOOLKIT),
    ROW(PLACE_LIBRARIES, PLACE_IN_TOOLKIT, NULL, "bin/x64", .kind = INSTALL_TOOLKIT), /* CUDA 13 */

    /* cuDNN's own installer: 8; 9.0 to 9.17; 9.18 and later. */
    ROW(PLACE_LIBRARIES, PLACE_PROGRAM_FILES, NULL, "NVIDIA/CUDNN/*/bin",
        .kind = INSTALL_STANDALONE, .root_depth = 3),
    ROW(PLACE_LIBRARIES, PLACE_PROGRAM_FILES, NULL, "NVIDIA/CUDNN/*/bin/*",
        .kind = INSTALL_STANDALONE, .root_depth = 3),
    ROW(PLACE_LIBRARIES, PLACE_PROGRAM_FILES, NULL, "NVIDIA/CUDNN/*/bin/*/x64",
        .kind = INSTALL_STANDALONE, .root_depth = 3),
    ROW(PLACE_LIBRARIES, PLACE_VARIABLE, "CUDNN_PATH", "", .kind = INSTALL_STANDALONE),
    ROW(PLACE_LIBRARIES, PLACE_VARIABLE, "CUDNN_PATH", "bin", .kind = INSTALL_STANDALONE),
    ROW(PLACE_LIBRARIES, PLACE_VARIABLE, "CUDNN_PATH", "bin/*", .kind = INSTALL_STANDALONE),
    ROW(PLACE_LIBRARIES, PLACE_VARIABLE, "CUDNN_PATH", "bin/*/x64", .kind = INSTALL_STANDALONE),
    ROW(PLACE_LIBRARIES, PLACE_VARIABLE, "CUDNN_HOME", "", .kind = INSTALL_STANDALONE),
    ROW(PLACE_LIBRARIES, PLACE_VARIABLE, "CUDNN_HOME", "bin", .kind = INSTALL_STANDALONE),
    ROW(PLACE_LIBRARIES, PLACE_VARIABLE, "CUDNN_HOME", "bin/*", .kind = INSTALL_STANDALONE),
    ROW(PLACE_LIBRARIES, PLACE_VARIABLE, "CUDNN_HOME", "bin/*/x64", .kind = INSTALL_STANDALONE),
    ROW(PLACE_LIBRARIES, PLACE_FIXED, "C:\\tools\\cuda", "bin", .kind = INSTALL_STANDALONE),

    /* The system's own. */
    ROW(PLACE_LIBRARIES, PLACE_SYSTEM, NULL, "", .kind = INSTALL_SYSTEM),
    ROW(PLACE_SEARCH_LIST, PLACE_LIST, "PATH", ""),

    /* Pythons and conda environments. */
    ROW(PLACE_PYTHON, PLACE_VARIABLE, "VIRTUAL_ENV", ""),
    ROW(PLACE_PYTHON, PLACE_VARIABLE, "CONDA_PREFIX", ""),
    ROW(PLACE_PYTHON_PROGRAM, PLACE_LIST, "PATH", "python.exe"),
    ROW(PLACE_PYTHON, PLACE_REGISTRY, "HKLM\\" PYTHON_KEY, ""),
    ROW(PLACE_PYTHON, PLACE_REGISTRY, "HKLM32\\" PYTHON_KEY, ""),
    ROW(PLACE_PYTHON, PLACE_REGISTRY, "HKCU\\" PYTHON_KEY, ""),
    PLACES_OF_CONDA_HOMES,
    ROW(PLACE_PYTHON, PLACE_HOME, NULL, "AppData/Local/miniconda3"),
    ROW(PLACE_PYTHON, PLACE_HOME, NULL, "AppData/Local/Programs/Python/Python3*"),
    ROW(PLACE_PYTHON, PLACE_HOME, NULL, "AppData/Roaming/Python/Python3*"), /* pip --user */
    ROW(PLACE_PYTHON, PLACE_HOME, NULL, ".pyenv/pyenv-win/versions/*"),
    ROW(PLACE_PYTHON, PLACE_FIXED, "C:\\ProgramData", "miniconda3"),
    ROW(PLACE_PYTHON, PLACE_FIXED, "C:\\ProgramData", "anaconda3"),
    ROW(PLACE_PYTHON, PLACE_IN_ENVIRONMENT, NULL, "envs/*"), /* of a conda base */
    ROW(PLACE_SITE, PLACE_IN_ENVIRONMENT, NULL, "Lib/site-packages"),
    ROW(PLACE_SITE, PLACE_IN_ENVIRONMENT, NULL, "site-packages"), /* pip --user */

    /* cuDNNs in an environment, and which package brings them. */
    ROW(PLACE_LIBRARIES, PLACE_IN_SITE, NULL, "nvidia/cudnn/bin", .kind = INSTALL_WHEEL,
        .root_depth = 2, .owner = "nvidia_cudnn_*"),
    PLACES_OF_PACKAGES,
    ROW(PLACE_LIBRARIES, PLACE_IN_SITE, NULL, "tensorflow/python", .kind = INSTALL_APP,
        .root_depth = 1, .owner = "tensorflow*"),
    ROW(PLACE_LIBRARIES, PLACE_IN_SITE, NULL, "*.libs", .kind = INSTALL_APP, .root_depth = 1),
    ROW(PLACE_LIBRARIES, PLACE_IN_ENVIRONMENT, NULL, "Library/bin", .kind = INSTALL_CONDA),

    /* Programs' own. */
    ROW(PLACE_LIBRARIES, PLACE_HOME, NULL, ".julia/artifacts/*/bin", .kind = INSTALL_APP),

    PLACES_OF_CONFIGURATION,
};
const size_t places_count = sizeof places / sizeof *places;

const struct place_development places_development[] = {
    {"bin/*/x64", "../../../include/*", "../../../lib/*/x64"}, /* installer 9.18 and later */
    {"bin/x64", "../../include", "../../lib/x64"},             /* CUDA 13 */
    {"bin/*", "../../include/*", "../../lib/*/x64"},           /* installer 9.0 to 9.17 */
    {"bin/*", "../../include/*", "../../lib/*"},
    {"bin", "../include", "../lib/x64"},
    {"bin", "../include", "../lib"},
    {"lib/x64", "../../include", "."},
    {"*", "../include", "."},
};
const size_t places_development_count = sizeof places_development / sizeof *places_development;
const char *const places_import_libraries[] = {"cudnn*.lib", NULL};

const bool places_ignore_case = true;
const bool places_windows_names = true;
const bool places_empty_is_here = false;

/* python.exe lies in the root itself, only a venv's in Scripts. */
char *places_python_root(struct arena *arena, const char *directory)
{
    return text_equal_nocase(os_path_name(directory), "Scripts") ? os_path_parent(arena, directory)
                                                                 : arena_strdup(arena, directory);
}

/* ASCII is folded only: a canonical path has the disk's own case, so that spellings of one
   directory do not differ anyway. */
uint64_t places_key(const char *canonical)
{
    uint64_t hash = HASH_START;
    for (; *canonical != '\0'; canonical++) {
        char c = *canonical == '/' ? '\\' : *canonical;
        c = c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
        hash = hash_bytes(hash, &c, 1);
    }
    return hash;
}
