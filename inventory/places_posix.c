/* Where to look on Linux. */
#include "inventory/places_shared.h"

#include "base/hash.h"
#include "os/path.h"

/* role, where the pattern begins, the name it needs, the pattern, what else the role needs */

const struct place places[] = {
    /* CUDA toolkits. */
    ROW(PLACE_TOOLKIT, PLACE_VARIABLE, "CUDA_PATH", "", .is_default = true),
    ROW(PLACE_TOOLKIT, PLACE_VARIABLE, "CUDA_HOME", "", .is_default = true),
    ROW(PLACE_TOOLKIT, PLACE_FIXED, "/usr/local/cuda", "", .is_default = true),
    ROW(PLACE_TOOLKIT, PLACE_FIXED, "/usr/local", "cuda*"),
    ROW(PLACE_TOOLKIT, PLACE_FIXED, "/usr/lib/cuda", ""), /* Debian's own package */
    ROW(PLACE_TOOLKIT, PLACE_FIXED, "/opt", "cuda*"),
    ROW(PLACE_TOOLKIT, PLACE_FIXED, "/opt/nvidia", "cuda*"),
    ROW(PLACE_TOOLKIT_SIGN, PLACE_IN_TOOLKIT, NULL, "version.json"),
    ROW(PLACE_TOOLKIT_SIGN, PLACE_IN_TOOLKIT, NULL, "version.txt"),
    ROW(PLACE_TOOLKIT_SIGN, PLACE_IN_TOOLKIT, NULL, "bin/nvcc"),
    ROW(PLACE_TOOLKIT_SIGN, PLACE_IN_TOOLKIT, NULL, "include/cuda.h"),
    ROW(PLACE_TOOLKIT_SIGN, PLACE_IN_TOOLKIT, NULL, "lib64/libcudart.so*"),
    ROW(PLACE_TOOLKIT_SIGN, PLACE_IN_TOOLKIT, NULL, "targets/*/lib/libcudart.so*"),
    ROW(PLACE_LIBRARIES, PLACE_IN_TOOLKIT, NULL, "lib64", .kind = INSTALL_TOOLKIT),
    ROW(PLACE_LIBRARIES, PLACE_IN_TOOLKIT, NULL, "lib", .kind = INSTALL_TOOLKIT),
    ROW(PLACE_LIBRARIES, PLACE_IN_TOOLKIT, NULL, "targets/*/lib", .kind = INSTALL_TOOLKIT),

    /* Unpacked archives that a variable names. */
    ROW(PLACE_LIBRARIES, PLACE_VARIABLE, "CUDNN_PATH", "", .kind = INSTALL_STANDALONE),
    ROW(PLACE_LIBRARIES, PLACE_VARIABLE, "CUDNN_PATH", "lib", .kind = INSTALL_STANDALONE),
    ROW(PLACE_LIBRARIES, PLACE_VARIABLE, "CUDNN_PATH", "lib64", .kind = INSTALL_STANDALONE),
    ROW(PLACE_LIBRARIES, PLACE_VARIABLE, "CUDNN_HOME", "", .kind = INSTALL_STANDALONE),
    ROW(PLACE_LIBRARIES, PLACE_VARIABLE, "CUDNN_HOME", "lib", .kind = INSTALL_STANDALONE),
    ROW(PLACE_LIBRARIES, PLACE_VARIABLE, "CUDNN_HOME", "lib64", .kind = INSTALL_STANDALONE),

    /* The system's own: the loader's search path in its order, and distribution packages. */
    ROW(PLACE_SEARCH_LIST, PLACE_LIST, "LD_LIBRARY_PATH", ""),
    ROW(PLACE_LOADER_CACHE, PLACE_FIXED, "/etc/ld.so.cache", ""),
    ROW(PLACE_LOADER_DEFAULT, PLACE_FIXED, "/usr/lib", "*-linux-gnu"),
    ROW(PLACE_LOADER_DEFAULT, PLACE_FIXED, "/lib64", ""),
    ROW(PLACE_LOADER_DEFAULT, PLACE_FIXED, "/usr/lib64", ""),
    ROW(PLACE_LOADER_DEFAULT, PLACE_FIXED, "/lib", ""),
    ROW(PLACE_LOADER_DEFAULT, PLACE_FIXED, "/usr/lib", ""),
    ROW(PLACE_LIBRARIES, PLACE_FIXED, "/usr/lib", "*-linux-gnu", .kind = INSTALL_SYSTEM),
    ROW(PLACE_LIBRARIES, PLACE_FIXED, "/lib64", "", .kind = INSTALL_SYSTEM),
    ROW(PLACE_LIBRARIES, PLACE_FIXED, "/usr/lib64", "", .kind = INSTALL_SYSTEM),
    ROW(PLACE_LIBRARIES, PLACE_FIXED, "/lib", "", .kind = INSTALL_SYSTEM),
    ROW(PLACE_LIBRARIES, PLACE_FIXED, "/usr/lib", "", .kind = INSTALL_SYSTEM),
    ROW(PLACE_LIBRARIES, PLACE_FIXED, "/usr/local/lib", "", .kind = INSTALL_OTHER),

    /* Pythons and conda environments. */
    ROW(PLACE_PYTHON, PLACE_VARIABLE, "VIRTUAL_ENV", ""),
    ROW(PLACE_PYTHON, PLACE_VARIABLE, "CONDA_PREFIX", ""),
    ROW(PLACE_PYTHON_PROGRAM, PLACE_LIST, "PATH", "python3"),
    ROW(PLACE_PYTHON_PROGRAM, PLACE_LIST, "PATH", "python3.*"),
    ROW(PLACE_PYTHON_PROGRAM, PLACE_LIST, "PATH", "python"),
    ROW(PLACE_PYTHON, PLACE_FIXED, "/usr", ""),
    ROW(PLACE_PYTHON, PLACE_FIXED, "/usr/local", ""),
    ROW(PLACE_PYTHON, PLACE_FIXED, "/opt/conda", ""),
    ROW(PLACE_PYTHON, PLACE_FIXED, "/opt", "*conda3"),
    ROW(PLACE_PYTHON, PLACE_FIXED, "/opt", "miniforge*"),
    PLACES_OF_CONDA_HOMES,
    ROW(PLACE_PYTHON, PLACE_HOME, NULL, ".pyenv/versions/*"),
    ROW(PLACE_PYTHON, PLACE_HOME, NULL, ".local/pipx/venvs/*"),
    ROW(PLACE_PYTHON, PLACE_HOME, NULL, ".local/share/pipx/venvs/*"),
    ROW(PLACE_PYTHON, PLACE_HOME, NULL, ".local/share/uv/tools/*"),
    ROW(PLACE_PYTHON, PLACE_HOME, NULL, ".local"),           /* pip --user */
    ROW(PLACE_PYTHON, PLACE_IN_ENVIRONMENT, NULL, "envs/*"), /* of a conda base */
    ROW(PLACE_SITE, PLACE_IN_ENVIRONMENT, NULL, "lib/python3*/site-packages"),
    ROW(PLACE_SITE, PLACE_IN_ENVIRONMENT, NULL, "lib/python3*/dist-packages"),
    ROW(PLACE_SITE, PLACE_IN_ENVIRONMENT, NULL, "lib64/python3*/site-packages"),

    /* cuDNNs in an environment, and which package brings them. */
    ROW(PLACE_LIBRARIES, PLACE_IN_SITE, NULL, "nvidia/cudnn/lib", .kind = INSTALL_WHEEL,
        .root_depth = 2, .owner = "nvidia_cudnn_*"),
    PLACES_OF_PACKAGES,
    ROW(PLACE_LIBRARIES, PLACE_IN_SITE, NULL, "*.libs", .kind = INSTALL_APP, .root_depth = 1),
    ROW(PLACE_LIBRARIES, PLACE_IN_ENVIRONMENT, NULL, "lib", .kind = INSTALL_CONDA),

    /* Programs' own. */
    ROW(PLACE_LIBRARIES, PLACE_HOME, NULL, ".julia/artifacts/*/lib", .kind = INSTALL_APP),

    PLACES_OF_CONFIGURATION,
};
const size_t places_count = sizeof places / sizeof *places;

const struct place_development places_development[] = {
    {"lib/*-linux-gnu", "../../include", "."}, /* Debian's links lead on to include/<triplet> */
    {"lib/*-linux-gnu", "../../include/*-linux-gnu", "."},
    {"*", "../include", "."},
};
const size_t places_development_count = sizeof places_development / sizeof *places_development;
/* What a linker is given; libcudnn.so.9 is what a loader is given. */
const char *const places_import_libraries[] = {"libcudnn*.so", "libcudnn*.a", NULL};

const bool places_ignore_case = false;
const bool places_windows_names = false;
const bool places_empty_is_here = true;

/* Interpreters lie in bin. */
char *places_python_root(struct arena *arena, const char *directory)
{
    return os_path_parent(arena, directory);
}

uint64_t places_key(const char *canonical)
{
    return hash_text(HASH_START, canonical);
}
