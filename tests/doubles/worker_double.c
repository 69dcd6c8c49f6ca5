/* Stands in for cudnnd-worker and behaves as the environment variable CUDNND_TEST_WORKER says:
 *
 *     ok         the document of a healthy answer to the task in the first argument
 *     failed     the document of an answer that says what is wrong
 *     slow       ok, after 300 ms
 *     tell       a document whose error shows the arguments and some environment variables
 *     garbage    text that is no document          empty    nothing, exit status 0
 *     half       a document cut in the middle      types    numbers where texts belong
 *     huge       numbers beyond every range        endless  output without an end
 *     exit       last words on stderr, exit status 3
 *     crash      last words, then the end by a fault
 *     hang       never comes back
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "os/clock.h"
#include "os/process.h"

#ifdef _WIN32
#include <windows.h>
#endif

static const char driver_ok[] =
    "{\"task\":\"driver\",\"status\":\"ok\",\"source\":\"nvml\",\"version\":\"560.94\","
    "\"cuda_version\":\"12.6\",\"model\":\"wddm\",\"error\":null,\"gpus\":[{\"index\":0,"
    "\"name\":\"NVIDIA GeForce RTX 3060\",\"uuid\":\"GPU-1\",\"compute_capability\":\"8.6\","
    "\"memory_bytes\":12884901888,\"pci_bus_id\":\"00000000:01:00.0\",\"status\":\"ok\"}]}";

static const char driver_failed[] =
    "{\"task\":\"driver\",\"status\":\"error\",\"source\":\"nvml\",\"version\":null,"
    "\"cuda_version\":null,\"model\":null,\"error\":\"a GPU is lost\",\"gpus\":[]}";

static const char driver_types[] = "{\"task\":\"driver\",\"status\":\"ok\",\"version\":5,"
                                   "\"gpus\":[]}";

static const char driver_huge[] = "{\"task\":\"driver\",\"status\":\"ok\",\"gpus\":[{\"index\":0,"
                                  "\"memory_bytes\":1e999}]}";

static const char probe_ok[] =
    "{\"task\":\"probe\",\"status\":\"ok\",\"version\":90500,\"cudart_version\":12060,"
    "\"max_compute_capability\":900,\"checks\":{\"graph\":\"CUDNN_STATUS_SUCCESS\","
    "\"ops\":\"CUDNN_STATUS_SUCCESS\",\"cnn\":\"CUDNN_STATUS_SUCCESS\",\"adv\":null},"
    "\"create\":\"CUDNN_STATUS_NOT_INITIALIZED\",\"load_ms\":12,\"error\":null,\"loader_code\":0}";

static const char probe_failed[] =
    "{\"task\":\"probe\",\"status\":\"failed\",\"version\":null,\"cudart_version\":null,"
    "\"max_compute_capability\":null,\"checks\":{},\"create\":null,\"load_ms\":null,"
    "\"error\":\"a library it needs is missing\",\"loader_code\":126}";

static const char probe_types[] = "{\"task\":\"probe\",\"status\":\"ok\",\"version\":\"90500\","
                                  "\"checks\":{}}";

static const char probe_huge[] = "{\"task\":\"probe\",\"status\":\"ok\",\"version\":1e300,"
                                 "\"checks\":{}}";

static const struct {
    const char *mode;
    const char *driver, *probe;
} documents[] = {
    {"ok", driver_ok, probe_ok},
    {"slow", driver_ok, probe_ok},
    {"failed", driver_failed, probe_failed},
    {"types", driver_types, probe_types},
    {"huge", driver_huge, probe_huge},
    {"empty", "", ""},
    {"garbage", "Segmentation fault? no, but {\"task\":", "all is well"},
};

static int last_words(int status)
{
    fputs("Could not locate cudnn_graph64_9.dll.\r\n\tPlease make sure it is in your library "
          "path!\n\n",
          stderr);
    fflush(stderr);
    return status;
}

/* Not the address sanitizer's to report, in a build that has it. */
static int crash(void)
{
    last_words(0);
#ifdef _WIN32
    RaiseException(EXCEPTION_ACCESS_VIOLATION, EXCEPTION_NONCONTINUABLE, 0, NULL);
#endif
    abort();
}

static int shout(void)
{
    while (fputs("all work and no play makes a dull worker\n", stdout) >= 0) {
    }
    return 1;
}

static int half(const char *document)
{
    fwrite(document, 1, strlen(document) / 2, stdout);
    return 0;
}

static void add(char *text, size_t size, const char *name, const char *value)
{
    size_t used = strlen(text);
    snprintf(text + used, size - used, "%s=%s|", name, value == NULL ? "(none)" : value);
}

/* Backslashes become slashes: this is no JSON printer. */
static int say_document(const char *task, int count, char **arguments)
{
    static const char *const names[] = {
        "LD_LIBRARY_PATH",   "LD_PRELOAD",        "CUDNN_LOGLEVEL_DBG", "CUDNN_LOGDEST_DBG",
        "CUDNN_LOGINFO_DBG", "CUDNN_LOGWARN_DBG", "CUDNN_LOGERR_DBG"};
    char text[4000] = "";
    for (int i = 1; i < count; i++) {
        add(text, sizeof text, "argument", arguments[i]);
    }
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        add(text, sizeof text, names[i], getenv(names[i]));
    }
    for (char *at = text; *at != '\0'; at++) {
        *at = *at == '\\' ? '/' : *at;
    }
    bool probe = strcmp(task, "probe") == 0;
    printf("{\"task\":\"%s\",\"status\":\"%s\",\"error\":\"%s\",\"gpus\":[],\"checks\":{}}", task,
           probe ? "failed" : "error", text);
    return 0;
}

static int answer(const char *mode, const char *task)
{
    for (size_t i = 0; i < sizeof documents / sizeof *documents; i++) {
        if (strcmp(documents[i].mode, mode) == 0) {
            bool probe = strcmp(task, "probe") == 0;
            fputs(probe ? documents[i].probe : documents[i].driver, stdout);
            return 0;
        }
    }
    fprintf(stderr, "worker_double: no such mode: '%s'\n", mode);
    return 2;
}

int main(int argc, char **argv)
{
    os_process_prepare();
    const char *mode = getenv("CUDNND_TEST_WORKER");
    const char *task = argc > 1 ? argv[1] : "";
    mode = mode != NULL ? mode : "ok";
    if (strcmp(mode, "hang") == 0) {
        for (;;) {
            os_clock_sleep_ms(60000);
        }
    }
    if (strcmp(mode, "slow") == 0) {
        os_clock_sleep_ms(300);
    }
    if (strcmp(mode, "endless") == 0) {
        return shout();
    }
    if (strcmp(mode, "exit") == 0) {
        return last_words(3);
    }
    if (strcmp(mode, "crash") == 0) {
        return crash();
    }
    if (strcmp(mode, "half") == 0) {
        return half(strcmp(task, "probe") == 0 ? probe_ok : driver_ok);
    }
    return strcmp(mode, "tell") == 0 ? say_document(task, argc, argv) : answer(mode, task);
}
