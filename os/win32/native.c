#include "os/win32/native.h"

void native_close(HANDLE *handle)
{
    if (*handle != NULL && *handle != INVALID_HANDLE_VALUE) {
        CloseHandle(*handle);
    }
    *handle = NULL;
}

void native_close_key(HKEY *key)
{
    if (*key != NULL) {
        RegCloseKey(*key);
    }
    *key = NULL;
}

void native_local_free(void *pointer_to_pointer)
{
    HLOCAL *memory = pointer_to_pointer;
    LocalFree(*memory);
    *memory = NULL;
}

uint64_t native_join(DWORD high, DWORD low)
{
    return (uint64_t)high << 32 | low;
}

int64_t native_unix_ms(FILETIME time)
{
    /* FILETIME counts 100 ns since 1601-01-01. */
    const int64_t unix_epoch = INT64_C(116444736000000000);
    return ((int64_t)native_join(time.dwHighDateTime, time.dwLowDateTime) - unix_epoch) / 10000;
}

native_function *native_find(const wchar_t *library, const char *name)
{
    HMODULE module = GetModuleHandleW(library);
    if (module == NULL) {
        module = LoadLibraryExW(library, NULL, LOAD_LIBRARY_SEARCH_SYSTEM32);
    }
    return module == NULL ? NULL : (native_function *)GetProcAddress(module, name);
}
