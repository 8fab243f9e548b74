/* The two commands of this program. */
#ifndef WIRE_H
#define WIRE_H
int sink_main(int argc, char **argv);
int load_main(int argc, char **argv);
#endif
