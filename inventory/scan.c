/* The order of the day. Each step asks the one before it: toolkits and environments say where
   cuDNNs belong, the search path says where else programs find some, and only then are the
   libraries themselves opened. */
#include "inventory/inventory.h"

#include "inventory/environments.h"
#include "inventory/installs.h"
#include "inventory/look.h"
#include "inventory/places.h"
#include "inventory/search_path.h"
#include "inventory/toolkits.h"

struct scan {
    struct look look;
    struct inventory inventory;
    struct search_path search_path;
    struct environments environments;
    struct candidates candidates;
};

/* ---- from rows to candidates ---- */

static void add_hits(struct scan *scan, const struct place_hits *hits, struct source *source)
{
    for (size_t h = 0; h < hits->count && !look_is_cancelled(&scan->look); h++) {
        source->path = hits->items[h].path;
        source->root = hits->items[h].root;
        candidates_add(&scan->look, &scan->candidates, source);
    }
}

static void add_in_toolkits(struct scan *scan, const struct place *place)
{
    for (size_t i = 0; i < scan->inventory.toolkit_count; i++) {
        struct source source = {.place = place, .toolkit = i};
        struct place_hits hits = {0};
        places_below(&scan->look, place, scan->inventory.toolkits[i].path, &hits);
        add_hits(scan, &hits, &source);
    }
}

static void add_in_environments(struct scan *scan, const struct place *place)
{
    for (size_t i = 0; i < scan->environments.count; i++) {
        const struct environment *environment = &scan->environments.items[i];
        struct source source = {.place = place, .environment = environment};
        struct place_hits hits = {0};
        if (place->from == PLACE_IN_ENVIRONMENT) {
            places_below(&scan->look, place, environment->root, &hits);
            add_hits(scan, &hits, &source);
            continue;
        }
        for (size_t s = 0; s < environment->site_count; s++) {
            hits = (struct place_hits){0};
            source.site = &environment->sites[s];
            places_below(&scan->look, place, source.site->path, &hits);
            add_hits(scan, &hits, &source);
        }
    }
}

static void add_by_row(struct scan *scan, const struct place *place)
{
    struct source source = {.place = place};
    struct place_hits hits = {0};
    switch (place->from) {
    case PLACE_IN_TOOLKIT:
        add_in_toolkits(scan, place);
        return;
    case PLACE_IN_ENVIRONMENT:
    case PLACE_IN_SITE:
        add_in_environments(scan, place);
        return;
    default:
        places_find(&scan->look, place, &hits);
        add_hits(scan, &hits, &source);
    }
}

/* ---- steps ---- */

static void find_toolkits(struct scan *scan)
{
    toolkits_find(&scan->look, &scan->inventory.toolkits, &scan->inventory.toolkit_count);
}

static void read_search_path(struct scan *scan)
{
    search_path_read(&scan->look, &scan->search_path);
    scan->inventory.search_path = scan->search_path.entries;
    scan->inventory.search_count = scan->search_path.count;
}

static void find_environments(struct scan *scan)
{
    environments_find(&scan->look, &scan->environments);
}

static void collect_candidates(struct scan *scan)
{
    for (size_t i = 0; i < places_count && !look_is_cancelled(&scan->look); i++) {
        if (places[i].role == PLACE_LIBRARIES) {
            add_by_row(scan, &places[i]);
        }
    }
    for (size_t i = 0; i < scan->search_path.count; i++) {
        const struct search_entry *entry = &scan->search_path.entries[i];
        if (entry->cudnn_count > 0) {
            candidates_add(&scan->look, &scan->candidates,
                           &(struct source){.path = entry->canonical});
        }
    }
    /* Copied there after ldconfig ran: no loader sees it, but there it is. */
    for (size_t i = 0; i < scan->search_path.served_count; i++) {
        candidates_add(&scan->look, &scan->candidates,
                       &(struct source){.path = scan->search_path.served[i]});
    }
}

static void read_installs(struct scan *scan)
{
    installs_read(&scan->look, &scan->candidates, &scan->search_path, &scan->inventory);
}

int inventory_scan(struct arena *arena, const struct inventory_request *request,
                   struct inventory *out_inventory, struct err *err)
{
    static void (*const steps[])(struct scan * scan) = {
        find_toolkits, read_search_path, find_environments, collect_candidates, read_installs,
    };
    struct scan scan = {.look = {.arena = arena, .request = request}};
    for (size_t i = 0; i < sizeof steps / sizeof *steps; i++) {
        if (!look_is_cancelled(&scan.look)) {
            steps[i](&scan);
        }
    }
    if (request->list_watched && !look_is_cancelled(&scan.look)) {
        look_watched(&scan.look, &scan.inventory.watched, &scan.inventory.watched_count);
    }
    look_done(&scan.look);
    if (look_is_cancelled(&scan.look)) {
        return err_set(err, ERR_CANCELLED, "the inventory was cancelled");
    }
    scan.inventory.problems = scan.look.problems;
    scan.inventory.problem_count = scan.look.problem_count;
    *out_inventory = scan.inventory;
    return 0;
}
