//! Devices and recipients.

use super::Device;
use crate::memory::{pairs, Pair};
use crate::sys::{self, *};

impl<'a> Device<'a> {
    /// The value of an attribute.
    pub fn attribute(&self, name: &str) -> Option<&'a str> {
        Pair::find(self.attributes, name)
    }

    /// # Safety
    /// The device is borrowed for 'a; `given` may be null.
    pub(crate) unsafe fn read(given: *const sbx_device) -> Device<'a> {
        match given.is_null() {
            true => Device::default(),
            false => Device::of(sys::read(given)),
        }
    }
}

/// Who gets an event: a device with a token, or a user whose devices the host looks up.
#[derive(Clone, Copy, Debug, Default)]
pub struct Recipient<'a> {
    /// The device, or only its `user` (and `app`).
    pub device: Device<'a>,
    /// What the source knows about this recipient: `unread`, `online`.
    pub attributes: &'a [Pair<'a>],
}

impl<'a> Recipient<'a> {
    /// A single device.
    pub fn device(device: Device<'a>) -> Recipient<'a> {
        Recipient { device, attributes: &[] }
    }

    /// All of a user's devices in an app; empty: in every app.
    pub fn user(user: &'a str, app: &'a str) -> Recipient<'a> {
        Recipient::device(Device { user, app, ..Device::default() })
    }

    /// The value of an attribute.
    pub fn attribute(&self, name: &str) -> Option<&'a str> {
        Pair::find(self.attributes, name)
    }

    /// # Safety
    /// What it points to is borrowed for 'a.
    pub(crate) unsafe fn of(given: sbx_recipient) -> Recipient<'a> {
        Recipient {
            device: Device::read(given.device),
            attributes: pairs(given.attributes, given.attribute_count),
        }
    }

    pub(crate) fn raw(&self, device: &sbx_device) -> sbx_recipient {
        sbx_recipient {
            device,
            attributes: Pair::raw(self.attributes),
            attribute_count: self.attributes.len(),
            ..sys::fresh()
        }
    }
}
