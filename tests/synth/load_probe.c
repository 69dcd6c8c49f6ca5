/* Loads libraries from one directory the way a Windows program does, and prints what they answer:
 * `name loaded version text`, where version and text come from cudnnGetVersion and
 * cudnnGetErrorString, or `name error CODE`. Built and used by test_synth.py only.
 */
#include <stdio.h>
#include <windows.h>

int wmain(int argc, wchar_t **argv);

int wmain(int argc, wchar_t **argv)
{
    SetDllDirectoryW(argc > 1 ? argv[1] : NULL);
    for (int i = 2; i < argc; i++) {
        HMODULE library = LoadLibraryExW(argv[i], NULL, 0);
        if (library == NULL) {
            printf("%ls error %lu\n", argv[i], GetLastError());
            continue;
        }
        int (*version)(void) = (int (*)(void))(void *)GetProcAddress(library, "cudnnGetVersion");
        const char *(*text)(int) =
            (const char *(*)(int))(void *)GetProcAddress(library, "cudnnGetErrorString");
        printf("%ls loaded %d %s\n", argv[i], version != NULL ? version() : -1,
               text != NULL ? text(0) : "-");
    }
    return 0;
}
