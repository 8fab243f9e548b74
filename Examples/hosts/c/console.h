#include <signalbox/plugin.h>

const sbx_plugin *console_entry(const sbx_host *host, sbx_error *error);
