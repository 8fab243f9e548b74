//! CloudEvents 1.0 over HTTP: turns binary, structured and batched events into events of the gateway, for
//! the recipients named in their data.
#![forbid(unsafe_code)]
// The library's name follows that of the other plugins.
#![allow(non_snake_case)]

mod attributes;
mod auth;
mod config;
mod data;
mod decode;
mod encode;
mod errors;
mod recipients;

use crate::config::Config;
use crate::decode::{CloudEvent, Mode};
use crate::errors::{Fault, Refused, Reject};
use signalbox_plugin::*;

struct CloudEvents {
    host: Host,
    config: Config,
}

impl Plugin for CloudEvents {
    const INFO: Info =
        Info::new("io.signalbox.cloudevents", "1.0.0", "CloudEvents 1.0 over HTTP in (JSON)")
            .config_schema(config::SCHEMA)
            .needs(&["sbx.secrets/1", "sbx.sign/1"]);

    fn create(host: Host, config: Json<'_>) -> Result<CloudEvents> {
        Ok(CloudEvents { host, config: Config::read(config)? })
    }
}

impl Ingest for CloudEvents {
    fn paths(&self) -> Vec<IngestPath> {
        let path = IngestPath::new(&self.config.path);
        match self.config.origins.is_empty() {
            true => vec![path],
            false => vec![path.methods("POST,OPTIONS")],
        }
    }

    fn handle(&self, request: &Request<'_>, sink: IngestSink<'_>) -> Result<()> {
        if request.method() == "OPTIONS" {
            return auth::handshake(&self.config.origins, request, &sink);
        }
        let mode = Mode::of(request);
        auth::check(&self.host, &self.config, request, mode == Ok(Mode::Binary))?;
        match mode {
            Ok(Mode::Binary) => self.single(CloudEvent::of_headers(request), &sink),
            Ok(Mode::Structured) => self.single(CloudEvent::of_json(request.json()?), &sink),
            Ok(Mode::Batch) => self.batch(request.json()?, &sink),
            Err(fault) => fault.answer(&sink),
        }
    }
}

impl CloudEvents {
    /// Handles a request with one event: if the event is rejected, so is the request.
    fn single(&self, event: Result<CloudEvent<'_>, Reject>, sink: &IngestSink<'_>) -> Result<()> {
        let reject = match event.and_then(|event| self.emit(&event, sink)) {
            Ok(done) => return done,
            Err(reject) => reject,
        };
        sink.reject(reject.reason(), &reject.detail());
        match reject {
            Reject::UnsupportedContent => Fault::UnsupportedContent.answer(sink),
            Reject::TooManyRecipients => Err(Error::new(Status::TooLarge, reject.detail())),
            _ => Err(Error::invalid(reject.detail())),
        }
    }

    /// Handles a list of events: a rejected one does not affect the others, and the answer names it.
    fn batch(&self, json: Json<'_>, sink: &IngestSink<'_>) -> Result<()> {
        if !json.is_array() {
            return Err(Error::invalid("a batch is not a list of events"));
        }
        let mut refused = Refused::default();
        for (index, json) in json.elements().enumerate() {
            match CloudEvent::of_json(json).and_then(|event| self.emit(&event, sink)) {
                Ok(done) => done?,
                Err(reject) => {
                    sink.reject(reject.reason(), &reject.detail());
                    refused.add(index, reject);
                }
            }
        }
        refused.answer(json.len(), sink)
    }

    /// Emits an event. The outer error rejects the event, the inner one the request.
    fn emit(&self, event: &CloudEvent<'_>, sink: &IngestSink<'_>) -> Result<Result<()>, Reject> {
        let (found, rejects) = recipients::find(&self.config.recipients, event);
        for reject in &rejects {
            sink.reject(reject.reason(), &reject.detail());
        }
        let recipients: Vec<Recipient<'_>> = found.iter().map(|one| one.borrowed()).collect();
        if recipients.is_empty() {
            let count = rejects.len().to_string();
            let fields = [Pair::new("rejected", &count)];
            self.host.log(Level::Info, "event names no usable recipient", &fields);
            return Ok(Ok(()));
        }
        if recipients.len() > recipients::COUNT_MAX {
            return Err(Reject::TooManyRecipients);
        }
        Ok(sink.emit(&Event {
            kind: &event.kind,
            subject: event.subject.as_deref().unwrap_or(""),
            // A source contains no space, so no two pairs give the same key.
            dedupe: &format!("{} {}", event.source, event.id),
            data: &data::written(event),
            time_unix_ms: event.time_unix_ms,
            recipients: &recipients,
            ..Event::default()
        }))
    }
}

impl Build for CloudEvents {
    const OPTIONS_SCHEMA: Option<&'static str> = Some(encode::OPTIONS_SCHEMA);

    fn build(&self, input: &BuildInput<'_>, sink: &BuildSink<'_>) -> Result<()> {
        encode::build(input, sink)
    }
}

signalbox_plugin::plugin!(CloudEvents: Ingest, Build);
