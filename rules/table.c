/* The rule table. Adding a code: one row here, its check function in a check_*.c file. */
#include "rules/checks.h"
#include "rules/judge.h"

const struct rule rules_table[] = {
    {"cudnn_file_missing", SEVERITY_CRITICAL,
     "a library that this generation, version and layout needs is not in its directory",
     "Copy the whole set of one release into the directory.", check_file_missing},
    {"cudnn_mixed_versions", SEVERITY_CRITICAL,
     "libraries of different cuDNN versions, or builds for different CUDA majors, in one directory",
     "Copy the whole set of one release into the directory.", check_mixed_versions},
    {"cudnn_header_mismatch", SEVERITY_WARNING,
     "cudnn_version.h and the libraries of the same install disagree",
     "Copy the headers of the same release.", check_header_mismatch},
    {"cudnn_file_corrupt", SEVERITY_CRITICAL, "a library is empty, truncated, or no library at all",
     "Copy the file again from a verified package.", check_file_corrupt},
    {"cudnn_wrong_architecture", SEVERITY_CRITICAL,
     "a library for another CPU architecture lies among, or instead of, the right ones",
     "Replace it by the file for this machine's architecture.", check_wrong_architecture},
    {"cudnn_renamed_copy", SEVERITY_WARNING,
     "a library's internal name is not its file name: it was renamed",
     "Delete the renamed copy; install the cuDNN generation the program was built for.",
     check_renamed_copy},
    {"cudnn_cuda_major_mismatch", SEVERITY_CRITICAL,
     "a cuDNN built for another CUDA major than the toolkit directory it lies in",
     "Put the cuDNN built for this toolkit's CUDA there.", check_cuda_major_mismatch},
    {"cudnn_not_on_path", SEVERITY_WARNING,
     "a toolkit or standalone cuDNN that no search-path directory reaches",
     "Add its directory to the machine's search path.", check_not_on_path},
    {"driver_missing", SEVERITY_CRITICAL,
     "cuDNN is installed but there is no usable NVIDIA driver; info when the machine has no NVIDIA "
     "device",
     "Install NVIDIA's display driver.", check_driver_missing},
    {"driver_error", SEVERITY_CRITICAL,
     "the driver answers with an error, or not at all (library and kernel module disagree, a lost "
     "GPU, time-out)",
     "Restart the machine; then reinstall the driver.", check_driver_error},
    {"cudnn_load_failed", SEVERITY_CRITICAL,
     "probe: the library cannot be loaded; the loader's error in words",
     "Bring the library that the loader misses.", check_load_failed},
    {"cudnn_runtime_mismatch", SEVERITY_CRITICAL,
     "probe: the running version is not the file's version, or a version check answers "
     "SUBLIBRARY_VERSION_MISMATCH",
     "Copy the whole set of one release into the directory.", check_runtime_mismatch},
    {"cudnn_probe_crashed", SEVERITY_CRITICAL, "probe: the process that loaded the library died",
     "Copy the whole set of one release into the directory.", check_probe_crashed},
    {"cudnn_probe_timeout", SEVERITY_CRITICAL,
     "probe: loading and asking the library took too long",
     "Look at the driver first: a hung driver hangs what asks it.", check_probe_timeout},
    {"inventory_incomplete", SEVERITY_WARNING, "places that were to be looked at could not be read",
     "Let the service's account read them.", check_inventory_incomplete},
    {"database_recovered", SEVERITY_WARNING,
     "the store was damaged and was set aside; a fresh one was begun",
     "Keep the damaged file if its history matters, else delete it.", NULL},
};

const size_t rules_count = sizeof rules_table / sizeof *rules_table;
