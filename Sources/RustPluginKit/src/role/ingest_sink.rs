//! Where the results of a request go.

use super::sink::Sink;
use crate::error::{Error, Result, Status};
use crate::json::JsonWriter;
use crate::memory::{raw, raw_bytes, Pair};
use crate::model::{Change, Event, RawEvents};
use crate::sys::*;
use std::mem::size_of;

/// Where the results of a request go; lives during [`crate::Ingest::handle`].
pub struct IngestSink<'a>(Writer<'a>);

/// A request that stays open after `handle` has returned; usable from any thread, one at a time.
///
/// Call [`Deferred::finish`]: a request that is dropped without it counts as a fault of the plugin.
pub struct Deferred {
    writer: Writer<'static>,
    is_finished: bool,
}

macro_rules! shared {
    () => {
        /// Emits an event.
        pub fn emit(&self, event: &Event<'_>) -> Result<()> {
            self.emit_all(std::slice::from_ref(event))
        }

        /// Emits events; a call that fails emits none of them.
        pub fn emit_all(&self, events: &[Event<'_>]) -> Result<()> {
            self.writer().emit(events)
        }

        /// Adds or removes devices, in the same commit as the events.
        pub fn change(&self, changes: &[Change<'_>]) -> Result<()> {
            self.writer().change(changes)
        }

        /// Rejects one unusable item; the others are kept. `reason` is from a closed list, `detail`
        /// holds no token or body.
        pub fn reject(&self, reason: &str, detail: &str) {
            self.writer().reject(reason, detail);
        }

        /// Sets the answer, at most once; the default is 200, or 202 if nothing was emitted. A 2xx
        /// is sent only after everything is committed.
        pub fn respond(&self, status: u16, headers: &[Pair<'_>], body: &[u8]) -> Result<()> {
            self.writer().respond(status, headers, body)
        }

        /// Answers with an RFC 9457 problem document; `members` may add members.
        pub fn respond_problem(
            &self,
            status: u16,
            title: &str,
            detail: &str,
            members: impl FnOnce(&mut JsonWriter),
        ) -> Result<()> {
            let body = JsonWriter::of_object(|out| {
                out.key("type").string("about:blank");
                out.key("title").string(title);
                out.key("status").integer(status);
                out.key("detail").string(detail);
                members(out);
            });
            let kind = Pair::new("content-type", "application/problem+json");
            self.respond(status, &[kind], body.as_bytes())
        }
    };
}

impl<'a> IngestSink<'a> {
    /// # Safety
    /// The sink is null or the host's, and lives for 'a.
    pub(super) unsafe fn new(raw: *mut sbx_ingest_sink) -> Result<IngestSink<'a>> {
        Ok(IngestSink(Writer(Sink::new(raw)?)))
    }

    fn writer(&self) -> &Writer<'a> {
        &self.0
    }

    shared!();

    /// Keeps the request open, to fetch something first; after `timeout_ms` the host answers 503.
    /// The request itself does not stay alive: copy what you need.
    pub fn defer(self, timeout_ms: u32) -> Result<Deferred> {
        let (refusal, Writer(sink)) = ("the request cannot stay open", self.0);
        sink.call(|sink| sink.defer, refusal, |defer, sink| unsafe { defer(sink, timeout_ms) })?;
        // The sink now lives until `finish`.
        Ok(Deferred { writer: Writer(unsafe { sink.kept() }), is_finished: false })
    }
}

impl Deferred {
    fn writer(&self) -> &Writer<'static> {
        &self.writer
    }

    shared!();

    /// Ends the request; an error has the same effect as one returned from `handle`.
    pub fn finish(mut self, result: Result<()>) {
        self.end(result);
    }

    fn end(&mut self, result: Result<()>) {
        if std::mem::replace(&mut self.is_finished, true) {
            return;
        }
        self.writer.finish(result);
    }
}

impl Drop for Deferred {
    fn drop(&mut self) {
        self.end(Err(Error::internal("the plugin forgot the request")));
    }
}

/// The functions of `sbx_ingest_sink`.
struct Writer<'a>(Sink<'a, sbx_ingest_sink>);

// A deferred request may be used from any thread, one at a time, and cannot be shared.
unsafe impl Send for Deferred {}

impl Writer<'_> {
    fn emit(&self, events: &[Event<'_>]) -> Result<()> {
        let RawEvents { events: list, .. } = &RawEvents::new(events);
        let stride = size_of::<sbx_event>();
        let taken = self.0.call(
            |sink| sink.emit,
            "the event was not taken",
            |emit, sink| unsafe { emit(sink, list.as_ptr(), list.len(), stride) },
        );
        taken.map_err(|fault| match fault.status {
            Status::TooLarge => {
                Error::new(fault.status, "too many devices or events in one request")
            }
            _ => fault,
        })
    }

    fn change(&self, changes: &[Change<'_>]) -> Result<()> {
        let devices: Vec<sbx_device> = changes.iter().map(|one| one.device.raw()).collect();
        let list: Vec<sbx_change> =
            changes.iter().zip(&devices).map(|(one, device)| one.raw(device)).collect();
        let (refusal, stride) = ("the changes of devices were not taken", size_of::<sbx_change>());
        self.0.call(
            |sink| sink.change,
            refusal,
            |change, sink| unsafe { change(sink, list.as_ptr(), list.len(), stride) },
        )
    }

    fn reject(&self, reason: &str, detail: &str) {
        let (reason, detail) = (raw(reason), raw(detail));
        let _ = self.0.call(
            |sink| sink.reject,
            "",
            |reject, sink| unsafe { reject(sink, reason, detail) },
        );
    }

    fn respond(&self, status: u16, headers: &[Pair<'_>], body: &[u8]) -> Result<()> {
        let refusal = "a second answer, or no status of HTTP";
        self.0.call(
            |sink| sink.respond,
            refusal,
            |respond, sink| unsafe {
                let (pairs, body) = (Pair::raw(headers), raw_bytes(body));
                respond(sink, status.into(), pairs, headers.len(), body)
            },
        )
    }

    fn finish(&self, result: Result<()>) {
        let words = result.err().map(|fault| fault.raw(size_of::<sbx_error>() as u32));
        let status = words.as_ref().map_or(SBX_OK, |words| words.status);
        let error = words.as_ref().map_or(std::ptr::null(), |words| words as *const _);
        let _ = self.0.call(
            |sink| sink.finish,
            "",
            |finish, sink| unsafe {
                finish(sink, status, error);
                SBX_OK
            },
        );
    }
}
