//! Shows an event's field `text`, cut to a length, and skips users who have muted it.
#![forbid(unsafe_code)]
#![allow(non_snake_case)]

use signalbox_plugin::*;

struct Instance;

impl Plugin for Instance {
    const INFO: Info = Info::new("org.example.@ID@", "0.1.0", "shows the text of an event");

    fn create(_: Host, _: Json<'_>) -> Result<Instance> {
        Ok(Instance)
    }
}

impl Build for Instance {
    const OPTIONS_SCHEMA: Option<&'static str> = Some(
        r#"{
          "type": "object",
          "properties": {
            "title": { "type": "string", "default": "", "description": "the same for all" },
            "length": { "type": "integer", "minimum": 1, "maximum": 2000, "default": 200 }
          }
        }"#,
    );

    fn build(&self, input: &BuildInput<'_>, sink: &BuildSink<'_>) -> Result<()> {
        let (data, options) = (input.data()?, input.options()?);
        let text = data.string_at("/text");
        let text = text.ok_or_else(|| Error::invalid("the event has no text"))?;
        let length = options.at("/length").and_then(|json| json.integer()).unwrap_or(200);
        let length = usize::try_from(length).unwrap_or(200);
        let mut body: String = text.chars().take(length).collect();
        if body.len() < text.len() {
            body.push('…');
        }
        let mut targets = Vec::new();
        for (index, recipient) in input.recipients().enumerate() {
            match recipient.attribute("muted") {
                Some("true") => sink.skip(index, "muted")?,
                _ => targets.push(Target::new(index)),
            }
        }
        if targets.is_empty() {
            return Ok(());
        }
        let title = options.string_at("/title").unwrap_or("");
        sink.emit(&Notification { title, body: &body, ..Notification::default() }, &targets)
    }
}

signalbox_plugin::plugin!(Instance: Build);
