//! Builds notifications from events; a route's `set` values replace theirs.

use crate::config::text;
use signalbox_plugin::*;

pub const OPTIONS_SCHEMA: &str = r#"{
  "type": "object",
  "properties": {
    "title": {
      "type": "string", "pattern": "^(/.*)?$", "default": "/title",
      "description": "JSON pointer into the event's data"
    },
    "body": {
      "type": "string", "pattern": "^(/.*)?$", "default": "/body",
      "description": "JSON pointer into the event's data"
    },
    "link": {
      "type": "string", "pattern": "^(/.*)?$", "default": "/link",
      "description": "JSON pointer into the event's data"
    },
    "payload": {
      "type": "string", "pattern": "^(/.*)?$", "default": "",
      "description": "JSON pointer to an object whose members the app gets; empty: none"
    },
    "sound": { "type": "string", "default": "default", "description": "empty: none" }
  }
}"#;

/// Builds one content for all recipients.
pub fn build(input: &BuildInput<'_>, sink: &BuildSink<'_>) -> Result<()> {
    let (data, options) = (input.data()?, input.options()?);
    let at = |name: &str| match options.string_at(name) {
        None | Some("") => None,
        Some(pointer) => data.at(pointer),
    };
    let words = |name: &str| at(name).and_then(|json| json.scalar_text()).unwrap_or("");
    let payload = at("/payload").filter(Json::is_object).map_or("", |json| json.text());
    let sound = text(options, "/sound");
    let note = Notification {
        title: words("/title"),
        body: words("/body"),
        link: words("/link"),
        sound: &sound,
        data: payload,
        ..Notification::default()
    };
    sink.emit(&note, &input.everyone())
}
