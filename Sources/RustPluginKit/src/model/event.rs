//! Events.

use super::Recipient;
use crate::memory::{raw, text};
use crate::sys::{self, *};
use std::mem::size_of;

/// Something that happened at the source.
#[derive(Clone, Copy, Debug, Default)]
pub struct Event<'a> {
    /// Its type, from the plugin's closed list: `ticket.replied`.
    pub kind: &'a str,
    /// What it is about: `ticket/5`.
    pub subject: &'a str,
    /// Events with the same key are accepted once per window; empty: no key.
    pub dedupe: &'a str,
    /// How long the source may send this event again; 0: the host's own window, which a host of
    /// contract 1.0 always uses.
    pub dedupe_window_ms: u64,
    /// A JSON object that routes and templates read.
    pub data: &'a str,
    /// When it happened, in Unix milliseconds; 0: on receipt.
    pub time_unix_ms: u64,
    /// Who should get it.
    pub recipients: &'a [Recipient<'a>],
}

impl<'a> Event<'a> {
    /// # Safety
    /// The event is borrowed for 'a; its recipients are not read.
    pub(crate) unsafe fn read(given: *const sbx_event) -> Event<'a> {
        if given.is_null() {
            return Event::default();
        }
        let given = sys::read(given);
        Event {
            kind: text(given.r#type),
            subject: text(given.subject),
            dedupe: text(given.dedupe),
            dedupe_window_ms: given.dedupe_window_ms,
            data: text(given.data),
            time_unix_ms: given.time_unix_ms,
            recipients: &[],
        }
    }
}

/// Events in the contract's form, with the arrays that they point to.
pub(crate) struct RawEvents {
    pub events: Vec<sbx_event>,
    _recipients: Vec<sbx_recipient>,
    _devices: Vec<sbx_device>,
}

impl RawEvents {
    pub fn new(events: &[Event<'_>]) -> RawEvents {
        let all = || events.iter().flat_map(|event| event.recipients);
        // Both lists are complete before anything points into them.
        let devices: Vec<sbx_device> = all().map(|one| one.device.raw()).collect();
        let recipients: Vec<sbx_recipient> =
            all().zip(&devices).map(|(one, device)| one.raw(device)).collect();
        let mut from = 0;
        let raw_events = events.iter().map(|event| {
            let own = &recipients[from..from + event.recipients.len()];
            from += own.len();
            sbx_event {
                r#type: raw(event.kind),
                subject: raw(event.subject),
                dedupe: raw(event.dedupe),
                dedupe_window_ms: event.dedupe_window_ms,
                data: raw(event.data),
                time_unix_ms: event.time_unix_ms,
                recipients: own.as_ptr(),
                recipient_count: own.len(),
                recipient_stride: size_of::<sbx_recipient>(),
                ..sys::fresh()
            }
        });
        RawEvents { events: raw_events.collect(), _recipients: recipients, _devices: devices }
    }
}
