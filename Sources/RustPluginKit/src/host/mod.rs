//! The host as one instance sees it, and its services.

mod call;
mod credential;
mod crypto;
mod fit;
mod http;
mod kv;
mod log;
mod registry;
mod scope;
mod secrets;
mod timer;

pub(crate) use self::call::answer;
pub use self::credential::{Certificate, Credential};
pub use self::crypto::{CryptoKey, Hash, SecretText};
pub use self::fit::{PayloadLimit, TextField};
pub use self::http::{HttpAnswer, HttpCall};
pub use self::kv::Replaced;
pub use self::log::{Counter, Gauge, Level};
pub use self::registry::Devices;
pub use self::secrets::{Algorithm, Key, PublicKeyForm, Secret};
pub use self::timer::Timer;

use crate::error::{Error, Result, Status};
use crate::sys::{self, *};
use std::ffi::CStr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

/// The host as one instance sees it: logs, metrics, secrets and keys are the instance's own.
///
/// Clone it freely, also into closures and threads. Once the instance is destroyed, every call
/// fails with [`Status::Stopping`].
#[derive(Clone)]
pub struct Host {
    pub(crate) inner: Arc<Inner>,
}

pub(crate) struct Inner {
    raw: *const sbx_host,
    gate: Gate,
    pub(crate) tables: Services,
    watchers: Mutex<Vec<Arc<secrets::Watcher>>>,
    timers: timer::Slots,
}

// The contract allows services to be called from any thread; `gate` stops calls to a closed host.
unsafe impl Send for Inner {}
unsafe impl Sync for Inner {}

impl Host {
    /// # Safety
    /// The host lives until [`Host::close`] has returned.
    pub(crate) unsafe fn new(raw: *const sbx_host) -> Host {
        Host {
            inner: Arc::new(Inner {
                raw,
                gate: Gate::default(),
                tables: Services::of(raw),
                watchers: Mutex::default(),
                timers: timer::Slots::default(),
            }),
        }
    }

    /// The instance's name in gateway.yaml.
    pub fn instance_name(&self) -> String {
        self.text_of(|host| host.instance)
    }

    /// The version of the gateway.
    pub fn version(&self) -> String {
        self.text_of(|host| host.version)
    }

    fn text_of(&self, field: impl Fn(&sbx_host) -> *const std::os::raw::c_char) -> String {
        let _open = match self.inner.gate.enter() {
            Ok(open) => open,
            Err(_) => return String::new(),
        };
        // The host lives while the gate is open, and its text ends with NUL.
        unsafe {
            let start = field(&sys::read(self.inner.raw));
            match start.is_null() {
                true => String::new(),
                false => CStr::from_ptr(start).to_string_lossy().into_owned(),
            }
        }
    }

    pub(crate) fn tables(&self) -> &Services {
        &self.inner.tables
    }

    /// `endpoint` would answer differently now: the host asks it again for each app. It costs new connections.
    pub fn endpoints_changed(&self) -> Result<()> {
        self.check(self.tables().endpoint_host.changed, |changed, host| unsafe { changed(host) })
    }

    /// Ends all use of the host, and waits for running calls.
    pub(crate) fn close(&self) {
        let watchers = std::mem::take(&mut *lock(&self.inner.watchers));
        drop(watchers);
        self.inner.timers.clear();
        self.inner.gate.close();
    }
}

/// Locks, even after a panic: the data behind these locks is always consistent.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
}

/// Counts the calls that are inside the host; once closed, it admits none.
#[derive(Default)]
struct Gate(AtomicUsize);

const CLOSED: usize = 1 << (usize::BITS - 1);

impl Gate {
    fn enter(&self) -> Result<Entered<'_>> {
        let entered = Entered(self);
        match self.0.fetch_add(1, Ordering::Acquire) & CLOSED {
            0 => Ok(entered),
            _ => Err(Error::new(Status::Stopping, "the instance has ended")),
        }
    }

    fn close(&self) {
        self.0.fetch_or(CLOSED, Ordering::AcqRel);
        while self.0.load(Ordering::Acquire) != CLOSED {
            thread::sleep(Duration::from_millis(1));
        }
    }
}

struct Entered<'a>(&'a Gate);

impl Drop for Entered<'_> {
    fn drop(&mut self) {
        self.0 .0.fetch_sub(1, Ordering::Release);
    }
}
