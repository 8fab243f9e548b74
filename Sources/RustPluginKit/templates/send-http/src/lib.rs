//! Posts each notification as JSON to a service that takes `{"to", "title", "body"}`.
#![forbid(unsafe_code)]
#![allow(non_snake_case)]

use signalbox_plugin::*;

struct Instance {
    host: Host,
    endpoint: Endpoint,
    path: String,
}

impl Plugin for Instance {
    const INFO: Info = Info::new("org.example.@ID@", "0.1.0", "posts notifications as JSON")
        .needs(&["sbx.secrets/1"])
        .config_schema(
            r#"{
              "type": "object", "required": ["endpoint", "token"],
              "properties": {
                "endpoint": { "type": "string", "format": "uri", "description": "such as https://push.example.com" },
                "ca": { "type": "string", "format": "path", "description": "PEM file of roots other than the system's" },
                "path": { "type": "string", "pattern": "^/[!-~]*$", "default": "/messages" },
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

impl SendHttp for Instance {
    fn endpoint(&self, _app: &str) -> Result<Endpoint> {
        Ok(self.endpoint.clone())
    }

    fn prepare(&self, batch: &DeliveryBatch<'_>, sink: &HttpSink<'_>) -> Result<()> {
        let token = self.host.secret("token")?;
        let bearer = format!("Bearer {}", String::from_utf8_lossy(token.bytes()));
        for delivery in batch.iter() {
            let note = delivery.notification();
            let body = JsonWriter::of_object(|out| {
                out.member("to", delivery.device().token);
                out.member("title", note.title);
                out.member("body", note.body);
            });
            sink.request(&HttpRequest {
                method: "POST",
                path: &self.path,
                headers: &[
                    Pair::new("authorization", &bearer),
                    Pair::new("content-type", "application/json"),
                    Pair::new("idempotency-key", delivery.stable_id()),
                ],
                body: &[body.as_str().into()],
                items: &[delivery.id()],
                unindexed_headers: 1 << 2, // the key is new for each request
            })?;
        }
        Ok(())
    }

    fn classify(&self, batch: &ResponseBatch<'_>, sink: &HttpSink<'_>) -> Result<()> {
        for response in batch.iter() {
            let mut outcome = response.plain_outcome();
            if matches!(response.status(), 404 | 410) {
                outcome = Outcome::new(OutcomeKind::Unregistered, "gone");
            }
            outcome.provider_code = response.status();
            sink.settle_all(response.items(), &outcome)?;
        }
        Ok(())
    }
}

signalbox_plugin::plugin!(Instance: SendHttp);
