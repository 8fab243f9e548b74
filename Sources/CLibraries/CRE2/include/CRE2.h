/* CRE2.h - RE2 for callers that speak C. No exception leaves it.
 *
 * A pattern never changes once it is made, so any number of threads may match with it at once. */
#ifndef SIGNALBOX_CRE2_H
#define SIGNALBOX_CRE2_H
#include <stddef.h>
#include <stdint.h>
#ifdef __cplusplus
extern "C" {
#endif

typedef struct cre_pattern cre_pattern;

/* Reads a regular expression; NULL: out of memory. memory_max bounds the program that it becomes
 * together with what matching caches. */
cre_pattern *cre_pattern_new(const char *bytes, size_t length, int64_t memory_max);
void cre_pattern_free(cre_pattern *pattern);

/* Why it cannot be used, or NULL. *part is then the part at fault, which may be empty; it belongs to
 * the pattern. */
const char *cre_pattern_fault(const cre_pattern *pattern, const char **part, size_t *part_length);

/* Whether some part of the text matches; of a pattern without a fault. */
int cre_pattern_matches(const cre_pattern *pattern, const char *bytes, size_t length);

#ifdef __cplusplus
}
#endif
#endif
