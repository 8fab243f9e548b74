//! Leaves recipients out who are online at the source, and has the pushes of events of low urgency
//! wait.
#![forbid(unsafe_code)]
#![allow(non_snake_case)]

use signalbox_plugin::*;

struct Instance;

impl Plugin for Instance {
    const INFO: Info = Info::new("org.example.@ID@", "0.1.0", "skips who is online");

    fn create(_: Host, _: Json<'_>) -> Result<Instance> {
        Ok(Instance)
    }
}

impl Filter for Instance {
    const OPTIONS_SCHEMA: Option<&'static str> = Some(
        r#"{
          "type": "object",
          "properties": {
            "minutes": {
              "type": "integer", "minimum": 1, "maximum": 1440, "default": 60,
              "description": "how long events of low urgency wait"
            }
          }
        }"#,
    );

    fn filter(&self, input: &FilterInput<'_>, sink: &FilterSink<'_>) -> Result<()> {
        let (data, options) = (input.data()?, input.options()?);
        let minutes = options.at("/minutes").and_then(|json| json.integer()).unwrap_or(60);
        let minutes = u64::try_from(minutes).unwrap_or(60);
        let mut online = Vec::new();
        let mut others = Vec::new();
        for (index, recipient) in (0u32..).zip(input.recipients()) {
            match recipient.attribute("online") {
                Some("true") => online.push(index),
                _ => others.push(index),
            }
        }
        sink.drop(&online, "online")?;
        // Recipients that no call names pass at once, unchanged.
        if data.string_at("/urgency") == Some("low") {
            sink.pass(&others, "", input.now_unix_ms() + minutes * 60_000)?;
        }
        Ok(())
    }
}

signalbox_plugin::plugin!(Instance: Filter);
