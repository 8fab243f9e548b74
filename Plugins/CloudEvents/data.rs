//! The data of an event, for routes and templates.

use crate::attributes::Value;
use crate::decode::CloudEvent;
use signalbox_plugin::*;

/// The member that holds the attributes.
const NAME: &str = "cloudevent";

/// The event's data, plus its attributes; data that is not an object is put under `value`.
pub fn written(event: &CloudEvent<'_>) -> String {
    JsonWriter::of_object(|out| {
        match event.data {
            Some(data) if data.is_object() => {
                for (name, value) in data.members().filter(|member| member.0 != NAME) {
                    out.key(name).raw(value.text());
                }
            }
            Some(data) => out.key("value").raw(data.text()),
            None => {}
        }
        out.key(NAME).object(|out| attributes(event, out));
    })
}

fn attributes(event: &CloudEvent<'_>, out: &mut JsonWriter) {
    out.key("id").string(&event.id);
    out.key("source").string(&event.source);
    out.key("type").string(&event.kind);
    let optional = [
        ("subject", &event.subject),
        ("time", &event.time),
        ("dataschema", &event.schema),
        ("datacontenttype", &event.content_type),
    ];
    for (name, value) in optional {
        out.member(name, value.as_deref().unwrap_or(""));
    }
    for (name, value) in &event.extensions {
        match value {
            Value::Text(text) => out.key(name).string(text),
            Value::Integer(number) => out.key(name).integer(*number),
            Value::Boolean(flag) => out.key(name).boolean(*flag),
        }
    }
}
