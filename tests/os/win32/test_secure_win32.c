#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <windows.h>

#include <aclapi.h>
#include <sddl.h>

#include "os/file.h"
#include "os/path.h"
#include "os/secure.h"
#include "os/win32/wide.h"

struct place {
    struct arena arena;
    char *directory;
};

/* Not below the temporary directory: Wine's may be reached through others' directories. */
static int setup(void **state)
{
    static struct place place;
    place.directory = arena_printf(&place.arena, "C:\\ProgramData\\cudnnd-test-%lu",
                                   (unsigned long)GetCurrentProcessId());
    *state = &place;
    return 0;
}

static int teardown(void **state)
{
    struct place *place = *state;
    RemoveDirectoryW(wide_path(&place->arena, place->directory, NULL));
    arena_done(&place->arena);
    return 0;
}

static void give_everyone(struct place *place, const wchar_t *rights)
{
    PSECURITY_DESCRIPTOR descriptor = NULL;
    PACL list = NULL;
    BOOL present = FALSE, defaulted = FALSE;
    assert_true(ConvertStringSecurityDescriptorToSecurityDescriptorW(rights, SDDL_REVISION_1,
                                                                     &descriptor, NULL));
    GetSecurityDescriptorDacl(descriptor, &present, &list, &defaulted);
    assert_int_equal(
        SetNamedSecurityInfoW(wide_path(&place->arena, place->directory, NULL), SE_FILE_OBJECT,
                              DACL_SECURITY_INFORMATION | PROTECTED_DACL_SECURITY_INFORMATION, NULL,
                              NULL, list, NULL),
        0);
    LocalFree(descriptor);
}

static void our_own_directory_is_private_and_stays_usable(void **state)
{
    struct place *place = *state;
    struct err err = {0};
    const char *reason = NULL;
    assert_int_equal(os_secure_directory(place->directory, &err), 0);
    assert_int_equal(os_secure_directory(place->directory, &err), 0);
    const char *file = os_path_join(&place->arena, place->directory, "x");
    assert_int_equal(os_file_write(file, "x", 1, true, &err), 0);
    assert_true(os_secure_is_trusted(&place->arena, place->directory, &reason));
    assert_true(os_secure_is_trusted(&place->arena, file, &reason));
    assert_int_equal(os_file_remove(file, &err), 0);
}

static void a_directory_that_everyone_can_write_to_is_told_and_repaired(void **state)
{
    struct place *place = *state;
    struct err err = {0};
    const char *reason = NULL;
    assert_int_equal(os_secure_directory(place->directory, &err), 0);
    give_everyone(place, L"D:P(A;OICI;FA;;;SY)(A;OICI;FA;;;BA)(A;OICI;FA;;;WD)");
    assert_false(os_secure_is_trusted(&place->arena, place->directory, &reason));
    assert_non_null(strstr(reason, "can be changed by Everyone"));
    assert_non_null(strstr(reason, place->directory));
    assert_int_equal(os_secure_directory(place->directory, &err), 0);
    assert_true(os_secure_is_trusted(&place->arena, place->directory, &reason));
}

static void what_is_no_directory_of_ours_is_refused(void **state)
{
    struct place *place = *state;
    struct err err = {0};
    assert_int_equal(os_file_write(place->directory, "x", 1, false, &err), ERR_PERMISSION);
    RemoveDirectoryW(wide_path(&place->arena, place->directory, NULL));
    assert_int_equal(os_file_write(place->directory, "x", 1, false, &err), 0);
    assert_int_equal(os_secure_directory(place->directory, &err), ERR_EXISTS);
    assert_int_equal(os_file_remove(place->directory, &err), 0);
}

static void the_systems_directories_are_trusted(void **state)
{
    struct place *place = *state;
    const char *reason = "";
    assert_true(os_secure_is_trusted(&place->arena, "C:\\Program Files", &reason));
    assert_true(os_secure_is_trusted(&place->arena, "C:\\windows\\system32", &reason));
    assert_true(
        os_secure_is_trusted(&place->arena, "C:\\windows\\system32\\kernel32.dll", &reason));
    assert_false(os_secure_is_trusted(&place->arena, "C:\\no such thing", &reason));
}

static void random_bytes_differ(void **state)
{
    unsigned char a[32] = {0}, b[32] = {0};
    (void)state;
    os_secure_random(a, sizeof a);
    os_secure_random(b, sizeof b);
    assert_memory_not_equal(a, b, sizeof a);
    (void)os_secure_is_administrator();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(our_own_directory_is_private_and_stays_usable),
        cmocka_unit_test(a_directory_that_everyone_can_write_to_is_told_and_repaired),
        cmocka_unit_test(what_is_no_directory_of_ours_is_refused),
        cmocka_unit_test(the_systems_directories_are_trusted),
        cmocka_unit_test(random_bytes_differ),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
