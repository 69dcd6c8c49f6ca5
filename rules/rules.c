#include "rules/rules.h"

#include <stdlib.h>

#include "base/log.h"
#include "base/text.h"
#include "rules/judge.h"

static int compare_findings(const void *a, const void *b)
{
    const struct finding *one = a;
    const struct finding *other = b;
    if (one->severity != other->severity) {
        return one->severity > other->severity ? -1 : 1;
    }
    int by_code = strcmp(one->code, other->code);
    if (by_code != 0) {
        return by_code;
    }
    return strcmp(one->subject_path == NULL ? "" : one->subject_path,
                  other->subject_path == NULL ? "" : other->subject_path);
}

static void sort(struct snapshot *snapshot)
{
    if (snapshot->finding_count > 1) {
        qsort(snapshot->findings, snapshot->finding_count, sizeof *snapshot->findings,
              compare_findings);
    }
}

void rules_evaluate(struct arena *arena, struct snapshot *snapshot)
{
    struct judge judge = {.arena = arena, .snapshot = snapshot};
    snapshot->findings = NULL;
    snapshot->finding_count = 0;
    for (size_t i = 0; i < rules_count; i++) {
        judge.rule = &rules_table[i];
        if (judge.rule->check != NULL) {
            judge.rule->check(&judge);
        }
    }
    sort(snapshot);
}

void rules_add_service_finding(struct arena *arena, struct snapshot *snapshot, const char *code,
                               const char *subject_path, const char *detail,
                               const char *const *commands)
{
    struct judge judge = {.arena = arena, .snapshot = snapshot, .rule = rules_find(code)};
    if (judge.rule == NULL) {
        log_fatal("there is no rule '%s'", code);
    }
    /* The array has no spare room that this call knows of: begin a new one behind the old. */
    struct finding *old = snapshot->findings;
    size_t count = snapshot->finding_count;
    snapshot->findings = NULL;
    snapshot->finding_count = 0;
    for (size_t i = 0; i < count; i++) {
        *(struct finding *)arena_push(arena, &snapshot->findings, &snapshot->finding_count,
                                      &judge.capacity, sizeof *old) = old[i];
    }
    struct finding *finding =
        judge_add(&judge, judge.rule->severity, "service", NULL, arena_strdup(arena, subject_path));
    judge_title(&judge, finding, "%s", judge.rule->meaning);
    judge_detail(&judge, finding, "%s", detail);
    for (size_t i = 0; commands != NULL && commands[i] != NULL; i++) {
        judge_command(&judge, finding, "%s", commands[i]);
    }
    sort(snapshot);
}

const struct rule *rules_find(const char *code)
{
    for (size_t i = 0; i < rules_count; i++) {
        if (text_equal(rules_table[i].code, code)) {
            return &rules_table[i];
        }
    }
    return NULL;
}

const char *rules_print_docs(struct arena *arena)
{
    const char *text =
        "# Findings\n\n"
        "Made from the rule table (`rules/table.c`) by `scripts/generate`; do not edit.\n\n"
        "A fault counts in full where something reaches the cuDNN it is about (the search "
        "path, a toolkit's own\ndirectory, an environment); elsewhere it is info at most. "
        "One cause gives one finding; what follows from it\nstands in its evidence. A "
        "healthy install gives no finding above info.\n\n"
        "| code | severity | when | what to do |\n|---|---|---|---|\n";
    for (size_t i = 0; i < rules_count; i++) {
        text = arena_printf(arena, "%s| `%s` | %s | %s | %s |\n", text, rules_table[i].code,
                            severity_name(rules_table[i].severity), rules_table[i].meaning,
                            rules_table[i].remedy);
    }
    return text;
}
