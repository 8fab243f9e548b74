/* host PATH PATTERN HEADERS LIBRARY CONFIG [LIBRARY CONFIG]... -- BODY...   (headers: "a:1,b:2")
 * Runs plugins from load to destroy, one after another. Later plugins may build and send what
 * the first one made of the bodies. */
#include "host.h"
#include <dlfcn.h>
#include <time.h>
#include <unistd.h>

struct reach reach;

static const sbx_plugin *load(const char *file, sbx_plugin *known) {
  void *image = dlopen(file, RTLD_NOW | RTLD_LOCAL);
  if (!image) die(dlerror());
  sbx_entry_fn entry;
  *(void **)&entry = dlsym(image, "sbx_plugin_entry_v1");
  if (!entry) die("no sbx_plugin_entry_v1");
  sbx_error *error = edge_error();
  const sbx_plugin *given = entry(make_host(""), error);
  if (!given) {
    print_fault("entry", SBX_E_INTERNAL, error);
    exit(3);
  }
  TAKE(sbx_plugin, taken, given);
  if (taken.abi_major != SBX_ABI_MAJOR || taken.needs_minor > SBX_ABI_MINOR) {
    printf("refused: it needs contract %u.%u; this host has %u.%u\n", taken.abi_major, taken.needs_minor,
           SBX_ABI_MAJOR, SBX_ABI_MINOR);
    exit(3);
  }
  if (taken.flags & ~SBX_F_SERIAL) die("unknown flags");
  *known = taken;
  edge_release();
  return known;
}

static void print_list(const char *name, const char *const *list) {
  printf(" %s=", name);
  for (size_t i = 0; list && list[i]; i++) printf("%s%s", i ? "," : "", list[i]);
}

static int has(const sbx_plugin *plugin, const char *role) {
  for (size_t i = 0; plugin->roles[i]; i++)
    if (strcmp(plugin->roles[i], role) == 0) return plugin->role(role) != NULL;
  return 0;
}

static void begin(struct run *run, const char *config) {
  sbx_error *error = edge_error();
  run->host = make_host("test");
  sbx_str given = edge_text((sbx_str){config, strlen(config)});
  sbx_status status = run->plugin->create(run->host, given, &run->instance, error);
  if (status != SBX_OK) print_fault("create", status, error);
  if (status == SBX_OK && run->plugin->start) {
    status = run->plugin->start(run->instance, error);
    if (status != SBX_OK) print_fault("start", status, error);
  }
  if (status != SBX_OK) exit(3);
  edge_release();
  refresh_credentials(run);
}

static void end(struct run *run) {
  struct timespec now;
  sbx_error *error = edge_error();
  clock_gettime(CLOCK_MONOTONIC, &now);
  uint64_t deadline = (uint64_t)(now.tv_sec + 5) * 1000000000u;
  sbx_status status = run->plugin->stop ? run->plugin->stop(run->instance, deadline, error) : SBX_OK;
  if (status != SBX_OK) print_fault("stop", status, error);
  if (status == SBX_OK && run->plugin->destroy) run->plugin->destroy(run->instance);
  edge_release();
}

static void run_plugin(const char *library, const char *config, char **target, char **bodies) {
  sbx_plugin plugin;
  struct run run = {.plugin = load(library, &plugin)};
  printf("plugin %s %s", plugin.id, plugin.version);
  print_list("roles", plugin.roles);
  print_list("needs", plugin.needs);
  printf("\n");
  begin(&run, config);
  if (has(&plugin, SBX_ROLE_INGEST)) {
    show_paths(&run);
    for (; *bodies; bodies++) ingest(&run, target[0], target[1], target[2], *bodies);
  }
  if (has(&plugin, SBX_ROLE_BUILD)) build(&run);
  if (has(&plugin, SBX_ROLE_SEND_HTTP)) send_all(&run);
  if (has(&plugin, SBX_ROLE_SEND)) deliver_all(&run);
  if (has(&plugin, SBX_ROLE_REGISTER)) report_all(&run);
  end(&run);
}

int main(int argc, char **argv) {
  int bodies = 4;
  /* A plugin that hangs is a failure, not an endless test. */
  alarm(120);
  setvbuf(stdout, NULL, _IOLBF, 0);
  while (bodies < argc && strcmp(argv[bodies], "--") != 0) bodies++;
  if (bodies >= argc || bodies % 2) die("usage: host PATH PATTERN HEADERS [LIBRARY CONFIG]... -- BODY...");
  for (int i = 4; i < bodies; i += 2) run_plugin(argv[i], argv[i + 1], argv + 1, argv + bodies + 1);
  printf("reach with=%u without=%u wrong=%u other=%u\n", reach.with, reach.without, reach.wrong, reach.other);
  return 0;
}
