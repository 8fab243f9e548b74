/* bus_events.c - the body of a message of NATS or Kafka into an event; an odd first byte takes it by a map. */
#include "fuzz.h"

#include "../../Plugins/BusEvents/bus_events.c"
#include "json_host.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static const bus_map none = {"", "", "", "", ""};
  static const bus_map mapped_by = {"/event", "/order/id", "/customer", "com.example", "/id"};
  bus_parts parts = {0};
  sbx_event event;
  if (!size) return 0;
  sbx_str body = {(const char *)data + 1, size - 1};
  const char *why = bus_event_read(NULL, &json_table, data[0] & 1 ? &mapped_by : &none, body, &event, &parts);
  if (why) {
    REQUIRE(strlen(why) > 0 && strlen(why) < 300, "no words");
  } else {
    REQUIRE(event.type.len > 0, "an event without a type");
    REQUIRE(event.recipient_count <= BUS_RECIPIENTS_MAX, "too many recipients");
    /* One that cannot be used has no name and is left out; it is never the only one. */
    size_t named = 0;
    for (size_t k = 0; k < event.recipient_count; k++) {
      const sbx_device *device = parts.recipients[k].device;
      named += device->user.len || device->token.len;
    }
    REQUIRE(!event.recipient_count || named, "no recipient with a name");
  }
  bus_parts_free(&parts);
  return 0;
}
