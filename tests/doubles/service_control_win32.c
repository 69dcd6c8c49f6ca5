/* Sends one control code to a service, as programs of administrators do: Wine's sc.exe knows only
   a few. usage: service_control_win32 NAME CODE (2 pause, 3 continue, 6 parameters changed) */
#include <windows.h>

#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv)
{
    wchar_t name[64];
    if (argc != 3 || mbstowcs(name, argv[1], 64) >= 64) {
        return 2;
    }
    DWORD code = strtoul(argv[2], NULL, 10);
    DWORD access =
        code == SERVICE_CONTROL_INTERROGATE ? SERVICE_INTERROGATE : SERVICE_PAUSE_CONTINUE;
    SERVICE_STATUS status;
    SC_HANDLE manager = OpenSCManagerW(NULL, NULL, SC_MANAGER_CONNECT);
    SC_HANDLE service = manager == NULL ? NULL : OpenServiceW(manager, name, access);
    if (service == NULL || !ControlService(service, code, &status)) {
        printf("error %lu\n", GetLastError());
        return 1;
    }
    printf("state %lu\n", status.dwCurrentState);
    CloseServiceHandle(service);
    CloseServiceHandle(manager);
    return 0;
}
