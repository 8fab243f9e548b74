//! Appends each outcome as a line of JSON to a file, fast enough for the host's thread. A bus or a
//! database needs a queue and a thread of its own, and calls `observed` from there.
#![forbid(unsafe_code)]
#![allow(non_snake_case)]

use signalbox_plugin::*;
use std::fs::OpenOptions;
use std::io::Write;

struct Instance {
    host: Host,
    file: String,
}

impl Plugin for Instance {
    const INFO: Info = Info::new("org.example.@ID@", "0.1.0", "appends outcomes to a file")
        .needs_minor(1)
        .config_schema(
            r#"{ "type": "object", "required": ["file"],
                 "properties": { "file": { "type": "string" } } }"#,
        );

    fn create(host: Host, config: Json<'_>) -> Result<Instance> {
        let file = config.string_at("/file").unwrap_or("").to_string();
        Ok(Instance { host, file })
    }
}

impl Observe for Instance {
    fn observe(&self, batch: &[Observation<'_>]) -> Result<()> {
        let Some(last) = batch.last() else { return Ok(()) };
        let lines: String = batch.iter().map(|one| format!("{}\n", one.json)).collect();
        // What is answered without an error never comes again, so it must be written first.
        let written = OpenOptions::new()
            .append(true)
            .create(true)
            .open(&self.file)
            .and_then(|mut file| file.write_all(lines.as_bytes()))
            .map_err(|_| Error::again("the file cannot be written"));
        self.host.observed(last.sequence, written, 0)
    }
}

signalbox_plugin::plugin!(Instance: Observe);
