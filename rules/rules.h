#ifndef RULES_RULES_H
#define RULES_RULES_H

/* The judges: a snapshot in, findings out. No I/O, no clock, no memory but the arena's.
   A rule is one row of the table in rules/table.c: code, default severity, what it means, and a
   check function. Adding a code touches that row and its function.
   House rules of judging: severity follows reach; one cause, one finding; not knowing is not a
   fault; a healthy real install yields nothing above info. */

#include "rules/snapshot.h"

struct judge; /* rules/judge.h: what a check function works with */

struct rule {
    const char *code;
    enum severity severity; /* the most it says */
    const char *meaning;    /* when it is raised: one sentence part, for docs and people */
    const char *remedy;     /* what to do, in general */
    void (*check)(
        struct judge *judge); /* NULL: raised by the service itself, not from a snapshot */
};

extern const struct rule rules_table[];
extern const size_t rules_count;

/* Fills snapshot->findings. */
void rules_evaluate(struct arena *arena, struct snapshot *snapshot);

/* A finding the service itself raises, for a row without a check; call after rules_evaluate.
   Subject type "service". commands: NULL-terminated, may be NULL. */
void rules_add_service_finding(struct arena *arena, struct snapshot *snapshot, const char *code,
                               const char *subject_path, const char *detail,
                               const char *const *commands);

const struct rule *rules_find(const char *code); /* NULL when there is none */

/* docs/findings.md, from the table; text in the arena. */
const char *rules_print_docs(struct arena *arena);

#endif
