//! The filter role: between a route and its builder.

use super::sink::Sink;
use super::BuildInput;
use crate::error::{Error, Result};
use crate::instance::Instance;
use crate::memory::raw;
use crate::panics::guard;
use crate::plugin::Plugin;
use crate::sys::{self, *};
use std::ops::Deref;

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

/// The input of a filter, which has what a builder gets, and a clock; lives during
/// [`Filter::filter`].
pub struct FilterInput<'a> {
    input: BuildInput<'a>,
    now_unix_ms: u64,
}

impl<'a> Deref for FilterInput<'a> {
    type Target = BuildInput<'a>;

    fn deref(&self) -> &BuildInput<'a> {
        &self.input
    }
}

impl FilterInput<'_> {
    /// The host's clock, in Unix milliseconds.
    pub fn now_unix_ms(&self) -> u64 {
        self.now_unix_ms
    }
}

/// Takes what a filter decides; lives during [`Filter::filter`].
pub struct FilterSink<'a>(Sink<'a, sbx_filter_sink>);

impl FilterSink<'_> {
    /// Passes these recipients on: with this data in place of the event's (a JSON object; empty for
    /// no change), and not before a time of at most 30 days ahead (0 for at once).
    pub fn pass(&self, recipients: &[u32], data: &str, not_before_unix_ms: u64) -> Result<()> {
        let part = sbx_filter_part {
            recipients: recipients.as_ptr(),
            recipient_count: recipients.len(),
            data: raw(data),
            not_before_unix_ms,
            ..sys::fresh()
        };
        let refusal = "the part was not taken";
        self.0.call(|sink| sink.pass, refusal, |pass, sink| unsafe { pass(sink, &part) })
    }

    /// These recipients get nothing on this route; `reason` is from a closed list.
    pub fn drop(&self, recipients: &[u32], reason: &str) -> Result<()> {
        let (list, count) = (recipients.as_ptr(), recipients.len());
        self.0.call(
            |sink| sink.drop,
            "the recipients were not taken",
            |drop, sink| unsafe { drop(sink, list, count, raw(reason)) },
        )
    }
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
        if input.is_null() {
            return Err(Error::internal("filter() was called without an input"));
        }
        let (plugin, call) = Instance::plugin::<P>(instance)?;
        let raw = sys::read(input);
        let given = sbx_build_input {
            event: raw.event,
            route: raw.route,
            instance: raw.instance,
            options: raw.options,
            recipients: raw.recipients,
            recipient_count: raw.recipient_count,
            recipient_stride: raw.recipient_stride,
            ..sys::fresh()
        };
        let input =
            FilterInput { input: BuildInput::new(given, call), now_unix_ms: raw.now_unix_ms };
        plugin.filter(&input, &FilterSink(Sink::new(sink)?))
    })
}
