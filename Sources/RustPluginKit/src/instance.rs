//! The plugin instance that the host holds, and the functions of `sbx_plugin`.

use crate::error::{Error, Result, Status};
use crate::host::{lock, Credential, Host};
use crate::json::Call;
use crate::memory::bytes;
use crate::panics::guard;
use crate::plugin::Plugin;
use crate::sys::*;
use std::any::Any;
use std::sync::Mutex;
use std::time::Duration;

/// What an `sbx_instance` points to.
pub(crate) struct Instance {
    pub host: Host,
    plugin: Box<dyn Any + Send + Sync>,
    refresh: fn(&dyn Any, &str) -> Result<Credential>,
    kept: Mutex<Vec<Box<dyn Any + Send>>>,
}

impl Instance {
    /// # Safety
    /// The pointer came from `create` and was not passed to `destroy` yet.
    pub unsafe fn from<'a>(raw: *mut sbx_instance) -> Result<&'a Instance> {
        raw.cast::<Instance>().as_ref().ok_or_else(|| Error::internal("there is no instance"))
    }

    /// The plugin, and the host of this call.
    ///
    /// # Safety
    /// As for `from`; 'a is the duration of the call.
    pub unsafe fn plugin<'a, P: Plugin>(raw: *mut sbx_instance) -> Result<(&'a P, Call<'a>)> {
        let instance = Instance::from(raw)?;
        Ok((plugin(&*instance.plugin)?, Call::new(&instance.host)))
    }

    pub fn refresh(&self, name: &str) -> Result<Credential> {
        (self.refresh)(&*self.plugin, name)
    }

    /// Keeps a value that the host may read until `destroy`.
    pub fn keep(&self, value: impl Any + Send) {
        lock(&self.kept).push(Box::new(value));
    }
}

fn plugin<P: Plugin>(any: &dyn Any) -> Result<&P> {
    any.downcast_ref().ok_or_else(|| Error::internal("the instance is another plugin's"))
}

/// Closes a host, unless an instance has taken it over.
struct Opened(Option<Host>);

impl Drop for Opened {
    fn drop(&mut self) {
        if let Some(host) = self.0.take() {
            host.close();
        }
    }
}

pub(crate) unsafe extern "C" fn create<P: Plugin>(
    host: *const sbx_host,
    config: sbx_str,
    instance: *mut *mut sbx_instance,
    error: *mut sbx_error,
) -> sbx_status {
    guard(error, || {
        if host.is_null() || instance.is_null() {
            return Err(Error::internal("create() was called without a host or a place"));
        }
        let mut opened = Opened(Some(Host::new(host)));
        let host = opened.0.clone().ok_or_else(|| Error::internal("it was opened above"))?;
        let json = match bytes(config) {
            [] => &b"{}"[..],
            given => given,
        };
        let made = P::create(host.clone(), Call::new(&host).parse(json)?)?;
        let boxed = Box::new(Instance {
            host,
            plugin: Box::new(made),
            refresh: |any, name| plugin::<P>(any)?.refresh(name),
            kept: Mutex::default(),
        });
        opened.0 = None;
        *instance = Box::into_raw(boxed).cast();
        Ok(())
    })
}

pub(crate) unsafe extern "C" fn start<P: Plugin>(
    instance: *mut sbx_instance,
    error: *mut sbx_error,
) -> sbx_status {
    guard(error, || Instance::plugin::<P>(instance)?.0.start())
}

pub(crate) unsafe extern "C" fn stop<P: Plugin>(
    instance: *mut sbx_instance,
    deadline_monotonic_ns: u64,
    error: *mut sbx_error,
) -> sbx_status {
    let left = Duration::from_nanos(deadline_monotonic_ns.saturating_sub(monotonic_ns()));
    guard(error, || {
        // The contract has one failure here: the instance could not stop in time.
        let stopped = Instance::plugin::<P>(instance)?.0.stop(left);
        stopped.map_err(|fault| Error::new(Status::Timeout, fault.message))
    })
}

pub(crate) unsafe extern "C" fn destroy(instance: *mut sbx_instance) {
    if instance.is_null() {
        return;
    }
    guard(std::ptr::null_mut(), || {
        let Instance { host, plugin, kept, .. } = *Box::from_raw(instance.cast::<Instance>());
        let closing = Opened(Some(host));
        // Dropping the plugin may still log.
        drop(plugin);
        drop(closing);
        drop(kept);
        Ok(())
    });
}

/// Reads the clock of the host's deadlines.
fn monotonic_ns() -> u64 {
    #[repr(C)]
    struct Timespec {
        seconds: i64,
        nanoseconds: i64,
    }
    extern "C" {
        fn clock_gettime(clock: i32, out: *mut Timespec) -> i32;
    }
    const CLOCK_MONOTONIC: i32 = 1;
    let mut now = Timespec { seconds: 0, nanoseconds: 0 };
    // From the C library, which every program here links.
    let code = unsafe { clock_gettime(CLOCK_MONOTONIC, &mut now) };
    match code {
        0 => now.seconds as u64 * 1_000_000_000 + now.nanoseconds as u64,
        _ => 0,
    }
}
