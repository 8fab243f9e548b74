//! The devices in the gateway's registry.

use super::{resume, Host, Pending};
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

type Done = Box<dyn for<'a> FnOnce(Result<Devices<'a>>) + Send>;

struct Asked {
    host: Host,
    done: Done,
}

impl Pending for Asked {
    fn fail(self, fault: Error) {
        (self.done)(Err(fault));
    }
}

impl Host {
    /// Looks up a user's devices in an app (empty: in every app). `done` runs once: on a worker
    /// thread, or before this returns if the host rejects the call.
    pub fn devices<F>(&self, app: &str, user: &str, done: F)
    where
        F: for<'a> FnOnce(Result<Devices<'a>>) + Send + 'static,
    {
        let pending = Asked { host: self.clone(), done: Box::new(done) };
        self.ask_later(
            self.inner.tables.registry.devices,
            pending,
            |devices, host, context| unsafe {
                devices(host, raw(app), raw(user), Some(answered), context)
            },
        );
    }

    /// Looks up the device with a token; `None` if it is unknown.
    pub fn device<F>(&self, app: &str, token: &str, done: F)
    where
        F: for<'a> FnOnce(Result<Option<Device<'a>>>) + Send + 'static,
    {
        let done: Done = Box::new(move |found| done(found.map(|devices| devices.iter().next())));
        let pending = Asked { host: self.clone(), done };
        self.ask_later(self.inner.tables.registry.find, pending, |find, host, context| unsafe {
            find(host, raw(app), raw(token), Some(answered), context)
        });
    }

    /// Adds or removes a device outside of a request; durable when `done` gets `Ok`. A change that
    /// belongs to a request goes through its sink.
    pub fn change<F>(&self, change: &Change<'_>, done: F)
    where
        F: FnOnce(Result<()>) + Send + 'static,
    {
        let done: Done = Box::new(move |answer| done(answer.map(|_| ())));
        let pending = Asked { host: self.clone(), done };
        let device = change.device.raw();
        let given = change.raw(&device);
        self.ask_later(
            self.inner.tables.registry.change,
            pending,
            |change, host, context| unsafe { change(host, &given, Some(answered), context) },
        );
    }
}

unsafe extern "C" fn answered(
    context: *mut c_void,
    status: sbx_status,
    devices: *const sbx_device,
    count: usize,
    stride: usize,
) {
    let Asked { host, done } = resume(context);
    host.report_panic(|| {
        done(Error::check(status).map(|_| Devices(Strided::new(devices, count, stride))))
    });
}
