//! Small durable values, with a namespace per instance.

use super::{resume, Host, Pending};
use crate::error::{Error, Result, Status};
use crate::memory::{bytes, raw, raw_bytes, text};
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

type Listed = Box<dyn for<'a> FnOnce(Result<Vec<&'a str>>) + Send>;

struct Searched {
    host: Host,
    done: Listed,
}

impl Pending for Searched {
    fn fail(self, fault: Error) {
        (self.done)(Err(fault));
    }
}

/// The result of [`Host::replace_value`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Replaced<'a> {
    /// The value was stored, or removed.
    Done,
    /// Nothing was changed, because the key has this value; `None` if it is missing.
    Other(Option<&'a [u8]>),
}

type Compared = Box<dyn for<'a> FnOnce(Result<Replaced<'a>>) + Send>;

struct Expected {
    host: Host,
    done: Compared,
}

impl Pending for Expected {
    fn fail(self, fault: Error) {
        (self.done)(Err(fault));
    }
}

type Summed = Box<dyn FnOnce(Result<i64>) + Send>;

struct Added {
    host: Host,
    done: Summed,
}

impl Pending for Added {
    fn fail(self, fault: Error) {
        (self.done)(Err(fault));
    }
}

impl Pending for Given {
    fn fail(self, fault: Error) {
        (self.done)(Err(fault));
    }
}

impl Host {
    /// Reads the value of a key, `None` if it is missing. `done` runs once: on a worker thread, or
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

    /// Lists up to `most` (256) keys that begin with `prefix` and follow `after`, in byte order. For the next page,
    /// `after` is the last key of this one; a page with fewer than `most` keys is the last.
    pub fn keys<F>(&self, prefix: &str, after: &str, most: u32, done: F)
    where
        F: for<'a> FnOnce(Result<Vec<&'a str>>) + Send + 'static,
    {
        let pending = Searched { host: self.clone(), done: Box::new(done) };
        self.ask_later(self.inner.tables.kv.list, pending, |list, host, context| unsafe {
            list(host, raw(prefix), raw(after), most, Some(listed), context)
        });
    }

    /// Compare and set: if the stored value is `expected` (`None` if the key is missing), stores `value`, or removes
    /// the key if `value` is `None`. Atomic, also among several gateways with one database.
    pub fn replace_value<F>(
        &self,
        key: &str,
        expected: Option<&[u8]>,
        value: Option<&[u8]>,
        ttl_ms: u64,
        done: F,
    ) where
        F: for<'a> FnOnce(Result<Replaced<'a>>) + Send + 'static,
    {
        let pending = Expected { host: self.clone(), done: Box::new(done) };
        let (expected, value) = (expected.map(raw_bytes), value.map(raw_bytes));
        let pointer = |text: &Option<sbx_str>| {
            text.as_ref().map_or(std::ptr::null(), |text| text as *const sbx_str)
        };
        self.ask_later(self.inner.tables.kv.replace, pending, |replace, host, context| unsafe {
            let (expected, value) = (pointer(&expected), pointer(&value));
            replace(host, raw(key), expected, value, ttl_ms, Some(compared), context)
        });
    }

    /// Adds to a counter in one step and gives the sum. The first addition makes it with this `ttl_ms`; later ones leave
    /// its end as it is. Fails with `Invalid` if what is stored is no counter.
    pub fn add_to_value<F>(&self, key: &str, amount: i64, ttl_ms: u64, done: F)
    where
        F: FnOnce(Result<i64>) + Send + 'static,
    {
        let pending = Added { host: self.clone(), done: Box::new(done) };
        self.ask_later(self.inner.tables.kv.add, pending, |add, host, context| unsafe {
            add(host, raw(key), amount, ttl_ms, Some(added), context)
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

unsafe extern "C" fn listed(
    context: *mut c_void,
    status: sbx_status,
    keys: *const sbx_str,
    count: usize,
) {
    let Searched { host, done } = resume(context);
    host.report_panic(|| match Error::check(status) {
        Ok(()) => done(Ok((0..count).map(|index| text(*keys.add(index))).collect())),
        Err(fault) => done(Err(fault)),
    });
}

unsafe extern "C" fn compared(context: *mut c_void, status: sbx_status, value: sbx_str) {
    let Expected { host, done } = resume(context);
    host.report_panic(|| match Error::check(status) {
        Ok(()) => done(Ok(Replaced::Done)),
        Err(fault) if fault.status == Status::Again => done(Ok(Replaced::Other(Some(bytes(value))))),
        Err(fault) if fault.status == Status::NotFound => done(Ok(Replaced::Other(None))),
        Err(fault) => done(Err(fault)),
    });
}

unsafe extern "C" fn added(context: *mut c_void, status: sbx_status, sum: i64) {
    let Added { host, done } = resume(context);
    host.report_panic(|| done(Error::check(status).map(|_| sum)));
}
