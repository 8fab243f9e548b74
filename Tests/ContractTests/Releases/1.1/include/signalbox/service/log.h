/* signalbox/service/log.h - lines in the host's log, marked with the instance's name. */
#ifndef SIGNALBOX_SERVICE_LOG_H
#define SIGNALBOX_SERVICE_LOG_H
#include "../types.h"
struct sbx_host;

#define SBX_LOG_TRACE 0u
#define SBX_LOG_DEBUG 1u
#define SBX_LOG_INFO  2u
#define SBX_LOG_WARN  3u
#define SBX_LOG_ERROR 4u

#define SBX_SVC_LOG "sbx.log/1"
typedef struct sbx_log {
  uint32_t struct_size, reserved;
  /* Would a line of this level be kept? 0 or 1; ask before building an expensive one. Thread: [any]. */
  uint32_t (*enabled)(const struct sbx_host *host, uint32_t level);
  /* `message` is fixed lower-case text, `fields` what varies. Never a token, a secret or a body.
   * Cut at 4 KiB in all; of more than 1,000 lines in ten seconds the others are left out. Thread: [any]. */
  void (*write)(const struct sbx_host *host, uint32_t level, sbx_str message, const sbx_kv *fields, size_t n);
} sbx_log;

#endif
