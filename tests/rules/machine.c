#include "tests/rules/machine.h"

#include "base/text.h"

#define TOOLKIT "C:\\Program Files\\NVIDIA GPU Computing Toolkit\\CUDA\\v12.6"

enum { MOST_INSTALLS = 4 };

struct version machine_version(const char *text)
{
    struct version version = {0};
    version_parse(text, &version);
    return version;
}

static struct library *add_libraries(struct arena *arena)
{
    static const struct {
        const char *file, *component;
        enum version_source source;
        int cuda_major;
    } rows[LIBRARIES] = {
        [SHIM] = {"cudnn64_9.dll", "shim", VERSION_SOURCE_RESOURCE, 0},
        [GRAPH] = {"cudnn_graph64_9.dll", "graph", VERSION_SOURCE_EXPORT, 0},
        [OPS] = {"cudnn_ops64_9.dll", "ops", VERSION_SOURCE_RESOURCE, 0},
        [CNN] = {"cudnn_cnn64_9.dll", "cnn", VERSION_SOURCE_RESOURCE, 0},
        [ADV] = {"cudnn_adv64_9.dll", "adv", VERSION_SOURCE_RESOURCE, 12},
        [PRECOMPILED] = {"cudnn_engines_precompiled64_9.dll", "engines_precompiled",
                         VERSION_SOURCE_RESOURCE, 12},
        [RUNTIME] = {"cudnn_engines_runtime_compiled64_9.dll", "engines_runtime_compiled",
                     VERSION_SOURCE_RESOURCE, 0},
        [HEURISTIC] = {"cudnn_heuristic64_9.dll", "heuristic", VERSION_SOURCE_SIBLING, 0},
    };
    struct library *libraries = arena_alloc(arena, LIBRARIES * sizeof *libraries);
    for (int i = 0; i < LIBRARIES; i++) {
        libraries[i] = (struct library){
            .file = rows[i].file,
            .component = rows[i].component,
            .generation = 9,
            .version = machine_version("9.5.0.50"),
            .version_source = rows[i].source,
            .size_bytes = 1000,
            .arch = ARCH_X86_64,
            .internal_name = rows[i].source == VERSION_SOURCE_RESOURCE ? rows[i].file : NULL,
            .cuda_major = rows[i].cuda_major,
            .expected = true,
        };
    }
    return libraries;
}

static struct install make_install(struct arena *arena, const char *path, enum install_kind kind)
{
    return (struct install){
        .id = arena_printf(arena, "id-%s", path),
        .path = path,
        .kind = kind,
        .version = machine_version("9.5.0.50"),
        .build = "50",
        .generation = 9,
        .cuda_major = 12,
        .cuda_major_source = "strings",
        .arch = ARCH_X86_64,
        .complete = true,
        .libraries = add_libraries(arena),
        .library_count = LIBRARIES,
        .trusted = true,
    };
}

static struct probe good_probe(void)
{
    return (struct probe){
        .status = PROBE_OK,
        .version = 90500,
        .cudart_version = 12060,
        .max_compute_capability = 900,
        .checks = {"CUDNN_STATUS_SUCCESS", "CUDNN_STATUS_SUCCESS", "CUDNN_STATUS_SUCCESS",
                   "CUDNN_STATUS_SUCCESS"},
        .create = "CUDNN_STATUS_SUCCESS",
        .load_ms = 12,
    };
}

void machine_init(struct machine *machine)
{
    *machine = (struct machine){0};
    struct arena *arena = &machine->arena;
    machine->toolkits = arena_alloc(arena, sizeof *machine->toolkits);
    machine->toolkits[0] = (struct toolkit){
        .id = "t", .path = TOOLKIT, .version = machine_version("12.6.0"), .is_default = true};
    machine->search_path = arena_alloc(arena, sizeof *machine->search_path);
    machine->search_path[0] = (struct search_entry){.directory = TOOLKIT "\\bin",
                                                    .canonical = TOOLKIT "\\bin",
                                                    .exists = true,
                                                    .is_directory = true,
                                                    .cudnn_count = LIBRARIES};
    const char **names = arena_alloc(arena, LIBRARIES * sizeof *names);
    machine->search_path[0].cudnn = names;
    machine->installs = arena_alloc(arena, MOST_INSTALLS * sizeof *machine->installs);
    machine->installs[0] = make_install(arena, TOOLKIT "\\bin", INSTALL_TOOLKIT);
    machine->installs[0].on_search_path = true;
    machine->installs[0].in_toolkit = true;
    machine->libraries = machine->installs[0].libraries;
    for (int i = 0; i < LIBRARIES; i++) {
        names[i] = machine->libraries[i].file;
    }
    machine->probes = arena_alloc(arena, MOST_INSTALLS * sizeof *machine->probes);
    machine->probes[0] = good_probe();
    machine->snapshot = (struct snapshot){
        .host = {.name = "box", .arch = "x86_64"},
        .nvidia_device = OS_HOST_PRESENT,
        .driver = {.status = DRIVER_OK, .version = "560.94", .cuda_version = "12.6"},
        .inventory = {.toolkits = machine->toolkits,
                      .toolkit_count = 1,
                      .installs = machine->installs,
                      .install_count = 1,
                      .search_path = machine->search_path,
                      .search_count = 1},
        .probes = machine->probes,
    };
}

void machine_done(struct machine *machine)
{
    arena_done(&machine->arena);
}

struct install *machine_add_install(struct machine *machine, const char *path,
                                    enum install_kind kind)
{
    size_t index = machine->snapshot.inventory.install_count++;
    machine->installs[index] = make_install(&machine->arena, path, kind);
    machine->probes[index] = good_probe();
    return &machine->installs[index];
}

size_t machine_judge(struct machine *machine, const char *code)
{
    size_t count = 0;
    rules_evaluate(&machine->arena, &machine->snapshot);
    for (size_t i = 0; i < machine->snapshot.finding_count; i++) {
        const struct finding *finding = &machine->snapshot.findings[i];
        count += code == NULL ? finding->severity > SEVERITY_INFO : text_equal(code, finding->code);
    }
    return count;
}

const struct finding *machine_finding(const struct machine *machine, const char *code)
{
    for (size_t i = 0; i < machine->snapshot.finding_count; i++) {
        if (text_equal(machine->snapshot.findings[i].code, code)) {
            return &machine->snapshot.findings[i];
        }
    }
    return NULL;
}
