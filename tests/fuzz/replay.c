/* Runs a fuzz target over the files of its corpus, without the fuzzer: what it once found is tried
   again in every run of the tests. usage: replay FILE_OR_DIRECTORY... */
#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static size_t inputs;

/* A block of exactly the file's size, so that the sanitizer sees a read behind its end. */
static void replay_file(const char *path, size_t size)
{
    FILE *file = fopen(path, "rb");
    uint8_t *data = malloc(size > 0 ? size : 1);
    if (file == NULL || data == NULL || fread(data, 1, size, file) != size) {
        fprintf(stderr, "replay: cannot read %s\n", path);
        exit(1);
    }
    fclose(file);
    LLVMFuzzerTestOneInput(data, size);
    free(data);
    inputs++;
}

static void replay(const char *path)
{
    struct stat info;
    DIR *directory = opendir(path);
    if (directory == NULL) {
        if (stat(path, &info) != 0 || !S_ISREG(info.st_mode)) {
            fprintf(stderr, "replay: %s is neither a file nor a directory\n", path);
            exit(1);
        }
        replay_file(path, (size_t)info.st_size);
        return;
    }
    for (struct dirent *entry; (entry = readdir(directory)) != NULL;) {
        char name[4096];
        snprintf(name, sizeof name, "%s/%s", path, entry->d_name);
        if (stat(name, &info) == 0 && S_ISREG(info.st_mode)) {
            replay_file(name, (size_t)info.st_size);
        }
    }
    closedir(directory);
}

int main(int argc, char **argv)
{
    for (int i = 1; i < argc; i++) {
        replay(argv[i]);
    }
    printf("%zu inputs\n", inputs);
    if (inputs == 0) {
        fprintf(stderr, "replay: there is nothing to replay\n");
        return 1;
    }
    return 0;
}
