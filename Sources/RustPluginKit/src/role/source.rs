//! The source role: events that the plugin takes in by itself.

use crate::error::{Error, Result};
use crate::host::Host;
use crate::instance::Instance;
use crate::memory::{raw, Strided};
use crate::model::{Event, RawEvents};
use crate::panics::guard;
use crate::plugin::Plugin;
use crate::sys::{self, *};
use std::mem::size_of;

/// Takes events in by itself: from a bus, a poll, a socket, a schedule. For webhooks there is
/// [`crate::Ingest`].
pub trait Source: Plugin {
    /// Begins to take events in; at most `batches_max` batches may be undecided at a time. Called
    /// after `start` and after each `pause`; if it fails, the host calls it again, with growing waits.
    fn resume(&self, batches_max: u32) -> Result<()>;

    /// Emits nothing more until `resume`; what was emitted is still settled.
    fn pause(&self) -> Result<()>;

    /// These batches are decided. Several threads may call it at once; it must not block.
    fn settled(&self, results: &[BatchResult]);
}

/// The verdict on a batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BatchResult {
    /// As given to [`Host::emit`].
    pub token: u64,
    /// The events are on disk, so they can be acknowledged; otherwise none is, and the batch is
    /// emitted again.
    pub is_stored: bool,
    /// If it is not stored: emit it again no sooner than after so many milliseconds.
    pub retry_after_ms: u64,
    /// How many events were stored.
    pub stored: u32,
    /// How many events were dropped, because their dedupe key was seen before.
    pub repeated: u32,
}

impl Host {
    /// Emits a batch: all of its events are stored, or none. `token` comes back in
    /// [`Source::settled`], once, unless this fails: with `Again` if `batches_max` batches are
    /// undecided or the source is paused, with `Invalid` if an event is malformed and would never be
    /// taken, with `TooLarge` if the batch must be split. From any thread.
    pub fn emit(&self, events: &[Event<'_>], token: u64) -> Result<()> {
        let list = RawEvents::new(events);
        let asked = self.ask(self.tables().source_host.emit, |emit, host| unsafe {
            emit(host, token, list.events.as_ptr(), list.events.len(), size_of::<sbx_event>())
        });
        asked.and_then(Error::check)
    }

    /// Tells how the source is, whenever that changes: `Ok` if events come in, or why none do. The
    /// host's readiness, log and metrics show it. [`Source::resume`] ends what was said before.
    pub fn condition(&self, condition: Result<()>) -> Result<()> {
        let (code, words) = match &condition {
            Ok(()) => (SBX_OK, ""),
            Err(fault) => (fault.status.code(), fault.message.as_str()),
        };
        let asked = self.ask(self.tables().source_host.condition, |tell, host| unsafe {
            tell(host, code, raw(words))
        });
        asked.and_then(Error::check)
    }
}

pub(super) fn table<P: Source>() -> sbx_source {
    sbx_source {
        resume: Some(resume::<P>),
        pause: Some(pause::<P>),
        settled: Some(settled::<P>),
        ..sys::fresh()
    }
}

unsafe extern "C" fn resume<P: Source>(
    instance: *mut sbx_instance,
    batches_max: u32,
    error: *mut sbx_error,
) -> sbx_status {
    guard(error, || Instance::plugin::<P>(instance)?.0.resume(batches_max))
}

unsafe extern "C" fn pause<P: Source>(
    instance: *mut sbx_instance,
    error: *mut sbx_error,
) -> sbx_status {
    guard(error, || Instance::plugin::<P>(instance)?.0.pause())
}

unsafe extern "C" fn settled<P: Source>(
    instance: *mut sbx_instance,
    results: *const sbx_batch_result,
    count: usize,
    stride: usize,
) {
    guard(std::ptr::null_mut(), || {
        let (plugin, _) = Instance::plugin::<P>(instance)?;
        let given = Strided::new(results, count, stride);
        let results: Vec<BatchResult> = given.iter().map(BatchResult::new).collect();
        plugin.settled(&results);
        Ok(())
    });
}

impl BatchResult {
    fn new(given: sbx_batch_result) -> BatchResult {
        BatchResult {
            token: given.token,
            is_stored: given.status == SBX_OK,
            retry_after_ms: given.retry_after_ms,
            stored: given.stored,
            repeated: given.repeated,
        }
    }
}
