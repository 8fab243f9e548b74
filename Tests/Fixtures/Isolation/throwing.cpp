// A C++ plugin that lets an exception leave a call of the contract, which no plugin may do.
#include <signalbox/plugin.h>

#include <cstring>
#include <new>
#include <stdexcept>
#include <string>

struct sbx_instance {};

static sbx_status create(const sbx_host *, sbx_str, sbx_instance **out, sbx_error *) {
  *out = new sbx_instance;
  return SBX_OK;
}
static void destroy(sbx_instance *i) { delete i; }
static sbx_status fine(sbx_instance *, sbx_error *) { return SBX_OK; }
static sbx_status stop(sbx_instance *, uint64_t, sbx_error *) { return SBX_OK; }

static sbx_status build(sbx_instance *, const sbx_build_input *input, sbx_build_sink *sink, sbx_error *) {
  const std::string subject(input->event->subject.ptr, input->event->subject.len);
  if (subject == "throw") throw std::runtime_error("not for a host's eyes");
  sbx_notification note{};
  note.struct_size = sizeof note;
  note.body = {"built", 5};
  sbx_target target{};
  target.struct_size = sizeof target;
  return sink->emit(sink, &note, &target, 1, sizeof target);
}

static const sbx_build builder = {sizeof builder, 0, nullptr, build};
static const void *role(const char *id) { return std::strcmp(id, SBX_ROLE_BUILD) ? nullptr : &builder; }
static const char *const roles[] = {SBX_ROLE_BUILD, nullptr};
static const sbx_plugin plugin = {sizeof plugin, SBX_ABI_MAJOR, SBX_ABI_MINOR, 0, 0, "org.example.throwing", "1.0.0",
    "throws", roles, nullptr, nullptr, create, role, fine, stop, destroy};

extern "C" __attribute__((visibility("default"))) const sbx_plugin *sbx_plugin_entry_v1(const sbx_host *, sbx_error *) {
  return &plugin;
}
