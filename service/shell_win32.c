/* Windows' service manager and the console.
   Rules of the house: the dispatcher first; the control handler only signals; no controls while
   START_PENDING; RUNNING only when the listener is bound and the store is open; STOPPED once, last,
   with the real exit code, so that recovery actions work. */
#include "service/shell.h"

#include <windows.h>

#include <stdatomic.h>

#include "base/log.h"
#include "base/text.h"
#include "os/clock.h"
#include "os/dirs.h"
#include "os/process.h"
#include "os/secure.h"
#include "os/system_log.h"
#include "os/win32/wide.h"
#include "service/foreground.h"

#define SERVICE_NAME L"cudnnd"
#define EVENT_SOURCE_KEY L"SYSTEM\\CurrentControlSet\\Services\\EventLog\\Application\\cudnnd"

enum { EXIT_FAILED = 1, EXIT_CONFIG = 2, WAIT_MS = 30000, POLL_MS = 100 };

/* ---- the service's own life ---- */

static struct {
    const struct agent_options *options;
    SERVICE_STATUS_HANDLE handle;
    struct agent *_Atomic agent; /* NULL while starting and after stopping */
    SERVICE_STATUS status;
    CRITICAL_SECTION lock; /* of status */
} life;

static void report(DWORD state, DWORD wait_ms, int exit_code)
{
    EnterCriticalSection(&life.lock);
    SERVICE_STATUS *status = &life.status;
    bool pending = state == SERVICE_START_PENDING || state == SERVICE_STOP_PENDING;
    bool accepts = state == SERVICE_RUNNING || state == SERVICE_PAUSED;
    status->dwServiceType = SERVICE_WIN32_OWN_PROCESS;
    status->dwCurrentState = state;
    status->dwControlsAccepted =
        !accepts ? 0
                 : SERVICE_ACCEPT_STOP | SERVICE_ACCEPT_PRESHUTDOWN | SERVICE_ACCEPT_PARAMCHANGE |
                       SERVICE_ACCEPT_PAUSE_CONTINUE | SERVICE_ACCEPT_POWEREVENT;
    status->dwWin32ExitCode = exit_code == 0 ? NO_ERROR : ERROR_SERVICE_SPECIFIC_ERROR;
    status->dwServiceSpecificExitCode = (DWORD)exit_code;
    status->dwCheckPoint = pending ? status->dwCheckPoint + 1 : 0;
    status->dwWaitHint = pending ? wait_ms : 0;
    SetServiceStatus(life.handle, status);
    LeaveCriticalSection(&life.lock);
}

static DWORD pause_or_continue(struct agent *agent, bool paused)
{
    agent_pause(agent, paused);
    report(paused ? SERVICE_PAUSED : SERVICE_RUNNING, 0, 0);
    return NO_ERROR;
}

static DWORD WINAPI on_control(DWORD control, DWORD event_type, void *event_data, void *context)
{
    (void)event_data;
    (void)context;
    struct agent *agent = atomic_load(&life.agent);
    if (agent == NULL) {
        return control == SERVICE_CONTROL_INTERROGATE ? NO_ERROR : ERROR_SERVICE_CANNOT_ACCEPT_CTRL;
    }
    switch (control) {
    case SERVICE_CONTROL_STOP:
    case SERVICE_CONTROL_PRESHUTDOWN:
        report(SERVICE_STOP_PENDING, 5000, 0);
        agent_stop(agent);
        return NO_ERROR;
    case SERVICE_CONTROL_PARAMCHANGE:
        agent_reload(agent);
        return NO_ERROR;
    case SERVICE_CONTROL_PAUSE:
        return pause_or_continue(agent, true);
    case SERVICE_CONTROL_CONTINUE:
        return pause_or_continue(agent, false);
    case SERVICE_CONTROL_POWEREVENT:
        if (event_type == PBT_APMRESUMEAUTOMATIC) {
            agent_resumed(agent);
        }
        return NO_ERROR;
    case SERVICE_CONTROL_INTERROGATE:
        return NO_ERROR;
    default:
        return ERROR_CALL_NOT_IMPLEMENTED;
    }
}

static int exit_code_of(int code)
{
    return code == 0 ? 0 : code == ERR_CONFIG ? EXIT_CONFIG : EXIT_FAILED;
}

static void WINAPI service_main(DWORD argument_count, WCHAR **arguments)
{
    (void)argument_count;
    (void)arguments;
    life.handle = RegisterServiceCtrlHandlerExW(SERVICE_NAME, on_control, NULL);
    if (life.handle == NULL) {
        return;
    }
    report(SERVICE_START_PENDING, 10000, 0);
    struct agent_options options = *life.options;
    struct agent *agent = NULL;
    struct err err = {0};
    options.service = true;
    int code = agent_open(&options, &agent, &err);
    if (code == 0) {
        atomic_store(&life.agent, agent);
        report(SERVICE_RUNNING, 0, 0);
        code = agent_run(agent, &err);
        report(SERVICE_STOP_PENDING, 5000, 0);
        atomic_store(&life.agent, NULL);
        agent_close(agent);
    }
    if (code != 0) {
        log_error("%s", err.message);
        os_system_log(OS_EVENT_FAILED, err.message);
    }
    report(SERVICE_STOPPED, 0, exit_code_of(code));
}

static int run_in_console(const struct agent_options *options)
{
    struct err err = {0};
    int code = foreground_run(options, NULL, &err);
    if (code != 0) {
        fprintf(stderr, "cudnnd: %s\n", err.message);
    }
    return exit_code_of(code);
}

int shell_run(const struct agent_options *options)
{
    SERVICE_TABLE_ENTRYW table[] = {{(WCHAR *)SERVICE_NAME, service_main}, {NULL, NULL}};
    if (!options->service) {
        return run_in_console(options); /* --service stands in the installed command line only */
    }
    life.options = options;
    InitializeCriticalSection(&life.lock);
    if (StartServiceCtrlDispatcherW(table)) {
        return (int)life.status.dwServiceSpecificExitCode;
    }
    if (GetLastError() == ERROR_FAILED_SERVICE_CONTROLLER_CONNECT) {
        return run_in_console(options);
    }
    fprintf(stderr, "cudnnd: the service manager does not answer: error %lu\n", GetLastError());
    return EXIT_FAILED;
}

/* ---- what administrators do with it ---- */

struct service {
    SC_HANDLE manager, service;
};

static void close_service(struct service *service)
{
    if (service->service != NULL) {
        CloseServiceHandle(service->service);
    }
    if (service->manager != NULL) {
        CloseServiceHandle(service->manager);
    }
    *service = (struct service){0};
}

/* The words for the errors an administrator meets; wide.h has the rest. */
static int service_error(struct err *err, const char *what)
{
    DWORD error = GetLastError();
    switch (error) {
    case ERROR_ACCESS_DENIED:
        return err_set(err, ERR_PERMISSION, "%s: this needs an administrator's console", what);
    case ERROR_SERVICE_DOES_NOT_EXIST:
        return err_set(err, ERR_NOT_FOUND,
                       "%s: the service is not installed "
                       "(cudnnd service install)",
                       what);
    case ERROR_SERVICE_EXISTS:
        return err_set(err, ERR_EXISTS, "%s: the service is installed already", what);
    case ERROR_SERVICE_MARKED_FOR_DELETE:
        return err_set(err, ERR_BUSY,
                       "%s: it is being deleted; close other consoles that look at "
                       "services, then try again",
                       what);
    default:
        return wide_error(err, error, "%s", what);
    }
}

static int open_service(DWORD access, struct service *out_service, struct err *err)
{
    out_service->manager = OpenSCManagerW(NULL, NULL, SC_MANAGER_CONNECT);
    if (out_service->manager == NULL) {
        return service_error(err, "cannot reach the service manager");
    }
    out_service->service = OpenServiceW(out_service->manager, SERVICE_NAME, access);
    return out_service->service != NULL ? 0 : service_error(err, "cannot open the service");
}

/* Old systems and Wine know some of these settings only in part: the service works without. */
static void set_option(SC_HANDLE service, DWORD level, void *value, const char *name)
{
    if (!ChangeServiceConfig2W(service, level, value)) {
        log_warning("the service's %s could not be set: error %lu", name, GetLastError());
    }
}

static void set_options(SC_HANDLE service)
{
    SERVICE_DESCRIPTIONW description = {
        (WCHAR *)L"Knows every cuDNN on this machine, says which copy each program loads, and "
                 L"serves it on localhost."};
    SC_ACTION actions[] = {{SC_ACTION_RESTART, 5000},
                           {SC_ACTION_RESTART, 30000},
                           {SC_ACTION_RESTART, 60000},
                           {SC_ACTION_NONE, 0}}; /* a wrong configuration is not tried for ever */
    SERVICE_FAILURE_ACTIONSW failure = {
        .dwResetPeriod = 24 * 3600, .cActions = 4, .lpsaActions = actions};
    SERVICE_FAILURE_ACTIONS_FLAG not_only_crashes = {TRUE};
    SERVICE_DELAYED_AUTO_START_INFO delayed = {TRUE};
    SERVICE_SID_INFO sid = {SERVICE_SID_TYPE_UNRESTRICTED};
    SERVICE_REQUIRED_PRIVILEGES_INFOW privileges = {(WCHAR *)L"SeChangeNotifyPrivilege\0"};
    set_option(service, SERVICE_CONFIG_DESCRIPTION, &description, "description");
    set_option(service, SERVICE_CONFIG_FAILURE_ACTIONS, &failure, "recovery actions");
    set_option(service, SERVICE_CONFIG_FAILURE_ACTIONS_FLAG, &not_only_crashes, "recovery flag");
    set_option(service, SERVICE_CONFIG_DELAYED_AUTO_START_INFO, &delayed, "delayed start");
    set_option(service, SERVICE_CONFIG_SERVICE_SID_INFO, &sid, "service SID");
    set_option(service, SERVICE_CONFIG_REQUIRED_PRIVILEGES_INFO, &privileges,
               "list of required privileges");
}

static int register_event_source(struct arena *arena, const char *program, struct err *err)
{
    HKEY key;
    LSTATUS status = RegCreateKeyExW(HKEY_LOCAL_MACHINE, EVENT_SOURCE_KEY, 0, NULL, 0,
                                     KEY_SET_VALUE, NULL, &key, NULL);
    if (status == ERROR_SUCCESS) {
        const WCHAR *file = wide_from_text(arena, program, err);
        DWORD types = EVENTLOG_ERROR_TYPE | EVENTLOG_WARNING_TYPE | EVENTLOG_INFORMATION_TYPE;
        status = RegSetValueExW(key, L"EventMessageFile", 0, REG_EXPAND_SZ, (const BYTE *)file,
                                (DWORD)((wcslen(file) + 1) * sizeof *file));
        if (status == ERROR_SUCCESS) {
            status = RegSetValueExW(key, L"TypesSupported", 0, REG_DWORD, (const BYTE *)&types,
                                    sizeof types);
        }
        RegCloseKey(key);
    }
    if (status != ERROR_SUCCESS) {
        SetLastError((DWORD)status);
        return service_error(err, "cannot register the event source");
    }
    return 0;
}

/* The account as the service manager wants it. */
static int account_name(const char *wanted, const WCHAR **out_account, struct err *err)
{
    static const struct {
        const char *name;
        const WCHAR *account;
    } accounts[] = {
        {"LocalSystem", NULL},
        {"LocalService", L"NT AUTHORITY\\LocalService"},
        {"NT SERVICE\\cudnnd", L"NT SERVICE\\cudnnd"},
    };
    for (size_t i = 0; i < sizeof accounts / sizeof *accounts; i++) {
        if (text_equal_nocase(wanted == NULL ? "NT SERVICE\\cudnnd" : wanted, accounts[i].name)) {
            *out_account = accounts[i].account;
            return 0;
        }
    }
    return err_set(err, ERR_USAGE,
                   "--account wants 'NT SERVICE\\cudnnd', LocalService or LocalSystem");
}

/* "C:\...\cudnnd.exe" run --service [--config "FILE"]: quoted, because an unquoted path with a
   blank in it starts whatever C:\Program.exe somebody put there. */
static const char *command_line(struct arena *arena, const char *program, const char *config_file)
{
    return config_file == NULL
               ? arena_printf(arena, "\"%s\" run --service", program)
               : arena_printf(arena, "\"%s\" run --service --config \"%s\"", program, config_file);
}

static int create_service(struct arena *arena, const char *command, const WCHAR *account,
                          struct service *out_service, struct err *err)
{
    out_service->manager =
        OpenSCManagerW(NULL, NULL, SC_MANAGER_CONNECT | SC_MANAGER_CREATE_SERVICE);
    if (out_service->manager == NULL) {
        return service_error(err, "cannot reach the service manager");
    }
    out_service->service = CreateServiceW(
        out_service->manager, SERVICE_NAME, L"cudnnd: cuDNN inventory and health",
        SERVICE_ALL_ACCESS, SERVICE_WIN32_OWN_PROCESS, SERVICE_AUTO_START, SERVICE_ERROR_NORMAL,
        wide_from_text(arena, command, err), NULL, NULL, NULL, account, NULL);
    return out_service->service != NULL ? 0 : service_error(err, "cannot install the service");
}

/* The data directory is made now, by an administrator, before anybody else can make it; its access
   list lets the service's account in. */
static int prepare_data_directory(struct arena *arena, struct err *err)
{
    const char *directory = os_dirs_data(arena, true);
    int code = os_secure_directory(directory, err);
    if (code != 0) {
        return err_context(err, "cannot make the data directory '%s'", directory);
    }
    return 0;
}

static int install(struct arena *arena, const struct shell_install_options *options,
                   struct err *err)
{
    char program[4096];
    const WCHAR *account = NULL;
    int code = account_name(options->account, &account, err);
    code = code != 0 ? code : os_process_own_path(program, sizeof program, err);
    if (code != 0) {
        return code;
    }
    struct service service = {0};
    const char *command = command_line(arena, program, options->config_file);
    code = create_service(arena, command, account, &service, err);
    if (code == 0) {
        set_options(service.service);
        code = register_event_source(arena, program, err);
        code = code != 0 ? code : prepare_data_directory(arena, err);
        if (code != 0) {
            DeleteService(service.service); /* all of it or nothing */
            RegDeleteKeyW(HKEY_LOCAL_MACHINE, EVENT_SOURCE_KEY);
        }
    }
    close_service(&service);
    return code;
}

int shell_install(const struct shell_install_options *options, struct err *err)
{
    struct arena arena = {0};
    int code = install(&arena, options, err);
    arena_done(&arena);
    return code;
}

/* Waits until the state is no longer `passing`; the state it came to in *out_status. */
static int wait_while(SC_HANDLE service, DWORD passing, SERVICE_STATUS *out_status, struct err *err)
{
    uint64_t deadline = os_clock_steady_ms() + WAIT_MS;
    do {
        if (!QueryServiceStatus(service, out_status)) {
            return service_error(err, "cannot ask the service");
        }
        if (out_status->dwCurrentState != passing) {
            return 0;
        }
        os_clock_sleep_ms(POLL_MS);
    } while (os_clock_steady_ms() < deadline);
    return err_set(err, ERR_TIMEOUT, "the service does not get on: see the event log");
}

static int stop(SC_HANDLE service, struct err *err)
{
    SERVICE_STATUS status;
    if (!ControlService(service, SERVICE_CONTROL_STOP, &status)) {
        return GetLastError() == ERROR_SERVICE_NOT_ACTIVE
                   ? 0
                   : service_error(err, "cannot stop the service");
    }
    int code = wait_while(service, SERVICE_STOP_PENDING, &status, err);
    code = code != 0 || status.dwCurrentState == SERVICE_STOPPED
               ? code
               : wait_while(service, status.dwCurrentState, &status, err);
    return code != 0 || status.dwCurrentState == SERVICE_STOPPED
               ? code
               : err_set(err, ERR_TIMEOUT, "the service did not stop");
}

int shell_uninstall(struct err *err)
{
    struct service service = {0};
    int code = open_service(SERVICE_STOP | SERVICE_QUERY_STATUS | DELETE, &service, err);
    if (code == 0) {
        code = stop(service.service, err);
        if (code == 0 && !DeleteService(service.service)) {
            code = service_error(err, "cannot uninstall the service");
        }
        if (code == 0) {
            RegDeleteKeyW(HKEY_LOCAL_MACHINE, EVENT_SOURCE_KEY);
        }
    }
    close_service(&service);
    return code;
}

static int start(SC_HANDLE service, struct err *err)
{
    SERVICE_STATUS status;
    if (!StartServiceW(service, 0, NULL)) {
        return GetLastError() == ERROR_SERVICE_ALREADY_RUNNING
                   ? 0
                   : service_error(err, "cannot start the service");
    }
    int code = wait_while(service, SERVICE_START_PENDING, &status, err);
    if (code == 0 && status.dwCurrentState != SERVICE_RUNNING) {
        code = err_set(err, ERR_IO,
                       "the service ended at once with code %lu: the event log says why, and "
                       "`cudnnd run` in a console shows it",
                       status.dwServiceSpecificExitCode);
    }
    return code;
}

int shell_start(struct err *err)
{
    struct service service = {0};
    int code = open_service(SERVICE_START | SERVICE_QUERY_STATUS, &service, err);
    code = code != 0 ? code : start(service.service, err);
    close_service(&service);
    return code;
}

int shell_stop(struct err *err)
{
    struct service service = {0};
    int code = open_service(SERVICE_STOP | SERVICE_QUERY_STATUS, &service, err);
    code = code != 0 ? code : stop(service.service, err);
    close_service(&service);
    return code;
}

int shell_state(enum shell_state *out_state, struct err *err)
{
    static const enum shell_state states[] = {
        [SERVICE_STOPPED] = SHELL_STOPPED,
        [SERVICE_START_PENDING] = SHELL_STARTING,
        [SERVICE_STOP_PENDING] = SHELL_STOPPING,
        [SERVICE_RUNNING] = SHELL_RUNNING,
        [SERVICE_CONTINUE_PENDING] = SHELL_RUNNING,
        [SERVICE_PAUSE_PENDING] = SHELL_PAUSED,
        [SERVICE_PAUSED] = SHELL_PAUSED,
    };
    struct service service = {0};
    SERVICE_STATUS status = {0};
    int code = open_service(SERVICE_QUERY_STATUS, &service, err);
    if (code == ERR_NOT_FOUND) {
        *out_state = SHELL_NOT_INSTALLED;
        code = 0;
    } else if (code == 0 && !QueryServiceStatus(service.service, &status)) {
        code = service_error(err, "cannot ask the service");
    } else if (code == 0) {
        *out_state = states[status.dwCurrentState];
    }
    close_service(&service);
    return code;
}
