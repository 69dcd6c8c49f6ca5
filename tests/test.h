#ifndef TESTS_TEST_H
#define TESTS_TEST_H

/* cmocka with what it needs before it, and the one macro the tests share. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* main() of a test program whose tests need no set-up: RUN_TESTS(a, b, ...) with names that are
   sentences. Each is a cmocka_unit_test(). */
#define RUN_TESTS(...)                                                                             \
    int main(void)                                                                                 \
    {                                                                                              \
        const struct CMUnitTest tests[] = {__VA_ARGS__};                                           \
        return cmocka_run_group_tests(tests, NULL, NULL);                                          \
    }

#endif
