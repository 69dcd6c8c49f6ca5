#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <windows.h>

#include "base/text.h"
#include "os/clock.h"
#include "os/dirs.h"
#include "os/env.h"
#include "os/host.h"
#include "os/path.h"
#include "os/process.h"
#include "os/registry.h"
#include "os/system_log.h"
#include "os/terminal.h"
#include "os/thread.h"

static int setup(void **state)
{
    static struct arena arena;
    *state = &arena;
    return 0;
}

static int teardown(void **state)
{
    arena_done(*state);
    return 0;
}

static bool is_wine(void)
{
    return GetProcAddress(GetModuleHandleW(L"ntdll.dll"), "wine_get_version") != NULL;
}

static void set(HKEY root, const wchar_t *key, const wchar_t *name, DWORD type, const wchar_t *text,
                size_t size)
{
    assert_int_equal(RegSetKeyValueW(root, key, name, type, text, (DWORD)size), 0);
}

#define SET(root, key, name, type, text) set(root, key, name, type, text, sizeof text)

/* Also when the test failed: every later program would inherit what is left. */
static int forget_variables(void **state)
{
    static const wchar_t *const names[] = {L"CUDNND_TRY_ROOT", L"CUDNND_TRY_PATH",
                                           L"CUDNND_TRY_LOOP", L"CUDNND_TRY_PLAIN"};
    (void)state;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        RegDeleteKeyValueW(HKEY_CURRENT_USER, L"Environment", names[i]);
    }
    return 0;
}

static void the_accounts_variables_are_expanded_with_todays_values(void **state)
{
    static const wchar_t key[] = L"Environment";
    SET(HKEY_CURRENT_USER, key, L"CUDNND_TRY_ROOT", REG_SZ, L"C:\\new");
    SET(HKEY_CURRENT_USER, key, L"CUDNND_TRY_PATH", REG_EXPAND_SZ,
        L"%CUDNND_TRY_ROOT%\\bin;%SystemRoot%;%CUDNND_NONE%;100%");
    SET(HKEY_CURRENT_USER, key, L"CUDNND_TRY_LOOP", REG_EXPAND_SZ, L"%CUDNND_TRY_LOOP%x");
    SET(HKEY_CURRENT_USER, key, L"CUDNND_TRY_PLAIN", REG_SZ, L"%SystemRoot%");
    SetEnvironmentVariableW(L"CUDNND_TRY_ROOT", L"C:\\old");
    const char *root = os_env_get(*state, NULL, OS_ENV_PROCESS, "SystemRoot");
    assert_non_null(root);
    assert_string_equal(os_env_get(*state, NULL, OS_ENV_USER, "cudnnd_try_path"),
                        arena_printf(*state, "C:\\new\\bin;%s;%%CUDNND_NONE%%;100%%", root));
    assert_string_equal(os_env_get(*state, NULL, OS_ENV_USER, "CUDNND_TRY_PLAIN"), "%SystemRoot%");
    assert_non_null(os_env_get(*state, NULL, OS_ENV_USER, "CUDNND_TRY_LOOP"));
    assert_string_equal(os_env_get(*state, NULL, OS_ENV_PROCESS, "cudnnd_TRY_root"), "C:\\old");
    assert_null(os_env_get(*state, NULL, OS_ENV_MACHINE, "CUDNND_TRY_ROOT"));
    struct os_env_variable *items = NULL;
    size_t count = 0;
    os_env_list(*state, NULL, OS_ENV_USER, "CUDNND_try_P", &items, &count);
    assert_int_equal(count, 2);
    assert_string_equal(items[0].name, "CUDNND_TRY_PATH");
    assert_string_equal(items[1].name, "CUDNND_TRY_PLAIN");
    os_env_list(*state, NULL, OS_ENV_PROCESS, "cudnnd_try", &items, &count);
    assert_int_equal(count, 1);
}

static void the_machines_path_is_read_and_expanded(void **state)
{
    const char *path = os_env_get(*state, NULL, OS_ENV_MACHINE, "Path");
    assert_non_null(path);
    assert_null(strchr(path, '%'));
}

static void registry_texts_and_subkeys_are_read(void **state)
{
    static const wchar_t key[] = L"Software\\cudnnd-test";
    SET(HKEY_CURRENT_USER, key, L"", REG_SZ, L"default");
    SET(HKEY_CURRENT_USER, key, L"expand", REG_EXPAND_SZ, L"<%SystemRoot%>");
    RegSetKeyValueW(HKEY_CURRENT_USER, key, L"open", REG_SZ, L"abc", 6); /* no final NUL */
    RegSetKeyValueW(HKEY_CURRENT_USER, key, L"number", REG_DWORD, "1234", 4);
    SET(HKEY_CURRENT_USER, L"Software\\cudnnd-test\\\x6DF1", L"", REG_SZ, L"x");
    const char *path = "HKCU\\Software\\cudnnd-test";
    assert_string_equal(os_registry_text(*state, path, ""), "default");
    assert_string_equal(os_registry_text(*state, path, "open"), "abc");
    assert_null(os_registry_text(*state, path, "number"));
    assert_null(os_registry_text(*state, path, "none"));
    assert_null(os_registry_text(*state, "HKCU\\Software\\cudnnd-none", ""));
    assert_null(os_registry_text(*state, "HKXX\\Software", ""));
    assert_null(strchr(os_registry_text(*state, path, "expand"), '%'));
    char **names = NULL;
    size_t count = 0;
    os_registry_subkeys(*state, path, &names, &count);
    assert_int_equal(count, 1);
    assert_string_equal(names[0], "\xE6\xB7\xB1");
    os_registry_subkeys(*state, "HKU", &names, &count);
    assert_true(count > 0);
    RegDeleteTreeW(HKEY_CURRENT_USER, key);
}

static void the_host_is_known(void **state)
{
    struct os_host host, again;
    os_host_read(*state, NULL, &host);
    os_clock_sleep_ms(50);
    os_host_read(*state, NULL, &again);
    assert_non_null(host.name);
    assert_string_equal(host.os_name, "Windows");
    assert_true(text_has_prefix(host.os_version, "10.0.") || is_wine());
    assert_string_equal(host.arch, "x86_64");
    assert_non_null(host.boot_id);
    assert_string_equal(host.boot_id, again.boot_id);
}

/* Only under Wine, whose device list is empty: a real machine's would be asked. */
static void a_display_device_of_nvidia_is_found_in_the_registry(void **state)
{
    (void)state;
    if (!is_wine()) {
        skip();
    }
    const wchar_t *gpu = L"SYSTEM\\CurrentControlSet\\Enum\\PCI\\VEN_10DE&DEV_2684&SUBSYS_1\\4&1";
    const wchar_t *sound = L"SYSTEM\\CurrentControlSet\\Enum\\PCI\\VEN_10DE&DEV_22BA&SUBSYS_1\\4&2";
    assert_int_equal(os_host_nvidia_device(NULL), OS_HOST_ABSENT);
    SET(HKEY_LOCAL_MACHINE, sound, L"HardwareID", REG_MULTI_SZ,
        L"PCI\\VEN_10DE&DEV_22BA\0PCI\\VEN_10DE&DEV_22BA&CC_040300\0");
    assert_int_equal(os_host_nvidia_device(NULL), OS_HOST_ABSENT);
    SET(HKEY_LOCAL_MACHINE, gpu, L"HardwareID", REG_MULTI_SZ,
        L"PCI\\VEN_10DE&DEV_2684\0PCI\\VEN_10DE&DEV_2684&CC_030000\0");
    assert_int_equal(os_host_nvidia_device(NULL), OS_HOST_PRESENT);
    RegDeleteKeyValueW(HKEY_LOCAL_MACHINE, gpu, L"HardwareID");
    assert_int_equal(os_host_nvidia_device(NULL), OS_HOST_ABSENT);
    SET(HKEY_LOCAL_MACHINE, gpu, L"ClassGUID", REG_SZ, L"{4D36E968-E325-11CE-BFC1-08002BE10318}");
    assert_int_equal(os_host_nvidia_device(NULL), OS_HOST_PRESENT);
    RegDeleteTreeW(HKEY_LOCAL_MACHINE,
                   L"SYSTEM\\CurrentControlSet\\Enum\\PCI\\VEN_10DE&DEV_2684&SUBSYS_1");
    RegDeleteTreeW(HKEY_LOCAL_MACHINE,
                   L"SYSTEM\\CurrentControlSet\\Enum\\PCI\\VEN_10DE&DEV_22BA&SUBSYS_1");
}

static void the_systems_directories_are_found(void **state)
{
    char **homes = NULL;
    size_t count = 0;
    assert_true(text_has_suffix_nocase(os_dirs_data(*state, true), "\\ProgramData\\cudnnd"));
    assert_true(text_has_suffix_nocase(os_dirs_data(*state, false), "\\AppData\\Local\\cudnnd"));
    assert_true(text_has_suffix_nocase(os_dirs_config_file(*state, true),
                                       "\\ProgramData\\cudnnd\\cudnnd.yml"));
    assert_true(text_has_suffix_nocase(os_dirs_program_files(*state), ":\\Program Files"));
    assert_true(text_has_suffix_nocase(os_dirs_system(*state), "\\system32"));
    os_dirs_homes(*state, NULL, &homes, &count);
    assert_true(count >= 1);
    assert_true(os_path_is_absolute(homes[0]));
}

static void clocks_go_forward(void **state)
{
    (void)state;
    uint64_t us = os_clock_steady_us(), ms = os_clock_steady_ms();
    os_clock_sleep_ms(60);
    uint64_t passed_us = os_clock_steady_us() - us, passed_ms = os_clock_steady_ms() - ms;
    assert_true(passed_us >= 50000 && passed_us < 5000000);
    assert_true(passed_ms >= 40 && passed_ms < 5000);
    assert_true(os_clock_wall_ms() > INT64_C(1700000000000));
}

static void what_cannot_be_checked_does_no_harm(void **state)
{
    (void)state;
    os_system_log(OS_EVENT_STARTED, "a test\xFF of the event log");
    os_thread_name("test");
    os_thread_background();
    os_process_drop_rights();
    os_process_drop_rights();
    assert_true(os_terminal_columns() > 0);
    assert_false(os_terminal_is_interactive(NULL));
}

int main(void)
{
    os_process_prepare();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(the_accounts_variables_are_expanded_with_todays_values,
                                  forget_variables),
        cmocka_unit_test(the_machines_path_is_read_and_expanded),
        cmocka_unit_test(registry_texts_and_subkeys_are_read),
        cmocka_unit_test(the_host_is_known),
        cmocka_unit_test(a_display_device_of_nvidia_is_found_in_the_registry),
        cmocka_unit_test(the_systems_directories_are_found),
        cmocka_unit_test(clocks_go_forward),
        cmocka_unit_test(what_cannot_be_checked_does_no_harm),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
