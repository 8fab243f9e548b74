//! Small durable values, with a namespace per instance.

use super::{resume, Host, Pending};
use crate::error::{Error, Result, Status};
use crate::memory::{bytes, raw, raw_bytes};
use crate::sys::*;
use std::os::raw::c_void;

type Found = Box<dyn for<'a> FnOnce(Result<Option<&'a [u8]>>) + Send>;
type Kept = Box<dyn FnOnce(Result<()>) + Send>;

struct Asked {
    host: Host,
    done: Found,
}

impl Pending for Asked {
    fn fail(self, fault: Error) {
        (self.done)(Err(fault));
    }
}

struct Given {
    host: Host,
    done: Kept,
}

impl Pending for Given {
    fn fail(self, fault: Error) {
        (self.done)(Err(fault));
    }
}

impl Host {
    /// Reads the value of a key, `None` if there is none. `done` runs once: on a worker thread, or
    /// before this returns if the host rejects the call.
    pub fn value<F>(&self, key: &str, done: F)
    where
        F: for<'a> FnOnce(Result<Option<&'a [u8]>>) + Send + 'static,
    {
        let pending = Asked { host: self.clone(), done: Box::new(done) };
        self.ask_later(self.inner.tables.kv.get, pending, |get, host, context| unsafe {
            get(host, raw(key), Some(found), context)
        });
    }

    /// Stores a value; it is durable when `done` gets `Ok`. `ttl_ms` 0: no expiry.
    pub fn set_value<F>(&self, key: &str, value: &[u8], ttl_ms: u64, done: F)
    where
        F: FnOnce(Result<()>) + Send + 'static,
    {
        let pending = Given { host: self.clone(), done: Box::new(done) };
        self.ask_later(self.inner.tables.kv.put, pending, |put, host, context| unsafe {
            put(host, raw(key), raw_bytes(value), ttl_ms, Some(kept), context)
        });
    }

    /// Removes a value.
    pub fn remove_value<F>(&self, key: &str, done: F)
    where
        F: FnOnce(Result<()>) + Send + 'static,
    {
        let pending = Given { host: self.clone(), done: Box::new(done) };
        self.ask_later(self.inner.tables.kv.remove, pending, |remove, host, context| unsafe {
            remove(host, raw(key), Some(kept), context)
        });
    }
}

unsafe extern "C" fn found(context: *mut c_void, status: sbx_status, value: sbx_str) {
    let Asked { host, done } = resume(context);
    host.report_panic(|| match Error::check(status) {
        Ok(()) => done(Ok(Some(bytes(value)))),
        Err(fault) if fault.status == Status::NotFound => done(Ok(None)),
        Err(fault) => done(Err(fault)),
    });
}

unsafe extern "C" fn kept(context: *mut c_void, status: sbx_status, _: sbx_str) {
    let Given { host, done } = resume(context);
    host.report_panic(|| done(Error::check(status)));
}
