//! The host as one instance sees it, and its services.

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
use crate::panics;
use crate::sys::{self, *};
use std::ffi::{CStr, CString};
use std::os::raw::c_void;
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
    pub(crate) tables: Tables,
    watchers: Mutex<Vec<Arc<secrets::Watcher>>>,
    timers: timer::Slots,
}

// The contract allows services to be called from any thread; `gate` stops calls to a closed host.
unsafe impl Send for Inner {}
unsafe impl Sync for Inner {}

/// The service tables, at the size that this side knows. A service that the host lacks is empty.
pub(crate) struct Tables {
    pub log: sbx_log,
    pub metrics: sbx_metrics,
    pub secrets: sbx_secrets,
    pub sign: sbx_sign,
    pub clock: sbx_clock,
    pub json: sbx_json,
    pub fit: sbx_fit,
    pub scope: sbx_scope,
    pub crypto: sbx_crypto,
    pub credential: sbx_credential,
    pub certificates: sbx_certificates,
    pub http: sbx_http,
    pub kv: sbx_kv_store,
    pub registry: sbx_registry,
    pub timer: sbx_timer,
    pub send_host: sbx_send_host,
    pub source_host: sbx_source_host,
    pub observe_host: sbx_observe_host,
    pub endpoint_host: sbx_endpoint_host,
}

impl Host {
    /// # Safety
    /// The host lives until [`Host::close`] has returned.
    pub(crate) unsafe fn new(raw: *const sbx_host) -> Host {
        Host {
            inner: Arc::new(Inner {
                raw,
                gate: Gate::default(),
                tables: Tables {
                    log: table(raw, SBX_SVC_LOG),
                    metrics: table(raw, SBX_SVC_METRICS),
                    secrets: table(raw, SBX_SVC_SECRETS),
                    sign: table(raw, SBX_SVC_SIGN),
                    clock: table(raw, SBX_SVC_CLOCK),
                    json: table(raw, SBX_SVC_JSON),
                    fit: table(raw, SBX_SVC_FIT),
                    scope: table(raw, SBX_SVC_SCOPE),
                    crypto: table(raw, SBX_SVC_CRYPTO),
                    credential: table(raw, SBX_SVC_CREDENTIAL),
                    certificates: table(raw, SBX_SVC_CERTIFICATE),
                    http: table(raw, SBX_SVC_HTTP),
                    kv: table(raw, SBX_SVC_KV),
                    registry: table(raw, SBX_SVC_REGISTRY),
                    timer: table(raw, SBX_SVC_TIMER),
                    send_host: table(raw, SBX_SVC_SEND_HOST),
                    source_host: table(raw, SBX_SVC_SOURCE_HOST),
                    observe_host: table(raw, SBX_SVC_OBSERVE_HOST),
                    endpoint_host: table(raw, SBX_SVC_ENDPOINT_HOST),
                },
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

    /// Calls a function of a service, unless the host is closed.
    /// `endpoint` would answer differently now: the host asks it again for each app. It costs new connections.
    pub fn endpoints_changed(&self) -> Result<()> {
        let changed = self.inner.tables.endpoint_host.changed;
        Error::check(self.ask(changed, |changed, host| unsafe { changed(host) })?)
    }

    pub(crate) fn ask<F: Copy, T>(
        &self,
        function: Option<F>,
        call: impl FnOnce(F, *const sbx_host) -> T,
    ) -> Result<T> {
        let function =
            function.ok_or_else(|| Error::unsupported("the host does not offer this service"))?;
        let _open = self.inner.gate.enter()?;
        Ok(call(function, self.inner.raw))
    }

    /// Like `ask`, for answers that come later. The callback gets `context`, which is taken back if
    /// the host rejects the call.
    pub(crate) fn ask_later<F: Copy, P: Pending>(
        &self,
        function: Option<F>,
        pending: P,
        call: impl FnOnce(F, *const sbx_host, *mut c_void) -> sbx_status,
    ) {
        let context = Box::into_raw(Box::new(pending));
        let asked = self.ask(function, |function, host| call(function, host, context.cast()));
        if let Err(fault) = asked.and_then(Error::check) {
            // The host rejected the call, so it never calls back.
            let pending = unsafe { Box::from_raw(context) };
            pending.fail(fault);
        }
    }

    /// Ends all use of the host, and waits for running calls.
    pub(crate) fn close(&self) {
        let watchers = std::mem::take(&mut *lock(&self.inner.watchers));
        drop(watchers);
        self.inner.timers.clear();
        self.inner.gate.close();
    }

    /// Logs a panic of the plugin's own code where no one waits for an answer.
    pub(crate) fn report_panic<T>(&self, body: impl FnOnce() -> T) {
        if let Err(fault) = panics::catch(body) {
            self.log(
                Level::Error,
                "a callback panicked",
                &[crate::Pair::new("error", &fault.message)],
            );
        }
    }
}

/// A closure that waits for an answer.
pub(crate) trait Pending {
    /// Answers with this failure.
    fn fail(self, fault: Error);
}

/// Takes what a callback of the host gets back, exactly once.
///
/// # Safety
/// `ask_later` made `context` from a `P`, and it is not used again.
pub(crate) unsafe fn resume<P: Pending>(context: *mut c_void) -> P {
    *Box::from_raw(context.cast())
}

/// Locks, even after a panic: the data behind these locks is always consistent.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
}

unsafe fn table<T: Growing>(host: *const sbx_host, id: &str) -> T {
    let found = match (sys::read(host).service, CString::new(id)) {
        (Some(service), Ok(id)) => service(host, id.as_ptr()).cast::<T>(),
        _ => std::ptr::null(),
    };
    if found.is_null() {
        return sys::fresh();
    }
    sys::read(found)
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
