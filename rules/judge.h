#ifndef RULES_JUDGE_H
#define RULES_JUDGE_H

/* What the check functions of the rule table share: adding findings, reach, causes, quoting.
   Only for files of this room. All texts go into the judge's arena. */

#include <stdarg.h>

#include "base/printf.h"
#include "rules/rules.h"

struct judge {
    struct arena *arena;
    struct snapshot *snapshot;
    const struct rule *rule; /* the row being checked */
    size_t capacity;         /* of snapshot->findings */
};

/* A new finding of the current rule. `severity` is capped by the rule's. The pointer is good until
   the next one is added. */
struct finding *judge_add(struct judge *judge, enum severity severity, const char *subject_type,
                          const char *subject_id, const char *subject_path);

/* The same about an install: severity follows reach, so it is info at most when nothing reaches
   the install. Adds what identifies the install to the evidence. */
struct finding *judge_add_install(struct judge *judge, enum severity severity,
                                  const struct install *install);

/* Several findings of one rule about one subject: `part` (a file's name) tells them apart. */
void judge_distinguish(struct judge *judge, struct finding *finding, const char *part);

void judge_title(struct judge *judge, struct finding *finding, const char *format, ...)
    PRINTF_LIKE(3, 4);
void judge_detail(struct judge *judge, struct finding *finding, const char *format, ...)
    PRINTF_LIKE(3, 4);
void judge_remedy(struct judge *judge, struct finding *finding, const char *format, ...)
    PRINTF_LIKE(3, 4);
void judge_evidence(struct judge *judge, struct finding *finding, const char *key,
                    const char *format, ...) PRINTF_LIKE(4, 5);
void judge_command(struct judge *judge, struct finding *finding, const char *format, ...)
    PRINTF_LIKE(3, 4);

/* Does anything reach this install: the search path, a toolkit's own directory, an environment? */
bool judge_is_reached(const struct install *install);

/* The probe of an install; NULL when there was none or it was skipped. */
const struct probe *judge_probe(const struct judge *judge, const struct install *install);

/* Puts what the probe saw into the evidence of a finding that explains it. */
void judge_probe_evidence(struct judge *judge, struct finding *finding,
                          const struct install *install);

/* Faults of the files that explain whatever a probe sees: one cause, one finding. */
bool judge_has_missing(const struct install *install);
bool judge_has_corrupt(const struct install *install);
bool judge_has_wrong_arch(const struct judge *judge, const struct install *install);
bool judge_has_mixed(const struct install *install);
bool judge_files_explain(const struct judge *judge, const struct install *install);

/* Is this library's version its own (not taken from its siblings) and usable for comparison:
   present, whole, of the install's architecture and under its own name? */
bool judge_is_comparable(const struct install *install, const struct library *library);
bool judge_is_renamed(const struct library *library);
bool judge_is_wrong_arch(const struct judge *judge, const struct install *install,
                         const struct library *library);

/* Windows or POSIX, by the form of the path: decides between PowerShell and a POSIX shell. */
bool judge_is_windows_path(const char *path);
/* The path as one quoted word of that shell. */
const char *judge_quote(struct judge *judge, const char *path);

/* "9.5.0", "unknown"; in the arena. */
const char *judge_version(struct judge *judge, struct version version);

/* The words and commands that bring a whole set of this install's version back, by its owner. */
void judge_remedy_reinstall(struct judge *judge, struct finding *finding,
                            const struct install *install);

/* For every install, in order; `each` becomes a pointer to it. */
#define JUDGE_EACH_INSTALL(judge, each)                                                            \
    for (const struct install *each = (judge)->snapshot->inventory.installs,                       \
                              *each##_end = each + (judge)->snapshot->inventory.install_count;     \
         each < each##_end; each++)

#define JUDGE_EACH_LIBRARY(owner, each)                                                            \
    for (const struct library *each = (owner)->libraries,                                          \
                              *each##_end = each + (owner)->library_count;                         \
         each < each##_end; each++)

#endif
