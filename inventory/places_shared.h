#ifndef INVENTORY_PLACES_SHARED_H
#define INVENTORY_PLACES_SHARED_H

/* Rows that both systems' tables have, for places_posix.c and places_win32.c only. A row whose
   directories differ (bin, lib) is in each. */

#include "inventory/places.h"

#define ROW(role_, from_, name_, pattern_, ...)                                                    \
    {                                                                                              \
        .role = role_, .from = from_, .name = name_, .pattern = pattern_, __VA_ARGS__              \
    }

/* What the installers of conda and mamba make by default. */
#define PLACES_OF_CONDA_HOMES                                                                      \
    ROW(PLACE_PYTHON_LIST, PLACE_HOME, NULL, ".conda/environments.txt"),                           \
        ROW(PLACE_PYTHON, PLACE_HOME, NULL, "miniconda3"),                                         \
        ROW(PLACE_PYTHON, PLACE_HOME, NULL, "anaconda3"),                                          \
        ROW(PLACE_PYTHON, PLACE_HOME, NULL, "miniforge3"),                                         \
        ROW(PLACE_PYTHON, PLACE_HOME, NULL, "mambaforge")

/* Packages that bring a cuDNN of their own. */
#define PLACES_OF_PACKAGES                                                                         \
    ROW(PLACE_LIBRARIES, PLACE_IN_SITE, NULL, "torch/lib", .kind = INSTALL_TORCH, .root_depth = 1, \
        .owner = "torch"),                                                                         \
        ROW(PLACE_LIBRARIES, PLACE_IN_SITE, NULL, "ctranslate2", .kind = INSTALL_APP,              \
            .root_depth = 1),                                                                      \
        ROW(PLACE_LIBRARIES, PLACE_IN_SITE, NULL, "paddle/libs", .kind = INSTALL_APP,              \
            .root_depth = 1, .owner = "paddlepaddle*"),                                            \
        ROW(PLACE_LIBRARIES, PLACE_IN_SITE, NULL, "cupy/.data/lib", .kind = INSTALL_APP,           \
            .root_depth = 1, .owner = "cupy*"),                                                    \
        ROW(PLACE_LIBRARIES, PLACE_IN_SITE, NULL, "onnxruntime/capi", .kind = INSTALL_APP,         \
            .root_depth = 1, .owner = "onnxruntime*")

/* What the configuration asks for. */
#define PLACES_OF_CONFIGURATION                                                                    \
    ROW(PLACE_LIBRARIES, PLACE_EXTRA, NULL, "", .kind = INSTALL_OTHER),                            \
        ROW(PLACE_LIBRARIES, PLACE_EXTRA, NULL, "bin", .kind = INSTALL_OTHER),                     \
        ROW(PLACE_LIBRARIES, PLACE_EXTRA, NULL, "bin/x64", .kind = INSTALL_OTHER),                 \
        ROW(PLACE_LIBRARIES, PLACE_EXTRA, NULL, "lib", .kind = INSTALL_OTHER),                     \
        ROW(PLACE_LIBRARIES, PLACE_EXTRA, NULL, "lib64", .kind = INSTALL_OTHER),                   \
        ROW(PLACE_LIBRARIES, PLACE_EXTRA, NULL, "lib/x64", .kind = INSTALL_OTHER)

#endif
