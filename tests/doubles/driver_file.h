/* What the doubles of NVML and of the CUDA driver have in common: the machine they pretend to be.
 *
 * The file named in CUDNND_TEST_DRIVER holds `key=value` lines, written by tests/cases/driver.py:
 *
 *     version=560.94      cuda=12.6      model=wddm|tcc|mcdm      count=1
 *     fault=hang|crash|library_mismatch|gpu_lost
 *     gpu.0.name=...      gpu.0.uuid=GPU-...      gpu.0.pci=00000000:01:00.0
 *     gpu.0.compute=8.6   gpu.0.memory_mib=12288
 *
 * A key that is not there is a field the driver does not answer. Everything is static: each double
 * is one .c file, compiled to one library. The file is read again at every initialisation, so a
 * test may change the machine between two of them.
 */
#ifndef TESTS_DOUBLES_DRIVER_FILE_H
#define TESTS_DOUBLES_DRIVER_FILE_H

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifdef _WIN32
#include <windows.h>
#define DOUBLE_EXPORT __declspec(dllexport)
#else
#include <unistd.h>
#define DOUBLE_EXPORT __attribute__((visibility("default")))
#endif

#define DRIVER_FILE_MAX 65536

static char driver_text[DRIVER_FILE_MAX];

static FILE *driver_file_open(void)
{
#ifdef _WIN32
    wchar_t path[4096];
    DWORD length = GetEnvironmentVariableW(L"CUDNND_TEST_DRIVER", path, 4096);
    return length > 0 && length < 4096 ? _wfopen(path, L"rb") : NULL;
#else
    const char *path = getenv("CUDNND_TEST_DRIVER");
    return path != NULL ? fopen(path, "rb") : NULL;
#endif
}

static bool driver_file_read(void)
{
    FILE *file = driver_file_open();
    if (file == NULL) {
        return false;
    }
    size_t length = fread(driver_text, 1, sizeof driver_text - 1, file);
    driver_text[length] = '\0';
    fclose(file);
    return true;
}

/* Copies the value of `key` and says whether it was there and fitted. */
static bool driver_value(const char *key, char *out, size_t size)
{
    size_t key_length = strlen(key);
    const char *line = driver_text;
    while (*line != '\0') {
        size_t length = strcspn(line, "\n");
        if (length > key_length && line[key_length] == '=' && strncmp(line, key, key_length) == 0) {
            size_t value_length = length - key_length - 1;
            if (value_length >= size) {
                return false;
            }
            memcpy(out, line + key_length + 1, value_length);
            out[value_length] = '\0';
            return true;
        }
        line += length + (line[length] == '\n');
    }
    return false;
}

static bool driver_gpu_value(unsigned index, const char *field, char *out, size_t size)
{
    char key[64];
    snprintf(key, sizeof key, "gpu.%u.%s", index, field);
    return driver_value(key, out, size);
}

static unsigned driver_gpu_count(void)
{
    char count[16];
    return driver_value("count", count, sizeof count) ? (unsigned)strtoul(count, NULL, 10) : 0;
}

/* "12.6" -> 12 and 6. */
static bool driver_pair(const char *text, int *out_major, int *out_minor)
{
    return sscanf(text, "%d.%d", out_major, out_minor) == 2;
}

/* 12.6 -> 12060, as both libraries write a CUDA version; 0 when the file has none. */
static int driver_cuda_version(void)
{
    char text[32];
    int major = 0;
    int minor = 0;
    if (!driver_value("cuda", text, sizeof text) || !driver_pair(text, &major, &minor)) {
        return 0;
    }
    return major * 1000 + minor * 10;
}

static bool driver_has_fault(const char *fault)
{
    char text[32];
    return driver_value("fault", text, sizeof text) && strcmp(text, fault) == 0;
}

/* The faults that no return code can describe. Called first by every exported function. */
static void driver_enter(void)
{
    if (driver_text[0] == '\0') {
        driver_file_read();
    }
    while (driver_has_fault("hang")) {
#ifdef _WIN32
        Sleep(INFINITE);
#else
        pause();
#endif
    }
    if (driver_has_fault("crash")) {
#ifdef _WIN32
        RaiseException(EXCEPTION_ACCESS_VIOLATION, EXCEPTION_NONCONTINUABLE, 0, NULL);
#endif
        abort();
    }
}

#endif
