//! Devices and recipients.

use crate::memory::{pairs, raw, text, Pair};
use crate::sys::{self, *};

/// One installation of one app.
#[derive(Clone, Copy, Debug, Default)]
pub struct Device<'a> {
    /// Bundle id or project; empty: the default app of whoever sends.
    pub app: &'a str,
    /// `ios`, `android`, ...: chooses the sender in a route.
    pub platform: &'a str,
    /// `apns`, `fcm`, ...; empty: follows from the platform.
    pub provider: &'a str,
    /// Fit for the provider.
    pub token: &'a str,
    /// Exactly as the source delivered it; empty: same as `token`.
    pub source_token: &'a str,
    /// The source's user id.
    pub user: &'a str,
    /// BCP 47: `de-AT`.
    pub locale: &'a str,
    /// 0: unknown.
    pub registered_unix_ms: u64,
    /// What its registration said beside.
    pub attributes: &'a [Pair<'a>],
}

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

    /// # Safety
    /// What it points to is borrowed for 'a.
    pub(crate) unsafe fn of(given: sbx_device) -> Device<'a> {
        Device {
            app: text(given.app),
            platform: text(given.platform),
            provider: text(given.provider),
            token: text(given.token),
            source_token: text(given.source_token),
            user: text(given.user),
            locale: text(given.locale),
            registered_unix_ms: given.registered_unix_ms,
            attributes: pairs(given.attributes, given.attribute_count),
        }
    }

    pub(crate) fn raw(&self) -> sbx_device {
        sbx_device {
            app: raw(self.app),
            platform: raw(self.platform),
            provider: raw(self.provider),
            token: raw(self.token),
            source_token: raw(self.source_token),
            user: raw(self.user),
            locale: raw(self.locale),
            registered_unix_ms: self.registered_unix_ms,
            attributes: Pair::raw(self.attributes),
            attribute_count: self.attributes.len(),
            ..sys::fresh()
        }
    }
}

/// Who should get an event: a device with a token, or a user whose devices the host looks up.
#[derive(Clone, Copy, Debug, Default)]
pub struct Recipient<'a> {
    /// The device, or only its `user` (and `app`).
    pub device: Device<'a>,
    /// What the source knows of this recipient: `unread`, `online`.
    pub attributes: &'a [Pair<'a>],
}

impl<'a> Recipient<'a> {
    /// A device.
    pub fn device(device: Device<'a>) -> Recipient<'a> {
        Recipient { device, attributes: &[] }
    }

    /// A user, on all of the devices of an app; empty: of every app.
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
