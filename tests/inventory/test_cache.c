#include "inventory/cache.h"

#include "tests/test.h"

#define PATH "/opt/cudnn/cudnn_ops64_9.dll"
#define NAME "cudnn_ops64_9.dll"

static const struct os_file_info usual = {
    .type = OS_FILE_REGULAR,
    .size_bytes = 1000,
    .modified_at_ms = 1700000000000,
    .device = 7,
    .inode = 42,
};

static struct identity identity_of(const char *internal_name)
{
    return (struct identity){
        .is_library = true,
        .arch = ARCH_X86_64,
        .version = {.part = {9, 5, 0, 50}, .count = 4},
        .version_source = VERSION_SOURCE_RESOURCE,
        .internal_name = internal_name,
        .cuda_major = 12,
        .size_bytes = 1000,
        .modified_at_ms = 1700000000000,
    };
}

static bool known(struct inventory_cache *cache, const char *path, const char *name,
                  const struct os_file_info *info)
{
    struct arena arena = {0};
    struct identity identity;
    bool hit = cache_get(cache, &arena, path, name, info, &identity);
    arena_done(&arena);
    return hit;
}

static void put(struct inventory_cache *cache, const char *path, const char *name,
                const struct os_file_info *info)
{
    struct identity identity = identity_of(name);
    cache_put(cache, path, name, info, &identity);
}

static void an_unchanged_file_is_known_with_all_that_was_said(void **state)
{
    (void)state;
    struct arena arena = {0};
    struct inventory_cache *cache = inventory_cache_new();
    const char *imports[] = {"a.dll", "b.dll"};
    const char *delayed[] = {"c.dll"};
    struct identity in = identity_of("own.dll");
    in.imports = imports;
    in.import_count = 2;
    in.delay_imports = delayed;
    in.delay_import_count = 1;
    in.run_path = "$ORIGIN";
    in.problem = "a problem";
    cache_put(cache, PATH, NAME, &usual, &in);
    struct identity out;
    assert_true(cache_get(cache, &arena, PATH, NAME, &usual, &out));
    assert_true(out.from_cache);
    assert_true(out.is_library);
    assert_int_equal(out.arch, ARCH_X86_64);
    assert_int_equal(out.version.part[3], 50);
    assert_int_equal(out.version_source, VERSION_SOURCE_RESOURCE);
    assert_int_equal(out.cuda_major, 12);
    assert_int_equal(out.size_bytes, 1000);
    assert_int_equal(out.modified_at_ms, 1700000000000);
    assert_string_equal(out.internal_name, "own.dll");
    assert_string_equal(out.run_path, "$ORIGIN");
    assert_string_equal(out.problem, "a problem");
    assert_int_equal(out.import_count, 2);
    assert_string_equal(out.imports[0], "a.dll");
    assert_string_equal(out.imports[1], "b.dll");
    assert_int_equal(out.delay_import_count, 1);
    assert_string_equal(out.delay_imports[0], "c.dll");
    inventory_cache_free(cache);
    arena_done(&arena);
}

static void what_is_missing_stays_missing(void **state)
{
    (void)state;
    struct arena arena = {0};
    struct inventory_cache *cache = inventory_cache_new();
    struct identity in = {0};
    struct identity out;
    cache_put(cache, PATH, NAME, &usual, &in);
    assert_true(cache_get(cache, &arena, PATH, NAME, &usual, &out));
    assert_null(out.internal_name);
    assert_null(out.problem);
    assert_null(out.run_path);
    assert_int_equal(out.import_count, 0);
    assert_false(version_known(out.version));
    inventory_cache_free(cache);
    arena_done(&arena);
}

static void a_changed_file_is_not_known(void **state)
{
    (void)state;
    struct os_file_info changes[5];
    struct inventory_cache *cache = inventory_cache_new();
    put(cache, PATH, NAME, &usual);
    for (size_t i = 0; i < 5; i++) {
        changes[i] = usual;
    }
    changes[0].size_bytes++;
    changes[1].modified_at_ms++;
    changes[2].inode++;
    changes[3].device++;
    changes[4].modified_at_ms -= 1000; /* an older file put in its place */
    for (size_t i = 0; i < 5; i++) {
        assert_false(known(cache, PATH, NAME, &changes[i]));
    }
    assert_true(known(cache, PATH, NAME, &usual));
    inventory_cache_free(cache);
}

static void another_path_or_name_is_another_question(void **state)
{
    (void)state;
    struct inventory_cache *cache = inventory_cache_new();
    assert_false(known(cache, PATH, NAME, &usual));
    put(cache, PATH, NAME, &usual);
    assert_false(known(cache, PATH "x", NAME, &usual));
    assert_false(known(cache, PATH, "cudnn64_9.dll", &usual));
    put(cache, PATH, "cudnn64_9.dll", &usual);
    assert_int_equal(cache_count(cache), 2);
    assert_true(known(cache, PATH, NAME, &usual));
    assert_true(known(cache, PATH, "cudnn64_9.dll", &usual));
    inventory_cache_free(cache);
}

static void what_is_put_again_replaces_what_was_known(void **state)
{
    (void)state;
    struct arena arena = {0};
    struct inventory_cache *cache = inventory_cache_new();
    struct os_file_info newer = usual;
    struct identity identity = identity_of("new.dll");
    struct identity out;
    newer.modified_at_ms++;
    put(cache, PATH, NAME, &usual);
    cache_put(cache, PATH, NAME, &newer, &identity);
    assert_int_equal(cache_count(cache), 1);
    assert_false(known(cache, PATH, NAME, &usual));
    assert_true(cache_get(cache, &arena, PATH, NAME, &newer, &out));
    assert_string_equal(out.internal_name, "new.dll");
    inventory_cache_free(cache);
    arena_done(&arena);
}

static void what_it_gives_and_takes_is_independent_of_it(void **state)
{
    (void)state;
    struct arena arena = {0};
    struct inventory_cache *cache = inventory_cache_new();
    char name[] = "own.dll";
    char path[] = PATH;
    char import[] = "a.dll";
    const char *imports[] = {import};
    struct identity identity = identity_of(name);
    struct identity out;
    identity.imports = imports;
    identity.import_count = 1;
    cache_put(cache, path, NAME, &usual, &identity);
    memset(name, 'x', sizeof name);
    memset(path, 'x', sizeof path);
    memset(import, 'x', sizeof import);
    imports[0] = NULL;
    assert_true(cache_get(cache, &arena, PATH, NAME, &usual, &out));
    inventory_cache_free(cache);
    assert_string_equal(out.internal_name, "own.dll");
    assert_string_equal(out.imports[0], "a.dll");
    arena_done(&arena);
}

static void what_two_scans_did_not_ask_for_is_dropped(void **state)
{
    (void)state;
    struct inventory_cache *cache = inventory_cache_new();
    cache_begin_scan(cache);
    put(cache, PATH, NAME, &usual);
    put(cache, "/other", NAME, &usual);
    for (unsigned scan = 0; scan < 2; scan++) {
        cache_begin_scan(cache);
        assert_int_equal(cache_count(cache), 2);
        assert_true(known(cache, "/other", NAME, &usual));
    }
    cache_begin_scan(cache);
    assert_int_equal(cache_count(cache), 1);
    assert_false(known(cache, PATH, NAME, &usual));
    assert_true(known(cache, "/other", NAME, &usual));
    inventory_cache_free(cache);
}

/* A scan that finds a file changed and gone again must not keep it alive by asking. */
static void a_question_about_another_state_does_not_keep_an_entry(void **state)
{
    (void)state;
    struct inventory_cache *cache = inventory_cache_new();
    struct os_file_info changed = usual;
    changed.size_bytes++;
    cache_begin_scan(cache);
    put(cache, PATH, NAME, &usual);
    for (unsigned scan = 0; scan < 2; scan++) {
        cache_begin_scan(cache);
        assert_false(known(cache, PATH, NAME, &changed));
    }
    cache_begin_scan(cache);
    assert_int_equal(cache_count(cache), 0);
    inventory_cache_free(cache);
}

/* More of one path, and more of one name, than there are buckets. */
static bool ask_one_of_many(struct inventory_cache *cache, unsigned number, bool remember)
{
    char path[32];
    char name[32];
    struct os_file_info info = usual;
    snprintf(path, sizeof path, "/%u", number % 2 == 0 ? 0 : number);
    snprintf(name, sizeof name, "%u.dll", number % 2 == 0 ? number : 1);
    info.inode = number;
    if (remember) {
        put(cache, path, name, &info);
    }
    return known(cache, path, name, &info);
}

static void many_files_are_told_apart(void **state)
{
    (void)state;
    enum { FILES = 5000 };
    struct inventory_cache *cache = inventory_cache_new();
    cache_begin_scan(cache);
    for (unsigned i = 0; i < FILES; i++) {
        assert_true(ask_one_of_many(cache, i, true));
    }
    assert_int_equal(cache_count(cache), FILES);
    cache_begin_scan(cache);
    cache_begin_scan(cache);
    for (unsigned i = 0; i < FILES; i += 3) {
        assert_true(ask_one_of_many(cache, i, false));
    }
    cache_begin_scan(cache);
    assert_int_equal(cache_count(cache), (FILES + 2) / 3);
    inventory_cache_free(cache);
}

static void no_cache_can_be_freed(void **state)
{
    (void)state;
    inventory_cache_free(NULL);
}

RUN_TESTS(cmocka_unit_test(an_unchanged_file_is_known_with_all_that_was_said),
          cmocka_unit_test(what_is_missing_stays_missing),
          cmocka_unit_test(a_changed_file_is_not_known),
          cmocka_unit_test(another_path_or_name_is_another_question),
          cmocka_unit_test(what_is_put_again_replaces_what_was_known),
          cmocka_unit_test(what_it_gives_and_takes_is_independent_of_it),
          cmocka_unit_test(what_two_scans_did_not_ask_for_is_dropped),
          cmocka_unit_test(a_question_about_another_state_does_not_keep_an_entry),
          cmocka_unit_test(many_files_are_told_apart), cmocka_unit_test(no_cache_can_be_freed))
