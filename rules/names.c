#include "rules/snapshot.h"

const char *scan_trigger_name(enum scan_trigger trigger)
{
    static const char *const names[] = {"startup", "schedule", "change",
                                        "resume",  "request",  "cli"};
    return names[trigger];
}

const char *severity_name(enum severity severity)
{
    static const char *const names[] = {"info", "warning", "critical"};
    return names[severity];
}

const char *health_name(enum health health)
{
    static const char *const names[] = {"ok", "warning", "critical", "unknown"};
    return names[health];
}

enum health snapshot_health(const struct snapshot *snapshot)
{
    enum health health = HEALTH_OK;
    for (size_t i = 0; i < snapshot->finding_count; i++) {
        if (snapshot->findings[i].severity == SEVERITY_CRITICAL) {
            return HEALTH_CRITICAL;
        }
        if (snapshot->findings[i].severity == SEVERITY_WARNING) {
            health = HEALTH_WARNING;
        }
    }
    return health;
}
