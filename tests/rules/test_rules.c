#include "tests/test.h"

#include "base/text.h"
#include "tests/rules/machine.h"

static struct machine machine;

static int set_up(void **state)
{
    (void)state;
    machine_init(&machine);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    machine_done(&machine);
    return 0;
}

/* Exactly one finding, of this code and severity, whose texts hold the word. */
static void only(const char *code, enum severity severity, const char *word)
{
    machine_judge(&machine, NULL);
    if (machine.snapshot.finding_count != 1) {
        for (size_t i = 0; i < machine.snapshot.finding_count; i++) {
            print_error("%s: %s\n", machine.snapshot.findings[i].code,
                        machine.snapshot.findings[i].detail);
        }
    }
    assert_int_equal(machine.snapshot.finding_count, 1);
    const struct finding *finding = machine_finding(&machine, code);
    assert_non_null(finding);
    assert_int_equal(finding->severity, severity);
    assert_true(*finding->title != '\0' && *finding->detail != '\0' && finding->remedy != NULL);
    assert_true(strstr(finding->detail, word) != NULL || strstr(finding->title, word) != NULL);
}

static void a_healthy_machine_yields_nothing(void **state)
{
    (void)state;
    assert_int_equal(machine_judge(&machine, NULL), 0);
    assert_int_equal(machine.snapshot.finding_count, 0);
    assert_int_equal(snapshot_health(&machine.snapshot), HEALTH_OK);
}

static void a_missing_file_explains_the_probes_death(void **state)
{
    (void)state;
    machine.libraries[GRAPH].state = LIBRARY_MISSING;
    machine.probes[0] = (struct probe){.status = PROBE_CRASHED, .error = "exit status 1"};
    only("cudnn_file_missing", SEVERITY_CRITICAL, "cudnn_graph64_9.dll");
    const struct finding *finding = machine_finding(&machine, "cudnn_file_missing");
    bool told = false;
    for (size_t i = 0; i < finding->evidence_count; i++) {
        told = told || (text_equal(finding->evidence[i].key, "probe") &&
                        strstr(finding->evidence[i].value, "exit status 1") != NULL);
    }
    assert_true(told);
}

static void mixed_versions_name_the_file_and_both_versions(void **state)
{
    (void)state;
    machine.libraries[CNN].version = machine_version("9.1.0.70");
    machine.probes[0].checks[PROBE_CHECK_CNN] = "CUDNN_STATUS_SUBLIBRARY_VERSION_MISMATCH";
    only("cudnn_mixed_versions", SEVERITY_CRITICAL, "cudnn_cnn64_9.dll");
    const struct finding *finding = machine_finding(&machine, "cudnn_mixed_versions");
    assert_non_null(strstr(finding->detail, "9.1.0"));
    assert_non_null(strstr(finding->detail, "9.5.0"));
}

static void a_version_taken_from_siblings_is_no_evidence(void **state)
{
    (void)state;
    machine.libraries[HEURISTIC].version = machine_version("9.1.0");
    assert_int_equal(machine_judge(&machine, "cudnn_mixed_versions"), 0);
}

static void builds_for_two_cuda_majors_are_mixed_too(void **state)
{
    (void)state;
    machine.libraries[ADV].cuda_major = 11;
    only("cudnn_mixed_versions", SEVERITY_CRITICAL, "CUDA 11");
}

static void two_generations_side_by_side_are_not_mixed(void **state)
{
    (void)state;
    machine.libraries[RUNTIME] = machine.libraries[SHIM];
    machine.libraries[RUNTIME].file = machine.libraries[RUNTIME].internal_name = "cudnn64_8.dll";
    machine.libraries[RUNTIME].generation = 8;
    machine.libraries[RUNTIME].version = machine_version("8.9.7.29");
    assert_int_equal(machine_judge(&machine, NULL), 0);
}

static void severity_follows_reach(void **state)
{
    (void)state;
    struct install *backup = machine_add_install(&machine, "D:\\old\\cudnn", INSTALL_OTHER);
    backup->libraries[OPS].state = LIBRARY_CORRUPT;
    backup->libraries[OPS].problem = "is empty";
    only("cudnn_file_corrupt", SEVERITY_INFO, "is empty");
    assert_int_equal(snapshot_health(&machine.snapshot), HEALTH_OK);
    backup->in_environment = true;
    only("cudnn_file_corrupt", SEVERITY_CRITICAL, "is empty");
}

static void a_renamed_copy_is_told_and_not_counted_as_mixed(void **state)
{
    (void)state;
    machine.libraries[RUNTIME].file = "cudnn_ops_infer64_9.dll";
    machine.libraries[RUNTIME].internal_name = "cudnn_ops64_9.dll";
    machine.libraries[RUNTIME].version = machine_version("9.1.0");
    only("cudnn_renamed_copy", SEVERITY_WARNING, "cudnn_ops_infer64_9.dll");
}

static void an_elf_name_with_more_version_in_it_is_not_renamed(void **state)
{
    (void)state;
    machine.libraries[OPS].file = "libcudnn_ops.so.9.5.0";
    machine.libraries[OPS].internal_name = "libcudnn_ops.so.9";
    assert_int_equal(machine_judge(&machine, "cudnn_renamed_copy"), 0);
    machine.libraries[OPS].file = "libcudnn_ops_infer.so.9";
    assert_int_equal(machine_judge(&machine, "cudnn_renamed_copy"), 1);
}

static void another_architecture_among_the_right_ones_is_told(void **state)
{
    (void)state;
    machine.libraries[CNN].arch = ARCH_ARM64;
    only("cudnn_wrong_architecture", SEVERITY_CRITICAL, "cudnn_cnn64_9.dll");
}

static void a_whole_set_for_another_processor_is_told(void **state)
{
    (void)state;
    machine.installs[0].arch = ARCH_ARM64;
    for (int i = 0; i < LIBRARIES; i++) {
        machine.libraries[i].arch = ARCH_ARM64;
    }
    machine.probes[0] = (struct probe){.status = PROBE_FAILED, .error = "193", .loader_code = 193};
    only("cudnn_wrong_architecture", SEVERITY_CRITICAL, "arm64");
    machine.snapshot.host.arch = "arm64";
    machine.probes[0].status = PROBE_SKIPPED;
    assert_int_equal(machine_judge(&machine, NULL), 0);
}

static void headers_of_another_release_are_a_warning(void **state)
{
    (void)state;
    machine.installs[0].header_version = machine_version("9.1.0");
    machine.installs[0].header_path = "C:\\inc\\cudnn_version.h";
    only("cudnn_header_mismatch", SEVERITY_WARNING, "9.1.0");
    machine.installs[0].header_version = machine_version("9.5.0");
    assert_int_equal(machine_judge(&machine, NULL), 0);
}

static void a_build_for_another_cuda_in_a_toolkit_is_critical(void **state)
{
    (void)state;
    machine.toolkits[0].version = machine_version("11.8.0");
    only("cudnn_cuda_major_mismatch", SEVERITY_CRITICAL, "CUDA 11.8");
    machine.installs[0].cuda_major = 0; /* not known: no fault */
    assert_int_equal(machine_judge(&machine, NULL), 0);
}

static void the_parent_directory_on_the_path_is_told(void **state)
{
    (void)state;
    machine_add_install(&machine, "C:\\Program Files\\NVIDIA\\CUDNN\\v9.7\\bin\\12.8",
                        INSTALL_STANDALONE)
        ->standalone_root = "C:\\Program Files\\NVIDIA\\CUDNN\\v9.7";
    struct install *twin = machine_add_install(
        &machine, "C:\\Program Files\\NVIDIA\\CUDNN\\v9.7\\bin\\11.8", INSTALL_STANDALONE);
    twin->standalone_root = "C:\\Program Files\\NVIDIA\\CUDNN\\v9.7";
    twin->cuda_major = 11;
    /* Another copy of the generation is on the path: nobody is missing anything. */
    assert_int_equal(machine_judge(&machine, "cudnn_not_on_path"), 0);
    machine.search_path[0] =
        (struct search_entry){.directory = "C:\\Program Files\\NVIDIA\\CUDNN\\v9.7\\bin",
                              .canonical = "C:\\Program Files\\NVIDIA\\CUDNN\\v9.7\\bin",
                              .exists = true,
                              .is_directory = true};
    only("cudnn_not_on_path", SEVERITY_WARNING, "12.8");
}

static void a_toolkit_copy_no_path_leads_to_is_told(void **state)
{
    (void)state;
    machine.installs[0].on_search_path = false;
    machine.search_path[0].cudnn_count = 0;
    only("cudnn_not_on_path", SEVERITY_WARNING, "v12.6");
    const struct finding *finding = machine_finding(&machine, "cudnn_not_on_path");
    assert_int_equal(finding->command_count, 1);
    machine.installs[0].kind = INSTALL_WHEEL; /* Python finds its own */
    assert_int_equal(machine_judge(&machine, NULL), 0);
}

static void a_missing_driver_is_critical_only_with_a_device(void **state)
{
    (void)state;
    machine.snapshot.driver = (struct driver){.status = DRIVER_MISSING};
    only("driver_missing", SEVERITY_CRITICAL, "no NVIDIA driver");
    machine.snapshot.nvidia_device = OS_HOST_ABSENT;
    only("driver_missing", SEVERITY_INFO, "no NVIDIA driver");
    machine.snapshot.inventory.install_count = 0;
    assert_int_equal(machine_judge(&machine, NULL), 0);
    assert_int_equal(machine.snapshot.finding_count, 0);
}

static void a_driver_error_says_what_helps(void **state)
{
    (void)state;
    machine.snapshot.driver =
        (struct driver){.status = DRIVER_ERROR, .error = "Driver/library version mismatch"};
    only("driver_error", SEVERITY_CRITICAL, "mismatch");
    assert_non_null(strstr(machine_finding(&machine, "driver_error")->remedy, "reboot"));
}

static void each_end_of_a_probe_has_its_code(void **state)
{
    (void)state;
    machine.probes[0] = (struct probe){.status = PROBE_FAILED,
                                       .error = "a library it needs is "
                                                "missing (126)",
                                       .loader_code = 126};
    only("cudnn_load_failed", SEVERITY_CRITICAL, "126");
    machine.probes[0] = (struct probe){.status = PROBE_CRASHED, .error = "signal 11"};
    only("cudnn_probe_crashed", SEVERITY_CRITICAL, "signal 11");
    machine.probes[0] = (struct probe){.status = PROBE_TIMEOUT, .error = "30 s"};
    only("cudnn_probe_timeout", SEVERITY_CRITICAL, "30 s");
    machine.probes[0] = (struct probe){.status = PROBE_OK, .version = 92801};
    only("cudnn_runtime_mismatch", SEVERITY_CRITICAL, "9.28.1");
    machine.probes[0] = (struct probe){.status = PROBE_SKIPPED, .error = "not trusted"};
    assert_int_equal(machine_judge(&machine, NULL), 0);
}

static void a_probe_that_lacks_the_drivers_library_is_explained_by_the_driver(void **state)
{
    (void)state;
    machine.snapshot.driver = (struct driver){.status = DRIVER_MISSING};
    machine.probes[0] = (struct probe){.status = PROBE_FAILED,
                                       .error = "libcuda.so.1: cannot open shared object file"};
    only("driver_missing", SEVERITY_CRITICAL, "driver");
}

static void unreadable_places_are_told_and_skipped_ones_are_not(void **state)
{
    (void)state;
    struct problem problems[] = {
        {.kind = PROBLEM_SKIPPED, .path = "Z:\\x", .error = "is on a network drive"},
        {.kind = PROBLEM_UNREADABLE, .path = "C:\\secret", .error = "permission denied"},
    };
    machine.snapshot.inventory.problems = problems;
    machine.snapshot.inventory.problem_count = 1;
    assert_int_equal(machine_judge(&machine, NULL), 0);
    machine.snapshot.inventory.problem_count = 2;
    only("inventory_incomplete", SEVERITY_WARNING, "C:\\secret");
}

static void ids_are_stable_and_unique(void **state)
{
    (void)state;
    machine.libraries[CNN].state = LIBRARY_MISSING;
    machine.libraries[RUNTIME].file = "cudnn_ops_infer64_9.dll";
    machine.libraries[RUNTIME].internal_name = "cudnn_ops64_9.dll";
    machine.libraries[HEURISTIC].file = "cudnn_adv_infer64_9.dll";
    machine.libraries[HEURISTIC].internal_name = "cudnn_adv64_9.dll";
    machine_judge(&machine, NULL);
    char first[8][24];
    size_t count = machine.snapshot.finding_count;
    assert_int_equal(count, 3);
    for (size_t i = 0; i < count; i++) {
        text_copy(first[i], sizeof first[i], machine.snapshot.findings[i].id);
        for (size_t j = 0; j < i; j++) {
            assert_string_not_equal(first[i], first[j]);
        }
    }
    machine.libraries[ADV].state = LIBRARY_MISSING; /* the same fault, worse */
    machine_judge(&machine, NULL);
    for (size_t i = 0; i < count; i++) {
        assert_string_equal(first[i], machine.snapshot.findings[i].id);
    }
}

static void the_services_own_findings_are_put_in_order(void **state)
{
    (void)state;
    machine.libraries[CNN].state = LIBRARY_MISSING;
    machine.snapshot.nvidia_device = OS_HOST_ABSENT;
    machine.snapshot.driver = (struct driver){.status = DRIVER_MISSING};
    machine_judge(&machine, NULL);
    const char *const commands[] = {"del x", NULL};
    rules_add_service_finding(&machine.arena, &machine.snapshot, "database_recovered", "C:\\d",
                              "it was damaged", commands);
    assert_int_equal(machine.snapshot.finding_count, 3);
    assert_string_equal(machine.snapshot.findings[0].code, "cudnn_file_missing");
    assert_string_equal(machine.snapshot.findings[1].code, "database_recovered");
    assert_string_equal(machine.snapshot.findings[1].commands[0], "del x");
    assert_string_equal(machine.snapshot.findings[2].code, "driver_missing");
}

static void commands_quote_paths_for_their_shell(void **state)
{
    (void)state;
    machine.libraries[RUNTIME].file = "cudnn_ops_infer64_9.dll";
    machine.libraries[RUNTIME].internal_name = "cudnn_ops64_9.dll";
    machine.installs[0].path = "C:\\it's here\\bin";
    machine_judge(&machine, NULL);
    assert_string_equal(machine_finding(&machine, "cudnn_renamed_copy")->commands[0],
                        "Remove-Item 'C:\\it''s here\\bin\\cudnn_ops_infer64_9.dll'");
    machine.installs[0].path = "/opt/it's";
    machine.libraries[RUNTIME].file = "libcudnn_ops_infer.so.9";
    machine.libraries[RUNTIME].internal_name = "libcudnn_ops.so.9";
    machine_judge(&machine, NULL);
    assert_string_equal(machine_finding(&machine, "cudnn_renamed_copy")->commands[0],
                        "rm '/opt/it'\\''s/libcudnn_ops_infer.so.9'");
}

static void every_rule_is_complete_and_its_code_unique(void **state)
{
    (void)state;
    for (size_t i = 0; i < rules_count; i++) {
        const struct rule *rule = &rules_table[i];
        assert_true(*rule->meaning != '\0' && *rule->remedy != '\0');
        assert_ptr_equal(rules_find(rule->code), rule);
    }
    assert_null(rules_find("no_such_code"));
}

static void the_document_of_a_snapshot_has_every_part(void **state)
{
    (void)state;
    machine_judge(&machine, NULL);
    struct json *document = snapshot_to_json(&machine.snapshot);
    static const char *const parts[] = {"schema",      "scan",     "health",   "host",
                                        "driver",      "gpus",     "toolkits", "installs",
                                        "search_path", "findings", "problems"};
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        assert_non_null(json_get(document, parts[i]));
    }
    const struct json *install = json_at(json_get(document, "installs"), 0);
    const struct json *library = json_at(json_get(install, "libraries"), GRAPH);
    assert_string_equal(json_as_text(json_get(library, "version")), "9.5.0");
    assert_string_equal(json_as_text(json_get(library, "version_source")), "export");
    assert_string_equal(json_as_text(json_get(json_get(install, "probe"), "version")), "9.5.0");
    assert_true(json_is_null(json_get(json_get(document, "scan"), "id")));
    json_free(document);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

RUN_TESTS(TEST(a_healthy_machine_yields_nothing), TEST(a_missing_file_explains_the_probes_death),
          TEST(mixed_versions_name_the_file_and_both_versions),
          TEST(a_version_taken_from_siblings_is_no_evidence),
          TEST(builds_for_two_cuda_majors_are_mixed_too),
          TEST(two_generations_side_by_side_are_not_mixed), TEST(severity_follows_reach),
          TEST(a_renamed_copy_is_told_and_not_counted_as_mixed),
          TEST(an_elf_name_with_more_version_in_it_is_not_renamed),
          TEST(another_architecture_among_the_right_ones_is_told),
          TEST(a_whole_set_for_another_processor_is_told),
          TEST(headers_of_another_release_are_a_warning),
          TEST(a_build_for_another_cuda_in_a_toolkit_is_critical),
          TEST(the_parent_directory_on_the_path_is_told),
          TEST(a_toolkit_copy_no_path_leads_to_is_told),
          TEST(a_missing_driver_is_critical_only_with_a_device),
          TEST(a_driver_error_says_what_helps), TEST(each_end_of_a_probe_has_its_code),
          TEST(a_probe_that_lacks_the_drivers_library_is_explained_by_the_driver),
          TEST(unreadable_places_are_told_and_skipped_ones_are_not),
          TEST(ids_are_stable_and_unique), TEST(the_services_own_findings_are_put_in_order),
          TEST(commands_quote_paths_for_their_shell),
          TEST(every_rule_is_complete_and_its_code_unique),
          TEST(the_document_of_a_snapshot_has_every_part))
