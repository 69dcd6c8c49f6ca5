#ifndef TESTS_RULES_MACHINE_H
#define TESTS_RULES_MACHINE_H

/* A small machine in memory for the rules: a healthy Windows host with one toolkit of CUDA 12.6,
   a complete cuDNN 9.5.0 in it, on the path, probed, with a driver. Tests break it. */

#include "rules/rules.h"

struct machine {
    struct arena arena;
    struct snapshot snapshot;
    struct install *installs;  /* snapshot.inventory.installs, writable */
    struct library *libraries; /* of the first install, writable */
    struct toolkit *toolkits;
    struct search_entry *search_path;
    struct probe *probes;
};

enum { SHIM, GRAPH, OPS, CNN, ADV, PRECOMPILED, RUNTIME, HEURISTIC, LIBRARIES };

void machine_init(struct machine *machine);
void machine_done(struct machine *machine);

/* A second complete install of the same version at `path`, reached by nothing. */
struct install *machine_add_install(struct machine *machine, const char *path,
                                    enum install_kind kind);

/* Judges, and answers how many findings there are of a code (NULL = of any above info). */
size_t machine_judge(struct machine *machine, const char *code);
const struct finding *machine_finding(const struct machine *machine, const char *code);
struct version machine_version(const char *text);

#endif
