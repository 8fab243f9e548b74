//! The devices in the gateway's registry.

use super::{answer, Host};
use crate::error::{Error, Result};
use crate::memory::{raw, Strided};
use crate::model::{Change, Device};
use crate::sys::*;
use std::os::raw::c_void;

/// Devices, newest first; they live until the closure that receives them returns. The attribute
/// `online` says whether a device is online.
pub struct Devices<'a>(Strided<'a, sbx_device>);

impl<'a> Devices<'a> {
    /// The number of devices.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether the list is empty.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Iterates over the devices.
    pub fn iter(&self) -> impl Iterator<Item = Device<'a>> + 'a {
        // Borrowed for 'a.
        self.0.iter().map(|raw| unsafe { Device::of(raw) })
    }
}

impl Host {
    /// Looks up a user's devices in an app (empty: in every app). `done` runs once: on a worker
    /// thread, or before this returns if the host rejects the call.
    pub fn devices<F>(&self, app: &str, user: &str, done: F)
    where
        F: for<'a> FnOnce(Result<Devices<'a>>) + Send + 'static,
    {
        let done = move |given: Result<Found>| done(given.and_then(read));
        self.ask_later(self.tables().registry.devices, done, |devices, host, context| unsafe {
            devices(host, raw(app), raw(user), Some(found), context)
        });
    }

    /// Looks up the device with a token; `None` if it is unknown.
    pub fn device<F>(&self, app: &str, token: &str, done: F)
    where
        F: for<'a> FnOnce(Result<Option<Device<'a>>>) + Send + 'static,
    {
        let done = move |given: Result<Found>| {
            done(given.and_then(read).map(|devices| devices.iter().next()))
        };
        self.ask_later(self.tables().registry.find, done, |find, host, context| unsafe {
            find(host, raw(app), raw(token), Some(found), context)
        });
    }

    /// Adds or removes a device outside of a request; durable when `done` gets `Ok`. A change that
    /// belongs to a request goes through its sink.
    pub fn change<F>(&self, change: &Change<'_>, done: F)
    where
        F: FnOnce(Result<()>) + Send + 'static,
    {
        let done = move |given: Result<Found>| done(given.and_then(read).map(|_| ()));
        let device = change.device.raw();
        let given = change.raw(&device);
        self.ask_later(self.tables().registry.change, done, |change, host, context| unsafe {
            change(host, &given, Some(found), context)
        });
    }
}

/// A status with an array of devices and its stride.
type Found = (sbx_status, *const sbx_device, usize, usize);

fn read<'a>((status, devices, count, stride): Found) -> Result<Devices<'a>> {
    // Only a closure that cannot keep it gets it.
    Error::check(status).map(|_| Devices(unsafe { Strided::new(devices, count, stride) }))
}

unsafe extern "C" fn found(
    context: *mut c_void,
    status: sbx_status,
    devices: *const sbx_device,
    count: usize,
    stride: usize,
) {
    answer::<Found>(context, (status, devices, count, stride));
}
