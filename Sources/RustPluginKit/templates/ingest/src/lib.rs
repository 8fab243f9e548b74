//! Accepts `{"id": "1", "user": "u", "text": "hello"}` from token holders, and notifies the user.
#![forbid(unsafe_code)]
#![allow(non_snake_case)]

use signalbox_plugin::*;

struct Instance {
    host: Host,
    path: String,
}

impl Plugin for Instance {
    const INFO: Info = Info::new("org.example.@ID@", "0.1.0", "takes short messages for users")
        .needs(&["sbx.secrets/1"])
        .config_schema(
            r#"{
              "type": "object", "required": ["path", "token"],
              "properties": {
                "path": { "type": "string", "pattern": "^/[!-~]+$", "description": "such as /in/messages" },
                "token": { "type": "string", "format": "secret", "minLength": 16 }
              }
            }"#,
        );

    fn create(host: Host, config: Json<'_>) -> Result<Instance> {
        let path = config.string_at("/path").unwrap_or("").to_string();
        Ok(Instance { host, path })
    }
}

impl Ingest for Instance {
    fn paths(&self) -> Vec<IngestPath> {
        vec![IngestPath::new(&self.path)]
    }

    fn handle(&self, request: &Request<'_>, sink: IngestSink<'_>) -> Result<()> {
        let given = request.header("authorization").and_then(|value| value.strip_prefix("Bearer "));
        if !self.host.secret("token")?.equals(given.unwrap_or("").as_bytes()) {
            return Err(Error::auth("the bearer token is missing or does not fit"));
        }
        let json = request.json()?;
        let text = |pointer: &str, words: &str| {
            let found = json.string_at(pointer).filter(|text| !text.is_empty());
            found.ok_or_else(|| Error::invalid(format!("{words} is missing or no text")))
        };
        let (id, user) = (text("/id", "\"id\"")?, text("/user", "\"user\"")?);
        let message = text("/text", "\"text\"")?;
        sink.emit(&Event {
            kind: "message.sent",
            dedupe: id,
            data: &JsonWriter::of_object(|out| out.member("text", message)),
            recipients: &[Recipient::user(user, "")],
            ..Event::default()
        })
    }
}

signalbox_plugin::plugin!(Instance: Ingest);
