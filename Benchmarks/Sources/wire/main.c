/* Both ends of a measurement, cheaper than the program between them: `wire load` sends webhooks,
 * `wire sink` receives pushes. */
#include "wire.h"
#include <stdio.h>
#include <string.h>

int main(int argc, char **argv) {
  if (argc > 1 && strcmp(argv[1], "sink") == 0) return sink_main(argc - 1, argv + 1);
  if (argc > 1 && strcmp(argv[1], "load") == 0) return load_main(argc - 1, argv + 1);
  return fprintf(stderr, "usage: wire sink|load ...\n"), 64;
}
