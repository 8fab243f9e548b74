//! The filter role: between a route and its builder.

use super::build::object;
use crate::error::{Error, Result};
use crate::instance::Instance;
use crate::json::{Call, Json};
use crate::memory::{raw, text, Strided};
use crate::model::{Event, Recipient};
use crate::panics::guard;
use crate::plugin::Plugin;
use crate::sys::{self, *};
use std::marker::PhantomData;

/// Leaves recipients out, changes an event's data, or has pushes wait.
pub trait Filter: Plugin {
    /// JSON Schema of a filter's options in a route; `None` if it takes no options.
    const OPTIONS_SCHEMA: Option<&'static str> = None;

    /// Filters one event for its recipients on a route; recipients that the sink is not told of pass
    /// unchanged. Pure: the same input gives the same output; it may use log and JSON, no other
    /// services. Returns within milliseconds, since the source waits. An error fails the event on
    /// this route.
    fn filter(&self, input: &FilterInput<'_>, sink: &FilterSink<'_>) -> Result<()>;
}

/// The input of a filter; lives during [`Filter::filter`].
pub struct FilterInput<'a> {
    raw: sbx_filter_input,
    recipients: Strided<'a, sbx_recipient>,
    call: Call<'a>,
}

// Everything in the input is borrowed for 'a.
impl<'a> FilterInput<'a> {
    /// The event without its recipients; see [`Self::recipients`].
    pub fn event(&self) -> Event<'a> {
        unsafe { Event::read(self.raw.event) }
    }

    /// The event's data, parsed.
    pub fn data(&self) -> Result<Json<'a>> {
        self.call.parse(object(self.event().data))
    }

    /// The route's name.
    pub fn route(&self) -> &'a str {
        unsafe { text(self.raw.route) }
    }

    /// The instance that emitted the event.
    pub fn instance(&self) -> &'a str {
        unsafe { text(self.raw.instance) }
    }

    /// The filter's options in the route, parsed.
    pub fn options(&self) -> Result<Json<'a>> {
        self.call.parse(object(unsafe { text(self.raw.options) }))
    }

    /// The host's clock, in Unix milliseconds.
    pub fn now_unix_ms(&self) -> u64 {
        self.raw.now_unix_ms
    }

    /// The number of recipients.
    pub fn recipient_count(&self) -> usize {
        self.recipients.len()
    }

    /// Recipients in the order of their indexes, without tokens: a filter needs none.
    pub fn recipients(&self) -> impl Iterator<Item = Recipient<'a>> + 'a {
        self.recipients.iter().map(|raw| {
            let mut recipient = unsafe { Recipient::of(raw) };
            recipient.device.token = "";
            recipient.device.source_token = "";
            recipient
        })
    }

    /// The call, for parsing other JSON.
    pub fn call(&self) -> Call<'a> {
        self.call
    }
}

/// Takes what a filter decides; lives during [`Filter::filter`].
pub struct FilterSink<'a> {
    raw: *mut sbx_filter_sink,
    table: sbx_filter_sink,
    borrowed: PhantomData<&'a mut sbx_filter_sink>,
}

impl FilterSink<'_> {
    /// Passes these recipients on: with this data in place of the event's (a JSON object; empty for
    /// no change), and not before a time of at most 30 days ahead (0 for at once).
    pub fn pass(&self, recipients: &[u32], data: &str, not_before_unix_ms: u64) -> Result<()> {
        let pass = self.table.pass.ok_or_else(missing)?;
        let part = sbx_filter_part {
            recipients: recipients.as_ptr(),
            recipient_count: recipients.len(),
            data: raw(data),
            not_before_unix_ms,
            ..sys::fresh()
        };
        Error::check(unsafe { pass(self.raw, &part) })
            .map_err(|fault| Error::new(fault.status, "the part was not taken"))
    }

    /// These recipients get nothing on this route; `reason` is from a closed list.
    pub fn drop(&self, recipients: &[u32], reason: &str) -> Result<()> {
        let drop = self.table.drop.ok_or_else(missing)?;
        Error::check(unsafe { drop(self.raw, recipients.as_ptr(), recipients.len(), raw(reason)) })
    }
}

fn missing() -> Error {
    Error::unsupported("the host's sink does not offer it")
}

pub(super) fn table<P: Filter>() -> sbx_filter {
    sbx_filter { filter: Some(filter::<P>), ..sys::fresh() }
}

unsafe extern "C" fn filter<P: Filter>(
    instance: *mut sbx_instance,
    input: *const sbx_filter_input,
    sink: *mut sbx_filter_sink,
    error: *mut sbx_error,
) -> sbx_status {
    guard(error, || {
        if input.is_null() || sink.is_null() {
            return Err(Error::internal("filter() was called without an input or a sink"));
        }
        let (plugin, call) = Instance::plugin::<P>(instance)?;
        let raw = sys::read(input);
        let recipients = Strided::new(raw.recipients, raw.recipient_count, raw.recipient_stride);
        let sink = FilterSink { raw: sink, table: sys::read(sink), borrowed: PhantomData };
        plugin.filter(&FilterInput { raw, recipients, call }, &sink)
    })
}
