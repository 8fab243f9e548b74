//! Reports dead tokens to a system, up to 100 per call: `{"tokens": ["..."]}`.
#![forbid(unsafe_code)]
#![allow(non_snake_case)]

use signalbox_plugin::*;

struct Instance {
    host: Host,
    endpoint: Endpoint,
    path: String,
}

impl Plugin for Instance {
    const INFO: Info = Info::new("org.example.@ID@", "0.1.0", "reports dead tokens")
        .needs(&["sbx.secrets/1"])
        .config_schema(
            r#"{
              "type": "object", "required": ["endpoint", "token"],
              "properties": {
                "endpoint": { "type": "string", "format": "uri", "description": "such as https://api.example.com" },
                "ca": { "type": "string", "format": "path", "description": "PEM file of roots other than the system's" },
                "path": { "type": "string", "pattern": "^/[!-~]*$", "default": "/tokens/dead" },
                "token": { "type": "string", "format": "secret", "minLength": 1 }
              }
            }"#,
        );

    fn create(host: Host, config: Json<'_>) -> Result<Instance> {
        let text = |pointer: &str| config.string_at(pointer).unwrap_or("").to_string();
        let mut endpoint = Endpoint::new(&text("/endpoint"));
        endpoint.ca_file = text("/ca");
        Ok(Instance { host, endpoint, path: text("/path") })
    }
}

impl Register for Instance {
    const MAX_CHANGES: u32 = 100;
    const KINDS: &'static [ChangeKind] = &[ChangeKind::Invalid];

    fn endpoint(&self, _app: &str) -> Result<Endpoint> {
        Ok(self.endpoint.clone())
    }

    fn prepare(&self, batch: &ChangeBatch<'_>, sink: &HttpSink<'_>) -> Result<()> {
        let token = self.host.secret("token")?;
        let bearer = format!("Bearer {}", String::from_utf8_lossy(token.bytes()));
        let body = JsonWriter::of_object(|out| {
            out.key("tokens").array(|out| {
                // Exactly as the source delivered them: it knows no others.
                batch.iter().for_each(|change| out.string(change.source_token()));
            });
        });
        let items: Vec<u64> = batch.iter().map(|change| change.id).collect();
        sink.request(&HttpRequest {
            method: "POST",
            path: &self.path,
            headers: &[
                Pair::new("authorization", &bearer),
                Pair::new("content-type", "application/json"),
            ],
            body: &[body.as_str().into()],
            items: &items,
            ..HttpRequest::default()
        })
    }

    fn classify(&self, batch: &ResponseBatch<'_>, sink: &HttpSink<'_>) -> Result<()> {
        for response in batch.iter() {
            sink.settle_all(response.items(), &response.plain_outcome())?;
        }
        Ok(())
    }
}

signalbox_plugin::plugin!(Instance: Register);
