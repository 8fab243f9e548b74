//! Small durable values, with a namespace per instance.

use super::{answer, Host};
use crate::error::{Error, Result};
use crate::memory::{array, bytes, raw, raw_bytes, text};
use crate::sys::*;
use std::os::raw::c_void;
use std::ptr;

/// The result of [`Host::replace_value`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Replaced<'a> {
    /// The value was stored, or removed.
    Done,
    /// Nothing was changed, because the key has this value; `None` if it is missing.
    Other(Option<&'a [u8]>),
}

/// A status with a value, with keys and with a sum, as the callbacks have them.
type Value = (sbx_status, sbx_str);
type Keys = (sbx_status, *const sbx_str, usize);
type Sum = (sbx_status, i64);

impl Host {
    /// Reads the value of a key, `None` if it is missing. `done` runs once: on a worker thread, or
    /// before this returns if the host rejects the call.
    pub fn value<F>(&self, key: &str, done: F)
    where
        F: for<'a> FnOnce(Result<Option<&'a [u8]>>) + Send + 'static,
    {
        let read = |(status, value): Value| match status {
            SBX_E_NOT_FOUND => Ok(None),
            status => Error::check(status).map(|_| Some(unsafe { bytes(value) })),
        };
        let done = move |given: Result<Value>| done(given.and_then(read));
        self.ask_later(self.tables().kv.get, done, |get, host, context| unsafe {
            get(host, raw(key), Some(valued), context)
        });
    }

    /// Stores a value; it is durable when `done` gets `Ok`. `ttl_ms` 0: no expiry.
    pub fn set_value<F>(&self, key: &str, value: &[u8], ttl_ms: u64, done: F)
    where
        F: FnOnce(Result<()>) + Send + 'static,
    {
        let value = raw_bytes(value);
        self.ask_later(self.tables().kv.put, kept(done), |put, host, context| unsafe {
            put(host, raw(key), value, ttl_ms, Some(valued), context)
        });
    }

    /// Removes a value.
    pub fn remove_value<F>(&self, key: &str, done: F)
    where
        F: FnOnce(Result<()>) + Send + 'static,
    {
        self.ask_later(self.tables().kv.remove, kept(done), |remove, host, context| unsafe {
            remove(host, raw(key), Some(valued), context)
        });
    }

    /// Lists up to `most` (256) keys that begin with `prefix` and follow `after`, in byte order. For the next page,
    /// `after` is the last key of this one; a page with fewer than `most` keys is the last.
    pub fn keys<F>(&self, prefix: &str, after: &str, most: u32, done: F)
    where
        F: for<'a> FnOnce(Result<Vec<&'a str>>) + Send + 'static,
    {
        let read = |(status, keys, count): Keys| {
            let keys = unsafe { array(keys, count) };
            Error::check(status).map(|_| keys.iter().map(|key| unsafe { text(*key) }).collect())
        };
        let done = move |given: Result<Keys>| done(given.and_then(read));
        self.ask_later(self.tables().kv.list, done, |list, host, context| unsafe {
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
        let read = |(status, value): Value| match status {
            SBX_E_AGAIN => Ok(Replaced::Other(Some(unsafe { bytes(value) }))),
            SBX_E_NOT_FOUND => Ok(Replaced::Other(None)),
            status => Error::check(status).map(|_| Replaced::Done),
        };
        let done = move |given: Result<Value>| done(given.and_then(read));
        let (expected, value) = (expected.map(raw_bytes), value.map(raw_bytes));
        let pointer =
            |text: &Option<sbx_str>| text.as_ref().map_or(ptr::null(), |text| text as *const _);
        self.ask_later(self.tables().kv.replace, done, |replace, host, context| unsafe {
            let (expected, value) = (pointer(&expected), pointer(&value));
            replace(host, raw(key), expected, value, ttl_ms, Some(valued), context)
        });
    }

    /// Adds to a counter in one step and gives the sum. The first addition makes it with this `ttl_ms`; later ones leave
    /// its end as it is. Fails with `Invalid` if what is stored is no counter.
    pub fn add_to_value<F>(&self, key: &str, amount: i64, ttl_ms: u64, done: F)
    where
        F: FnOnce(Result<i64>) + Send + 'static,
    {
        let read = |(status, sum): Sum| Error::check(status).map(|_| sum);
        let done = move |given: Result<Sum>| done(given.and_then(read));
        self.ask_later(self.tables().kv.add, done, |add, host, context| unsafe {
            add(host, raw(key), amount, ttl_ms, Some(added), context)
        });
    }
}

fn kept(done: impl FnOnce(Result<()>) + Send) -> impl FnOnce(Result<Value>) + Send {
    |given| done(given.and_then(|(status, _)| Error::check(status)))
}

unsafe extern "C" fn valued(context: *mut c_void, status: sbx_status, value: sbx_str) {
    answer::<Value>(context, (status, value));
}

unsafe extern "C" fn listed(
    context: *mut c_void,
    status: sbx_status,
    keys: *const sbx_str,
    n: usize,
) {
    answer::<Keys>(context, (status, keys, n));
}

unsafe extern "C" fn added(context: *mut c_void, status: sbx_status, sum: i64) {
    answer::<Sum>(context, (status, sum));
}
