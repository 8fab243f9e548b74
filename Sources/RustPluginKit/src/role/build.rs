//! The build role: an event and its recipients in, neutral notifications out.

use super::sink::Sink;
use crate::error::{Error, Result};
use crate::instance::Instance;
use crate::json::{Call, Json};
use crate::memory::{raw, text, Strided};
use crate::model::{Event, Notification, Recipient};
use crate::panics::guard;
use crate::plugin::Plugin;
use crate::sys::{self, *};
use std::mem::size_of;

/// Builds notifications from events.
pub trait Build: Plugin {
    /// JSON Schema of a route's `build.options`; `None`: it takes no options.
    const OPTIONS_SCHEMA: Option<&'static str> = None;

    /// Pure: the same input gives the same output. It may use log and JSON, no other services.
    fn build(&self, input: &BuildInput<'_>, sink: &BuildSink<'_>) -> Result<()>;
}

/// The input of a builder; lives during [`Build::build`].
pub struct BuildInput<'a> {
    raw: sbx_build_input,
    recipients: Strided<'a, sbx_recipient>,
    call: Call<'a>,
}

// Everything in the input is borrowed for 'a.
impl<'a> BuildInput<'a> {
    /// # Safety
    /// What it points to is borrowed for 'a.
    pub(super) unsafe fn new(raw: sbx_build_input, call: Call<'a>) -> BuildInput<'a> {
        let recipients = Strided::new(raw.recipients, raw.recipient_count, raw.recipient_stride);
        BuildInput { raw, recipients, call }
    }

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

    /// The route's options, parsed.
    pub fn options(&self) -> Result<Json<'a>> {
        self.call.parse(object(unsafe { text(self.raw.options) }))
    }

    /// The number of recipients.
    pub fn recipient_count(&self) -> usize {
        self.recipients.len()
    }

    /// Recipients in the order of [`Target`] indexes, without tokens: a plugin needs none here.
    pub fn recipients(&self) -> impl Iterator<Item = Recipient<'a>> + 'a {
        self.recipients.iter().map(|raw| {
            let mut recipient = unsafe { Recipient::of(raw) };
            recipient.device.token = "";
            recipient.device.source_token = "";
            recipient
        })
    }

    /// All recipients as targets.
    pub fn everyone(&self) -> Vec<Target> {
        (0..self.recipient_count()).map(Target::new).collect()
    }

    /// The call, for parsing other JSON.
    pub fn call(&self) -> Call<'a> {
        self.call
    }
}

fn object(text: &str) -> &[u8] {
    match text {
        "" => b"{}",
        given => given.as_bytes(),
    }
}

/// A recipient of a content, with what differs for that recipient.
#[repr(transparent)]
#[derive(Clone, Copy)]
pub struct Target(sbx_target);

impl Target {
    /// The recipient at this index of [`BuildInput::recipients`].
    pub fn new(recipient: usize) -> Target {
        let recipient = u32::try_from(recipient).unwrap_or(u32::MAX);
        Target(sbx_target { recipient, ..sys::fresh() })
    }

    /// Sets a badge that overrides the notification's.
    pub fn badge(mut self, badge: i32) -> Target {
        self.0.flags |= SBX_T_BADGE;
        self.0.badge = badge;
        self
    }
}

/// Where notifications go; lives during [`Build::build`].
pub struct BuildSink<'a>(Sink<'a, sbx_build_sink>);

impl BuildSink<'_> {
    /// Sends this content to these recipients. Emit a content once for all who share it.
    pub fn emit(&self, notification: &Notification<'_>, targets: &[Target]) -> Result<()> {
        let (given, stride) = (notification.raw(), size_of::<sbx_target>());
        // A target is a struct of the contract.
        let list = targets.as_ptr().cast();
        self.0.call(
            |sink| sink.emit,
            "the notification was not taken",
            |emit, sink| unsafe { emit(sink, &given, list, targets.len(), stride) },
        )
    }

    /// Leaves a recipient out on purpose; `reason` is from a closed list.
    pub fn skip(&self, recipient: usize, reason: &str) -> Result<()> {
        let recipient = u32::try_from(recipient).unwrap_or(u32::MAX);
        self.0.call(
            |sink| sink.skip,
            "there is no such recipient",
            |skip, sink| unsafe { skip(sink, recipient, raw(reason)) },
        )
    }
}

pub(super) fn table<P: Build>() -> sbx_build {
    sbx_build { build: Some(build::<P>), ..sys::fresh() }
}

unsafe extern "C" fn build<P: Build>(
    instance: *mut sbx_instance,
    input: *const sbx_build_input,
    sink: *mut sbx_build_sink,
    error: *mut sbx_error,
) -> sbx_status {
    guard(error, || {
        if input.is_null() {
            return Err(Error::internal("build() was called without an input"));
        }
        let (plugin, call) = Instance::plugin::<P>(instance)?;
        let sink = BuildSink(Sink::new(sink)?);
        plugin.build(&BuildInput::new(sys::read(input), call), &sink)
    })
}
