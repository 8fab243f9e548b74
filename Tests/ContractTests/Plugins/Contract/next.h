/* next.h - what a later minor appends. Tests derive such headers from the current
 * ones: they define SBX_NEXT, and every struct that may grow ends with next_number and
 * more fields after it.
 *
 * Both sides fill these fields in everything they pass on (FUTURE), so a reader that ignores
 * struct_size and stride reads nonsense. They also count how far the structs they receive reach
 * (SEE). WRONG_STRIDE and WRONG_SIZE are mistakes that the tests must catch. */
#ifndef NEXT_H
#define NEXT_H
#include <signalbox/plugin.h>
#include <stdlib.h>
#include <string.h>

/* Counts the other side's structs: with the appended fields, without them, with nonsense in
 * them, and with another size than here. */
struct reach {
  unsigned with, without, wrong, other;
};
extern struct reach reach;

#define SIZED(p) ((void)(reach.other += (p)->struct_size != sizeof *(p)))

#ifdef SBX_NEXT
#define MARK 0xa5a5a5a5a5a5a5a5u
#define FUTURE(s) memset(&(s)->next_number, 0xa5, sizeof *(s) - offsetof(__typeof__(*(s)), next_number))
#ifdef WRONG_SIZE
#define REACHES(p) 1
#else
#define REACHES(p) SBX_HAS(p, next_number)
#endif
#define SEE(p) \
  (SIZED(p), !REACHES(p) ? reach.without++ \
   : (p)->next_number == (__typeof__((p)->next_number))MARK ? reach.with++ : reach.wrong++)
#else
#define FUTURE(s) ((void)(s))
#define SEE(p) SIZED(p)
#endif

#ifdef WRONG_STRIDE
#undef SBX_AT
#define SBX_AT(type, base, i, stride) ((void)(stride), (const type *)(base) + (i))
#endif

#endif
