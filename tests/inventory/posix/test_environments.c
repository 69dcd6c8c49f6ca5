/* Python and conda environments, and which package a cuDNN in them belongs to. */
#include "tests/inventory/posix/disk.h"

#define SITE "/lib/python3.11/site-packages"

/* A virtual environment with the wheel nvidia-cudnn-cu12. */
static void make_wheel(struct disk *disk, const char *environment, const char *package,
                       const char *version)
{
    struct arena *arena = &disk->arena;
    disk_text(
        disk,
        arena_printf(arena, "%s" SITE "/%s-%s.dist-info/RECORD", environment, package, version),
        "");
}

/* Makes the environments of a home known, as conda does. */
static void list_environments(struct disk *disk, const char *text)
{
    disk_text(disk, "/home/somebody/.conda/environments.txt", text);
}

static void a_wheel_owns_the_directory_it_fills(void **state)
{
    (void)state;
    struct disk disk = disk_make();
    static const char lib[] = "/home/somebody/.pyenv/versions/3.11.9" SITE "/nvidia/cudnn/lib";
    disk_cudnn(&disk, lib, NULL, 0);
    make_wheel(&disk, "/home/somebody/.pyenv/versions/3.11.9", "nvidia_cudnn_cu12", "9.5.0.50");
    make_wheel(&disk, "/home/somebody/.pyenv/versions/3.11.9", "nvidia_cublas_cu12", "12.6.4.1");
    disk_scan(&disk, NULL);
    const struct install *install = disk_install(&disk, lib);
    assert_int_equal(install->kind, INSTALL_WHEEL);
    assert_string_equal(install->owner_type, "wheel");
    assert_string_equal(install->owner_name, "nvidia-cudnn-cu12 9.5.0.50");
    assert_string_equal(install->owner_path, "/home/somebody/.pyenv/versions/3.11.9" SITE
                                             "/nvidia_cudnn_cu12-9.5.0.50.dist-info");
    assert_true(install->in_environment);
    assert_string_equal(install->environment, "/home/somebody/.pyenv/versions/3.11.9");
    assert_int_equal(install->cuda_major, 12); /* its libraries do not say */
    assert_string_equal(install->cuda_major_source, "owner");
    assert_false(install->on_search_path);
    disk_done(&disk);
}

static void of_two_wheels_in_one_directory_the_one_of_its_version_owns_it(void **state)
{
    (void)state;
    struct disk disk = disk_make();
    static const char lib[] = "/opt/conda" SITE "/nvidia/cudnn/lib";
    disk_cudnn(&disk, lib, "9.4.0", 11);
    make_wheel(&disk, "/opt/conda", "nvidia_cudnn_cu11", "9.4.0.58");
    make_wheel(&disk, "/opt/conda", "nvidia_cudnn_cu12", "9.5.0.50");
    disk_scan(&disk, NULL);
    assert_string_equal(disk_install(&disk, lib)->owner_name, "nvidia-cudnn-cu11 9.4.0.58");

    make_wheel(&disk, "/opt/conda", "nvidia_cudnn_cu13", "9.4.0.58"); /* the same release */
    disk_scan(&disk, NULL);
    assert_string_equal(disk_install(&disk, lib)->owner_name, "nvidia-cudnn-cu11 9.4.0.58");
    disk_done(&disk);
}

static void torch_says_its_version_and_cuda_in_version_py(void **state)
{
    (void)state;
    struct disk disk = disk_make();
    static const char lib[] = "/usr/local" SITE "/torch/lib";
    disk_cudnn(&disk, lib, NULL, 0);
    disk_text(&disk, "/usr/local" SITE "/torch/version.py",
              "from typing import Optional\n\n__all__ = ['__version__', 'cuda']\n"
              "__version__ = '2.4.1+cu124'\ndebug = False\ncuda: Optional[str] = '12.4'\n");
    make_wheel(&disk, "/usr/local", "torch", "2.4.1");
    disk_scan(&disk, NULL);
    const struct install *install = disk_install(&disk, lib);
    assert_int_equal(install->kind, INSTALL_TORCH);
    assert_string_equal(install->owner_type, "torch");
    assert_string_equal(install->owner_name, "torch 2.4.1+cu124");
    assert_int_equal(install->cuda_major, 12);
    disk_done(&disk);
}

static void libraries_vendored_into_a_wheel_are_the_packages(void **state)
{
    (void)state;
    struct disk disk = disk_make();
    static const char lib[] = "/usr/local" SITE "/ctranslate2.libs";
    disk_library(&disk, lib, "", "9.1.0", 0);
    make_wheel(&disk, "/usr/local", "ctranslate2", "4.5.0");
    disk_scan(&disk, NULL);
    const struct install *install = disk_install(&disk, lib);
    assert_int_equal(install->kind, INSTALL_APP);
    assert_string_equal(install->owner_name, "ctranslate2 4.5.0");
    assert_false(install->complete);
    disk_done(&disk);
}

static void a_conda_package_owns_what_lies_in_its_environments_lib(void **state)
{
    (void)state;
    struct disk disk = disk_make();
    disk_cudnn(&disk, "/data/env 1/lib", "9.3.0", 0);
    disk_text(&disk, "/data/env 1/conda-meta/libcudnn-9.3.0.75-h0_0.json",
              "{\"name\": \"libcudnn\", \"version\": \"9.3.0.75\","
              " \"depends\": [\"libcublas\", \"cuda-version >=12,<13.0a0\"]}");
    disk_text(&disk, "/data/env 1/conda-meta/cudnn-9.3.0.75-h0_0.json",
              "{\"name\": \"cudnn\", \"version\": \"9.3.0.75\"}");
    disk_text(&disk, "/data/env 1/conda-meta/broken-cudnn-1-0.json", "{");
    list_environments(&disk, "/data/gone\r\n/data/env 1\r\n\nrelative\n");
    disk_scan(&disk, NULL);
    const struct install *install = disk_install(&disk, "/data/env 1/lib");
    assert_int_equal(install->kind, INSTALL_CONDA);
    assert_string_equal(install->owner_type, "conda");
    assert_string_equal(install->owner_name, "libcudnn 9.3.0.75");
    assert_string_equal(install->environment, "/data/env 1");
    assert_int_equal(install->cuda_major, 12);
    assert_int_equal(disk.inventory.problem_count, 0);
    disk_done(&disk);
}

static void a_conda_base_leads_to_its_environments(void **state)
{
    (void)state;
    struct disk disk = disk_make();
    disk_text(&disk, "/home/somebody/miniconda3/conda-meta/history", "");
    disk_text(&disk, "/home/somebody/miniconda3/envs/a/conda-meta/history", "");
    disk_cudnn(&disk, "/home/somebody/miniconda3/envs/a/lib", "9.3.0", 12);
    disk_scan(&disk, NULL);
    const struct install *install = disk_install(&disk, "/home/somebody/miniconda3/envs/a/lib");
    assert_int_equal(install->kind, INSTALL_CONDA);
    assert_null(install->owner_type); /* put there by hand: no package says it is its own */
    disk_done(&disk);
}

static void a_virtual_environment_leads_to_its_base(void **state)
{
    (void)state;
    struct disk disk = disk_make();
    static const char lib[] = "/data/python/lib/python3.11/site-packages/nvidia/cudnn/lib";
    disk_cudnn(&disk, lib, "9.5.0", 12);
    disk_text(&disk, "/data/python/bin/python3.11", "");
    disk_directory(&disk, "/data/venv" SITE);
    disk_text(&disk, "/data/venv/pyvenv.cfg",
              "include-system-site-packages = false\r\nHome = /data/python/bin\r\n");
    list_environments(&disk, "/data/venv");
    disk_scan(&disk, NULL);
    assert_string_equal(disk_install(&disk, lib)->environment, "/data/python");
    disk_done(&disk);
}

static void site_packages_reached_by_two_names_are_one(void **state)
{
    (void)state;
    struct disk disk = disk_make();
    static const char lib[] = "/data/venv" SITE "/nvidia/cudnn/lib";
    disk_cudnn(&disk, lib, "9.5.0", 12);
    disk_link(&disk, "/data/venv/lib64", "lib");
    disk_link(&disk, "/data/other-name", "venv");
    list_environments(&disk, "/data/other-name\n/data/venv\n");
    disk_scan(&disk, NULL);
    assert_int_equal(disk.inventory.install_count, 1);
    assert_string_equal(disk.inventory.installs[0].path, lib);
    disk_done(&disk);
}

static void a_plain_prefix_is_no_conda_environment(void **state)
{
    (void)state;
    struct disk disk = disk_make();
    disk_directory(&disk, "/usr" SITE);
    disk_cudnn(&disk, "/usr/lib", "9.5.0", 12);
    disk_scan(&disk, NULL);
    assert_int_equal(disk_install(&disk, "/usr/lib")->kind, INSTALL_SYSTEM);
    assert_false(disk_install(&disk, "/usr/lib")->in_environment);
    disk_done(&disk);
}

RUN_TESTS(cmocka_unit_test(a_wheel_owns_the_directory_it_fills),
          cmocka_unit_test(of_two_wheels_in_one_directory_the_one_of_its_version_owns_it),
          cmocka_unit_test(torch_says_its_version_and_cuda_in_version_py),
          cmocka_unit_test(libraries_vendored_into_a_wheel_are_the_packages),
          cmocka_unit_test(a_conda_package_owns_what_lies_in_its_environments_lib),
          cmocka_unit_test(a_conda_base_leads_to_its_environments),
          cmocka_unit_test(a_virtual_environment_leads_to_its_base),
          cmocka_unit_test(site_packages_reached_by_two_names_are_one),
          cmocka_unit_test(a_plain_prefix_is_no_conda_environment))
