//! A plugin that does what a test asks it for.

use super::mock::note;
use signalbox_plugin::*;
use std::sync::Mutex;
use std::time::Duration;

/// Hosts that a careless plugin would keep.
pub static KEPT: Mutex<Vec<Host>> = Mutex::new(Vec::new());

struct Probe {
    host: Host,
    config: String,
}

impl Probe {
    /// Panics where the config says so, with text from a body.
    fn trip(&self, place: &str) {
        if self.config.contains(&format!("panic {place}")) {
            panic!("token-{}", self.config.len());
        }
    }
}

impl Drop for Probe {
    fn drop(&mut self) {
        self.host.log(Level::Info, "dropped", &[]);
        self.trip("drop");
    }
}

impl Plugin for Probe {
    const INFO: Info = Info::new("org.example.probe", "1.2", "tries everything")
        .needs_minor(1)
        .config_schema(r#"{"type":"object"}"#)
        .needs(&["sbx.sign/1"])
        .serial();

    fn create(host: Host, config: Json<'_>) -> Result<Probe> {
        KEPT.lock().unwrap().push(host.clone());
        let config = config.text().to_string();
        if config.contains("panic create") {
            panic!("a fixed text");
        }
        if config.contains("refuse") {
            return Err(Error::invalid("ä".repeat(200)));
        }
        Ok(Probe { host, config })
    }

    fn start(&self) -> Result<()> {
        self.trip("start");
        Ok(())
    }

    fn stop(&self, time_left: Duration) -> Result<()> {
        self.trip("stop");
        self.host.log(Level::Info, "stop", &[Pair::new("ms", &time_left.as_millis().to_string())]);
        if self.config.contains("late") {
            return Err(Error::internal("a thread still runs"));
        }
        Ok(())
    }
}

impl Ingest for Probe {
    fn paths(&self) -> Vec<IngestPath> {
        self.trip("paths");
        vec![IngestPath::new("/a"), IngestPath::new("/b/{id}").methods("GET,PUT")]
    }

    fn handle(&self, request: &Request<'_>, sink: IngestSink<'_>) -> Result<()> {
        self.trip("handle");
        match request.path() {
            "/headers" => {
                let values = [request.header("a"), request.param("p"), request.header("none")];
                note(format!("{values:?} {:?}", request.body()));
            }
            "/emit" => {
                let attributes = [Pair::new("unread", "3")];
                let recipients = [
                    Recipient::device(Device { token: "t", platform: "ios", ..Device::default() }),
                    Recipient { attributes: &attributes, ..Recipient::user("u", "app") },
                ];
                let plain = Event { kind: "first", data: "{}", ..Event::default() };
                let event = Event { kind: "second", recipients: &recipients, ..plain };
                sink.emit_all(&[plain, event, plain])?;
                sink.reject("bad", "an item");
                sink.respond_problem(400, "Bad Request", "it \"is\"", |out| out.member("a", "b"))?;
            }
            "/forget" => drop(sink.defer(5)?),
            "/defer" => {
                let open = sink.defer(5)?;
                let answer = std::thread::spawn(move || {
                    let change = Change::new(ChangeKind::Unregistered, Device::default());
                    open.change(&[change])?;
                    open.finish(Err(Error::again("come again")));
                    Ok(())
                });
                answer.join().expect("no panic")?;
            }
            path => return Err(Error::not_found(format!("no {path}"))),
        }
        Ok(())
    }
}

impl Build for Probe {
    const OPTIONS_SCHEMA: Option<&'static str> = Some(r#"{"type":"object"}"#);

    fn build(&self, input: &BuildInput<'_>, sink: &BuildSink<'_>) -> Result<()> {
        self.trip("build");
        for recipient in input.recipients() {
            let device = recipient.device;
            note(format!("{}|{}|{:?}", device.user, device.token, recipient.attribute("unread")));
        }
        sink.skip(0, "sender")?;
        let note = Notification { title: "T", badge: Some(0), ..Notification::default() };
        sink.emit(&note, &[Target::new(1).badge(4)])
    }
}

impl SendHttp for Probe {
    const MAX_BATCH: u32 = 3;

    fn endpoint(&self, app: &str) -> Result<Endpoint> {
        self.trip("endpoint");
        let password = app.to_string();
        Ok(Endpoint {
            client_password: password,
            is_alpn_required: true,
            ..Endpoint::new("https://h")
        })
    }

    fn prepare(&self, batch: &DeliveryBatch<'_>, sink: &HttpSink<'_>) -> Result<()> {
        self.trip("prepare");
        for delivery in batch.iter() {
            let (token, body) = (delivery.device().token, delivery.notification().body);
            if body.starts_with('{') {
                let limit = PayloadLimit {
                    bytes_max: 9,
                    counted: &["/a"],
                    places: &[(TextField::Body, "/a")],
                    data: "/d",
                    ..PayloadLimit::default()
                };
                note(format!("fitted {:?}", self.host.fit(body.as_bytes(), &limit)));
                continue;
            }
            let body: [Text<'_>; 3] = [body.into(), b"|"[..].into(), token.into()];
            let items = [delivery.id()];
            sink.request(&HttpRequest {
                method: "POST",
                path: "/p",
                headers: &[Pair::new("a", "b")],
                body: &body,
                items: &items,
                unindexed_headers: 1,
            })?;
        }
        Ok(())
    }

    fn classify(&self, batch: &ResponseBatch<'_>, sink: &HttpSink<'_>) -> Result<()> {
        self.trip("classify");
        for response in batch.iter() {
            sink.settle_all(response.items(), &response.plain_outcome())?;
        }
        Ok(())
    }
}

impl Register for Probe {
    const MAX_CHANGES: u32 = 100;
    const KINDS: &'static [ChangeKind] = &[ChangeKind::Registered, ChangeKind::Invalid];

    fn endpoint(&self, _: &str) -> Result<Endpoint> {
        Err(Error::not_found("nothing is reported"))
    }

    fn prepare(&self, batch: &ChangeBatch<'_>, _: &HttpSink<'_>) -> Result<()> {
        self.trip("changes");
        for change in batch.iter() {
            note(format!("{} {:?} {}", change.id, change.kind, change.source_token()));
        }
        Ok(())
    }

    fn classify(&self, _: &ResponseBatch<'_>, _: &HttpSink<'_>) -> Result<()> {
        Ok(())
    }
}

impl SendOwn for Probe {
    fn submit(&self, app: &str, deliveries: Vec<OwnedDelivery>) -> Result<usize> {
        self.trip("submit");
        let (host, app) = (self.host.clone(), app.to_string());
        let worker = std::thread::spawn(move || {
            for delivery in &deliveries {
                let (note, device) = (delivery.notification(), delivery.device());
                let family = Pair::find(note.overrides, "mail").unwrap_or("");
                let reason = format!("{app}/{}/{}/{family}", note.title, device.token);
                let outcome = Outcome::new(OutcomeKind::Delivered, &reason);
                host.complete(&[(delivery.id, outcome)])?;
            }
            host.credit(1)
        });
        worker.join().expect("no panic")?;
        // More than were offered; the host is told of the offered ones alone.
        Ok(9)
    }
}

signalbox_plugin::plugin!(Probe: Ingest, Build, SendHttp, Register, SendOwn);
