#pragma once
#include <stddef.h>
#include <stdint.h>

// Of libFuzzer: runs `one` with inputs until the flags in `arguments` say that it is enough.
int LLVMFuzzerRunDriver(int *count, char ***arguments, int (*one)(const uint8_t *data, size_t size));
