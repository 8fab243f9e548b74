/* CAllocator.h - the malloc of the signalbox program: jemalloc.
 *
 * Whoever links this target has it for all of the process, plugins and C libraries too. Memory goes from one
 * thread to the next here - an event is read on one, kept on a second, sent on a third - and glibc's malloc
 * locks the arena that a piece came from whenever another thread gives it back. */
#ifndef SIGNALBOX_CALLOCATOR_H
#define SIGNALBOX_CALLOCATOR_H

/* "5.3.0-0-g...", if malloc is jemalloc's; NULL if something else stands in front of it, as tools that watch memory
 * do. Owner: the allocator; lives as long as the process. Thread: any. */
const char *allocator_version(void);

#endif
