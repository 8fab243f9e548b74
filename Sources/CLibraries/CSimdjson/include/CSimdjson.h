/* CSimdjson.h - simdjson's DOM for callers that speak C. No exception leaves it.
 *
 * A parser owns one document at a time; values point into it and die with the next parse or with
 * the parser. A parser is for one thread at a time; documents are only read, so by any number of threads. */
#ifndef SIGNALBOX_CSIMDJSON_H
#define SIGNALBOX_CSIMDJSON_H
#include <stddef.h>
#include <stdint.h>
#ifdef __cplusplus
extern "C" {
#endif

typedef struct csj_parser csj_parser;

/* Laid out like sbx_json_value. */
typedef struct csj_value {
  const void *document;
  uint64_t position;
} csj_value;

/* Laid out like sbx_json_cursor. */
typedef struct csj_cursor {
  uint64_t state[4];
} csj_cursor;

enum {
  CSJ_NULL = 0,
  CSJ_BOOLEAN = 1,
  CSJ_INTEGER = 2,
  CSJ_NUMBER = 3,
  CSJ_STRING = 4,
  CSJ_ARRAY = 5,
  CSJ_OBJECT = 6
};

csj_parser *csj_parser_new(void);
void csj_parser_free(csj_parser *parser);

/* 0; 1: half a surrogate pair (\ud83d alone) was read as U+FFFD; or -1, and *fault points to static text.
 * The bytes are copied. */
int csj_parse(csj_parser *parser, const char *bytes, size_t length, size_t depth_max, csj_value *root,
              const char **fault);

/* A copy of the document whose root this is: one piece of memory, no larger than need be, that lives until
 * csj_release(). Its root has the same position. NULL: there is no memory. */
const void *csj_keep(csj_value root);
void csj_release(const void *document);

uint32_t csj_kind(csj_value value);
/* These return 0, or -1: another kind, or no such element. */
int csj_string(csj_value value, const char **bytes, size_t *length);
int csj_integer(csj_value value, int64_t *out);
int csj_boolean(csj_value value, uint32_t *out);
int csj_at(csj_value value, const char *pointer, size_t length, csj_value *out);
/* The first member of that name, and the element at that place. */
int csj_member(csj_value value, const char *name, size_t length, csj_value *out);
int csj_element(csj_value value, size_t index, csj_value *out);
uint64_t csj_count(csj_value value);
int csj_first(csj_value value, csj_cursor *cursor);
int csj_next(csj_cursor *cursor, const char **key, size_t *key_length, csj_value *value);
/* The value's JSON without spaces, in memory of this thread that lives until its next csj_text(). */
int csj_text(csj_value value, const char **bytes, size_t *length);

#ifdef __cplusplus
}
#endif
#endif
