#include "service/token.h"

#include "base/text.h"
#include "os/file.h"
#include "os/secure.h"

enum { TOKEN_BYTES = 32, TOKEN_LEAST = 16 };

static int make(const char *path, char out_token[TOKEN_TEXT_SIZE], struct err *err)
{
    unsigned char bytes[TOKEN_BYTES];
    char text[TOKEN_BYTES * 2 + 2];
    os_secure_random(bytes, sizeof bytes);
    for (size_t i = 0; i < sizeof bytes; i++) {
        snprintf(text + 2 * i, 3, "%02x", bytes[i]);
    }
    text_copy(out_token, TOKEN_TEXT_SIZE, text);
    text[TOKEN_BYTES * 2] = '\n';
    return os_file_write(path, text, TOKEN_BYTES * 2 + 1, true, err);
}

int token_open(const char *path, char out_token[TOKEN_TEXT_SIZE], struct err *err)
{
    struct arena arena = {0};
    char *text;
    size_t size;
    int code = os_file_read(&arena, path, 4096, &text, &size, err);
    if (code == ERR_NOT_FOUND) {
        code = make(path, out_token, err);
    } else if (code == 0) {
        const char *token = text_strip(text);
        size_t length = strlen(token);
        if (length < TOKEN_LEAST || length >= TOKEN_TEXT_SIZE ||
            strspn(token,
                   "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ-._~+/=") !=
                length) {
            code =
                err_set(err, ERR_FORMAT,
                        "does not hold a token of 16 to 71 characters; delete it to get a new one");
        } else {
            text_copy(out_token, TOKEN_TEXT_SIZE, token);
        }
    }
    arena_done(&arena);
    return code == 0 ? 0 : err_context(err, "cannot use the token file '%s'", path);
}
