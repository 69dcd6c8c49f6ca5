/* systemd and the foreground. */
#include "service/shell.h"

#include <errno.h>
#include <stddef.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/text.h"
#include "os/file.h"
#include "os/process.h"
#include "os/secure.h"
#include "os/system_log.h"
#include "packaging/systemd/cudnnd.service.h"
#include "service/foreground.h"

#define UNIT_PATH "/etc/systemd/system/cudnnd.service"

/* What a service manager reads from the exit status: 2 = do not start again with the same
   configuration (the unit's RestartPreventExitStatus). */
enum { EXIT_FAILED = 1, EXIT_CONFIG = 2 };

/* sd_notify(3), "Notes": one datagram to the socket that NOTIFY_SOCKET names. */
static void notify(const char *state)
{
    const char *path = getenv("NOTIFY_SOCKET");
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    if (path == NULL || (path[0] != '/' && path[0] != '@') ||
        !text_copy(address.sun_path, sizeof address.sun_path, path)) {
        return;
    }
    size_t size = offsetof(struct sockaddr_un, sun_path) + strlen(path);
    if (path[0] == '@') {
        address.sun_path[0] = '\0'; /* abstract name */
    }
    int descriptor = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (descriptor >= 0) {
        (void)sendto(descriptor, state, strlen(state), MSG_NOSIGNAL, (struct sockaddr *)&address,
                     (socklen_t)size);
        close(descriptor);
    }
}

static void on_running(struct agent *agent)
{
    (void)agent;
    notify("READY=1\nSTATUS=listening");
}

int shell_run(const struct agent_options *options)
{
    struct agent_options chosen = *options;
    struct err err = {0};
    chosen.service = options->service || getenv("NOTIFY_SOCKET") != NULL || geteuid() == 0;
    int code = foreground_run(&chosen, on_running, &err);
    notify("STOPPING=1");
    if (code == 0) {
        return 0;
    }
    fprintf(stderr, "cudnnd: %s\n", err.message);
    if (getenv("NOTIFY_SOCKET") != NULL) {
        os_system_log(OS_EVENT_FAILED, err.message);
    }
    return code == ERR_CONFIG ? EXIT_CONFIG : EXIT_FAILED;
}

/* Runs systemctl; its exit status in *out_status. */
static int systemctl(const char *verb, const char *unit, uint32_t *out_status, char *out_text,
                     size_t text_size, struct err *err)
{
    static const char *const places[] = {"/usr/bin/systemctl", "/bin/systemctl"};
    const char *program = access(places[0], X_OK) == 0 ? places[0] : places[1];
    const char *const arguments[] = {verb, unit, NULL};
    struct os_process_spec spec = {
        .program = program, .arguments = arguments, .timeout_ms = 90000, .output_bytes = 65536};
    struct os_process_result result = {0};
    if (os_process_run(&spec, &result, err) != 0) {
        return err_set(err, ERR_UNSUPPORTED,
                       "systemctl cannot be run: is systemd the service manager here? `cudnnd run` "
                       "works in the foreground under any other");
    }
    *out_status = result.end == OS_PROCESS_EXITED ? result.code : 255;
    if (out_text != NULL) {
        text_copy(out_text, text_size, result.output == NULL ? "" : text_strip(result.output));
    }
    int code = 0;
    if (*out_status != 0 && out_text == NULL) {
        char *last_words = text_strip(result.error_tail);
        code = err_set(err, ERR_IO, "systemctl %s failed: %s", verb,
                       *last_words == '\0' ? "see: systemctl status cudnnd" : last_words);
    }
    os_process_result_done(&result);
    return code;
}

static int need_root(struct err *err)
{
    return os_secure_is_administrator()
               ? 0
               : err_set(err, ERR_PERMISSION, "this needs root: run it with sudo");
}

/* systemd's quoting of one word in ExecStart (systemd.service(5), "Command lines"). */
static const char *unit_word(struct arena *arena, const char *text)
{
    char *word = arena_alloc(arena, strlen(text) * 2 + 3);
    size_t used = 0;
    word[used++] = '"';
    for (; *text != '\0'; text++) {
        if (strchr("\"\\%$", *text) != NULL) {
            word[used++] = *text == '%' || *text == '$' ? *text : '\\';
        }
        word[used++] = *text;
    }
    word[used++] = '"';
    word[used] = '\0';
    return word;
}

/* The unit file with its two marks replaced. */
static const char *unit_text(struct arena *arena, const char *program, const char *config_file)
{
    const char *template = packaging_systemd_cudnnd;
    const char *exec = strstr(template, "ExecStart=@PROGRAM@ run@ARGUMENTS@");
    size_t before = (size_t)(exec - template);
    const char *after = exec + strlen("ExecStart=@PROGRAM@ run@ARGUMENTS@");
    return arena_printf(arena, "%.*sExecStart=%s run%s%s%s", (int)before, template,
                        unit_word(arena, program), config_file == NULL ? "" : " --config ",
                        config_file == NULL ? "" : unit_word(arena, config_file), after);
}

static int reload_units(struct err *err)
{
    uint32_t status;
    return systemctl("daemon-reload", NULL, &status, NULL, 0, err);
}

int shell_install(const struct shell_install_options *options, struct err *err)
{
    char program[4096];
    int code = need_root(err);
    code = code != 0 ? code : os_process_own_path(program, sizeof program, err);
    if (code != 0) {
        return code;
    }
    if (options->account != NULL) {
        return err_set(err, ERR_USAGE, "--account is for Windows; edit %s instead", UNIT_PATH);
    }
    struct arena arena = {0};
    const char *text = unit_text(&arena, program, options->config_file);
    code = os_file_write(UNIT_PATH, text, strlen(text), false, err);
    if (code != 0) {
        code = err_context(err, "cannot write %s", UNIT_PATH);
    }
    arena_done(&arena);
    uint32_t status;
    code = code != 0 ? code : reload_units(err);
    return code != 0 ? code : systemctl("enable", "cudnnd.service", &status, NULL, 0, err);
}

int shell_uninstall(struct err *err)
{
    uint32_t status;
    int code = need_root(err);
    if (code != 0) {
        return code;
    }
    enum shell_state state;
    code = shell_state(&state, err);
    if (code == 0 && state == SHELL_NOT_INSTALLED) {
        return err_set(err, ERR_NOT_FOUND, "the service is not installed");
    }
    char ignored[256];
    systemctl("stop", "cudnnd.service", &status, ignored, sizeof ignored, NULL);
    systemctl("disable", "cudnnd.service", &status, ignored, sizeof ignored, NULL);
    code = os_file_remove(UNIT_PATH, err);
    return code != 0 ? code : reload_units(err);
}

int shell_start(struct err *err)
{
    uint32_t status;
    int code = need_root(err);
    return code != 0 ? code : systemctl("start", "cudnnd.service", &status, NULL, 0, err);
}

int shell_stop(struct err *err)
{
    uint32_t status;
    int code = need_root(err);
    return code != 0 ? code : systemctl("stop", "cudnnd.service", &status, NULL, 0, err);
}

int shell_state(enum shell_state *out_state, struct err *err)
{
    static const struct {
        const char *word;
        enum shell_state state;
    } words[] = {
        {"active", SHELL_RUNNING},      {"reloading", SHELL_RUNNING},
        {"activating", SHELL_STARTING}, {"deactivating", SHELL_STOPPING},
        {"inactive", SHELL_STOPPED},    {"failed", SHELL_STOPPED},
    };
    struct os_file_info info;
    if (os_file_stat(UNIT_PATH, &info, NULL) != 0) {
        *out_state = SHELL_NOT_INSTALLED;
        return 0;
    }
    uint32_t status;
    char text[64];
    int code = systemctl("is-active", "cudnnd.service", &status, text, sizeof text, err);
    for (size_t i = 0; code == 0 && i < sizeof words / sizeof *words; i++) {
        if (text_equal(words[i].word, text)) {
            *out_state = words[i].state;
            return 0;
        }
    }
    return code != 0 ? code : err_set(err, ERR_IO, "systemctl answered '%s'", text);
}
