/* cudnnd.yml: two levels at most, `section: {option: value}` or `option: value`. libyaml gives a
   tree of nodes with their places in the file; aliases are resolved by it. */
#include <yaml.h>

#include "base/cleanup.h"
#include "base/printf.h"
#include "base/text.h"
#include "config/config.h"
#include "config/value.h"
#include "os/file.h"

enum { FILE_BYTES = 1024 * 1024, LIST_ITEMS = 1024 };

struct reader {
    struct arena *arena;
    const char *name; /* of the file */
    yaml_document_t document;
    bool *seen; /* by option index: a key twice is an error */
    struct config *config;
};

static int fail(const struct reader *reader, const yaml_node_t *node, struct err *err,
                const char *format, ...) PRINTF_LIKE(4, 5);

static int fail(const struct reader *reader, const yaml_node_t *node, struct err *err,
                const char *format, ...)
{
    char text[400];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    return err_set(err, ERR_CONFIG, "%s:%zu:%zu: %s", reader->name, node->start_mark.line + 1,
                   node->start_mark.column + 1, text);
}

static yaml_node_t *node_at(struct reader *reader, int index)
{
    return yaml_document_get_node(&reader->document, index);
}

/* NULL unless the node is a scalar without a NUL inside. */
static const char *scalar_text(const yaml_node_t *node)
{
    if (node->type != YAML_SCALAR_NODE ||
        strlen((const char *)node->data.scalar.value) != node->data.scalar.length) {
        return NULL;
    }
    return (const char *)node->data.scalar.value;
}

/* null, ~ and nothing, unless quoted. */
static bool is_null(const yaml_node_t *node)
{
    const char *text = scalar_text(node);
    return text != NULL && node->data.scalar.style == YAML_PLAIN_SCALAR_STYLE &&
           (text_equal(text, "") || text_equal(text, "null") || text_equal(text, "~"));
}

static const char *nearest_key(const char *key)
{
    const char *best = NULL;
    size_t best_distance = 4; /* further away is no help */
    const char *last = strrchr(key, '.');
    for (size_t i = 0; i < config_option_count; i++) {
        const char *known = config_options[i].key;
        size_t distance = text_distance(key, known);
        const char *known_last = strrchr(known, '.');
        /* `interval` for `scan.interval`: the right name in the wrong section. */
        if (text_equal(last == NULL ? key : last + 1,
                       known_last == NULL ? known : known_last + 1)) {
            distance = distance < 3 ? distance : 3;
        }
        if (distance < best_distance) {
            best = known;
            best_distance = distance;
        }
    }
    return best;
}

static int unknown_key(struct reader *reader, const yaml_node_t *node, const char *key,
                       struct err *err)
{
    const char *near = nearest_key(key);
    if (near == NULL) {
        return fail(reader, node, err, "there is no option '%.80s' (see: cudnnd config defaults)",
                    key);
    }
    return fail(reader, node, err, "there is no option '%.80s', did you mean '%s'?", key, near);
}

static int read_list(struct reader *reader, const struct config_option *option, yaml_node_t *node,
                     struct err *err)
{
    const char *items[LIST_ITEMS];
    size_t count = 0;
    if (node->type != YAML_SEQUENCE_NODE) {
        return fail(reader, node, err, "%s wants a list: [a, b]", option->key);
    }
    for (yaml_node_item_t *item = node->data.sequence.items.start;
         item < node->data.sequence.items.top; item++) {
        yaml_node_t *child = node_at(reader, *item);
        if (count == LIST_ITEMS || scalar_text(child) == NULL || is_null(child)) {
            return fail(reader, child, err, "%s wants a list of texts", option->key);
        }
        items[count++] = scalar_text(child);
    }
    if (value_set_list(reader->arena, option, items, count, reader->config, err) != 0) {
        char why[400];
        text_copy(why, sizeof why, err == NULL ? "" : err->message);
        return fail(reader, node, err, "%s: %s", option->key, why);
    }
    return 0;
}

static int read_value(struct reader *reader, const struct config_option *option, yaml_node_t *node,
                      struct err *err)
{
    size_t index = (size_t)(option - config_options);
    if (reader->seen[index]) {
        return fail(reader, node, err, "%s is given twice", option->key);
    }
    reader->seen[index] = true;
    if (value_is_list(option->type)) {
        return is_null(node) ? 0 : read_list(reader, option, node, err);
    }
    if (scalar_text(node) == NULL) {
        return fail(reader, node, err, "%s wants one value", option->key);
    }
    if (is_null(node)) {
        return 0; /* the default stays */
    }
    struct err why = {0};
    if (value_set_scalar(reader->arena, option, scalar_text(node), reader->config, &why) != 0) {
        return fail(reader, node, err, "%s %s", option->key, why.message);
    }
    return 0;
}

static const struct config_option *find_option(const char *key)
{
    for (size_t i = 0; i < config_option_count; i++) {
        if (text_equal(config_options[i].key, key)) {
            return &config_options[i];
        }
    }
    return NULL;
}

static bool is_section(const char *name)
{
    size_t length = strlen(name);
    for (size_t i = 0; i < config_option_count; i++) {
        if (text_has_prefix(config_options[i].key, name) && config_options[i].key[length] == '.') {
            return true;
        }
    }
    return false;
}

static int read_mapping(struct reader *reader, yaml_node_t *mapping, const char *section,
                        struct err *err)
{
    for (yaml_node_pair_t *pair = mapping->data.mapping.pairs.start;
         pair < mapping->data.mapping.pairs.top; pair++) {
        yaml_node_t *key_node = node_at(reader, pair->key);
        yaml_node_t *value_node = node_at(reader, pair->value);
        const char *name = scalar_text(key_node);
        if (name == NULL) {
            return fail(reader, key_node, err, "a key must be a text");
        }
        const char *key =
            section == NULL ? name : arena_printf(reader->arena, "%s.%.80s", section, name);
        const struct config_option *option = find_option(key);
        int code;
        if (option != NULL) {
            code = read_value(reader, option, value_node, err);
        } else if (section != NULL || !is_section(name)) {
            code = unknown_key(reader, key_node, key, err);
        } else if (is_null(value_node)) {
            code = 0; /* `scan:` with nothing below it */
        } else if (value_node->type != YAML_MAPPING_NODE) {
            code =
                fail(reader, value_node, err, "'%s' is a section: it wants options below it", name);
        } else {
            code = read_mapping(reader, value_node, name, err);
        }
        if (code != 0) {
            return code;
        }
    }
    return 0;
}

static int read_document(struct reader *reader, struct err *err)
{
    yaml_node_t *root = yaml_document_get_root_node(&reader->document);
    if (root == NULL || is_null(root)) {
        return 0; /* an empty file, or comments only */
    }
    if (root->type != YAML_MAPPING_NODE) {
        return fail(reader, root, err, "the file must hold options: 'scan: {interval: 15m}'");
    }
    return read_mapping(reader, root, NULL, err);
}

static int load_document(yaml_parser_t *parser, struct reader *reader, struct err *err)
{
    if (yaml_parser_load(parser, &reader->document)) {
        return 0;
    }
    return err_set(err, ERR_CONFIG, "%s:%zu:%zu: not valid YAML: %s", reader->name,
                   parser->problem_mark.line + 1, parser->problem_mark.column + 1,
                   parser->problem == NULL ? "unreadable" : parser->problem);
}

/* A second document would be read over without a word. */
static int check_end(yaml_parser_t *parser, struct reader *reader, struct err *err)
{
    yaml_document_t next;
    if (!yaml_parser_load(parser, &next)) {
        return err_set(err, ERR_CONFIG, "%s:%zu:%zu: not valid YAML", reader->name,
                       parser->problem_mark.line + 1, parser->problem_mark.column + 1);
    }
    yaml_node_t *root = yaml_document_get_root_node(&next);
    int code = root == NULL ? 0 : fail(reader, root, err, "the file holds more than one document");
    yaml_document_delete(&next);
    return code;
}

int config_parse(struct arena *arena, const char *name, const char *text, size_t size,
                 struct config *out_config, struct err *err)
{
    struct config config;
    config_defaults(arena, &config);
    if (!text_utf8_valid(text, size)) {
        return err_set(err, ERR_CONFIG, "%s: not UTF-8; save the file as UTF-8", name);
    }
    yaml_parser_t parser;
    if (!yaml_parser_initialize(&parser)) {
        return err_set(err, ERR_INTERNAL, "out of memory");
    }
    yaml_parser_set_encoding(&parser, YAML_UTF8_ENCODING);
    yaml_parser_set_input_string(&parser, (const unsigned char *)text, size);
    struct reader reader = {
        .arena = arena,
        .name = name,
        .seen = arena_alloc(arena, config_option_count * sizeof(bool)),
        .config = &config,
    };
    int code = load_document(&parser, &reader, err);
    if (code == 0) {
        code = read_document(&reader, err);
        if (code == 0 && yaml_document_get_root_node(&reader.document) != NULL) {
            code = check_end(&parser, &reader, err);
        }
        yaml_document_delete(&reader.document);
    }
    yaml_parser_delete(&parser);
    if (code == 0) {
        *out_config = config;
    }
    return code;
}

int config_load(struct arena *arena, const char *path, bool must_exist, struct config *out_config,
                struct err *err)
{
    char *text;
    size_t size;
    struct err why = {0};
    int code = os_file_read(arena, path, FILE_BYTES, &text, &size, &why);
    if (code == ERR_NOT_FOUND && !must_exist) {
        config_defaults(arena, out_config);
        return 0;
    }
    if (code != 0) {
        return err_set(err, ERR_CONFIG, "cannot read the configuration '%s': %s", path,
                       why.message);
    }
    return config_parse(arena, path, text, size, out_config, err);
}
