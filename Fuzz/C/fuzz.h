/* fuzz.h - what the targets in C have in common. */
#ifndef FUZZ_H
#define FUZZ_H
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Ends the process, which libFuzzer reports as a crash, unless a property holds. */
#define REQUIRE(is_so, words)                                             \
  do {                                                                    \
    if (!(is_so)) fprintf(stderr, "broken property: %s\n", words), abort(); \
  } while (0)

#endif
