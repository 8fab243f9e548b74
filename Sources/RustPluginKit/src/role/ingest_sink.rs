//! Where the results of a request go.

use crate::error::{Error, Result};
use crate::json::JsonWriter;
use crate::memory::{raw, raw_bytes, Pair};
use crate::model::{Change, Event, RawEvents};
use crate::sys::{self, *};
use std::marker::PhantomData;
use std::mem::size_of;

/// Where the results of a request go; lives during [`crate::Ingest::handle`].
pub struct IngestSink<'a> {
    writer: Writer,
    borrowed: PhantomData<&'a mut sbx_ingest_sink>,
}

/// A request that stays open after `handle` has returned; usable from any thread, one at a time.
///
/// Call [`Deferred::finish`]: a request that is dropped without it counts as a fault of the plugin.
pub struct Deferred {
    writer: Writer,
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
            self.writer.emit(events)
        }

        /// Adds or removes devices, in the same commit as the events.
        pub fn change(&self, changes: &[Change<'_>]) -> Result<()> {
            self.writer.change(changes)
        }

        /// Rejects one unusable item; the others are kept. `reason` is from a closed list, `detail`
        /// holds no token or body.
        pub fn reject(&self, reason: &str, detail: &str) {
            self.writer.reject(reason, detail);
        }

        /// Sets the answer, at most once; the default is 200, or 202 if nothing was emitted. A 2xx
        /// is sent only after everything is committed.
        pub fn respond(&self, status: u16, headers: &[Pair<'_>], body: &[u8]) -> Result<()> {
            self.writer.respond(status, headers, body)
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
    /// The sink is the host's, and lives for 'a.
    pub(crate) unsafe fn new(raw: *mut sbx_ingest_sink) -> IngestSink<'a> {
        let writer = Writer { raw, table: sys::read(raw) };
        IngestSink { writer, borrowed: PhantomData }
    }

    shared!();

    /// Keeps the request open, to fetch something first; after `timeout_ms` the host answers 503.
    /// The request itself does not stay alive: copy what you need.
    pub fn defer(self, timeout_ms: u32) -> Result<Deferred> {
        let defer = self.writer.table.defer.ok_or_else(missing)?;
        // The sink now lives until `finish`.
        Error::check(unsafe { defer(self.writer.raw, timeout_ms) })
            .map_err(|fault| Error::new(fault.status, "the request cannot stay open"))?;
        Ok(Deferred { writer: self.writer, is_finished: false })
    }
}

impl Deferred {
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
struct Writer {
    raw: *mut sbx_ingest_sink,
    table: sbx_ingest_sink,
}

// A deferred request may be used from any thread, one at a time, and cannot be shared.
unsafe impl Send for Deferred {}

fn missing() -> Error {
    Error::unsupported("the host's sink does not offer it")
}

impl Writer {
    fn emit(&self, events: &[Event<'_>]) -> Result<()> {
        let emit = self.table.emit.ok_or_else(missing)?;
        let given = RawEvents::new(events);
        let list = &given.events;
        let code = unsafe { emit(self.raw, list.as_ptr(), list.len(), size_of::<sbx_event>()) };
        Error::check(code).map_err(|fault| match code {
            SBX_E_TOO_LARGE => {
                Error::new(fault.status, "too many devices or events in one request")
            }
            _ => Error::new(fault.status, "the event was not taken"),
        })
    }

    fn change(&self, changes: &[Change<'_>]) -> Result<()> {
        let change = self.table.change.ok_or_else(missing)?;
        let devices: Vec<sbx_device> = changes.iter().map(|one| one.device.raw()).collect();
        let list: Vec<sbx_change> =
            changes.iter().zip(&devices).map(|(one, device)| one.raw(device)).collect();
        let code = unsafe { change(self.raw, list.as_ptr(), list.len(), size_of::<sbx_change>()) };
        Error::check(code)
            .map_err(|fault| Error::new(fault.status, "the changes of devices were not taken"))
    }

    fn reject(&self, reason: &str, detail: &str) {
        if let Some(reject) = self.table.reject {
            unsafe { reject(self.raw, raw(reason), raw(detail)) };
        }
    }

    fn respond(&self, status: u16, headers: &[Pair<'_>], body: &[u8]) -> Result<()> {
        let respond = self.table.respond.ok_or_else(missing)?;
        let code = unsafe {
            let (pairs, body) = (Pair::raw(headers), raw_bytes(body));
            respond(self.raw, status.into(), pairs, headers.len(), body)
        };
        Error::check(code)
            .map_err(|fault| Error::new(fault.status, "a second answer, or no status of HTTP"))
    }

    fn finish(&self, result: Result<()>) {
        let finish = match self.table.finish {
            Some(finish) => finish,
            None => return,
        };
        match result {
            Ok(()) => unsafe { finish(self.raw, SBX_OK, std::ptr::null()) },
            Err(fault) => {
                let words = fault.raw(size_of::<sbx_error>() as u32);
                unsafe { finish(self.raw, words.status, &words) }
            }
        }
    }
}
