//! Access tokens that the host keeps fresh, and the contents of certificates.

use super::Host;
use crate::error::{Error, Result};
use crate::instance::Instance;
use crate::memory::{array, bytes, raw, text};
use crate::panics::guard;
use crate::sys::{self, *};
use std::fmt;

/// A new value of a credential.
pub struct Credential {
    /// The value. Never log it.
    pub value: String,
    /// When to refresh it, in Unix milliseconds.
    pub refresh_unix_ms: u64,
    /// When it expires, in Unix milliseconds; 0: never.
    pub expires_unix_ms: u64,
}

impl fmt::Debug for Credential {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "<credential until {}>", self.expires_unix_ms)
    }
}

/// The contents of a leaf certificate.
#[derive(Clone, Debug, Default)]
pub struct Certificate {
    /// `CN=...`
    pub subject: String,
    /// The subject's UID, often a bundle id; empty: none.
    pub user_id: String,
    /// Valid from, in Unix seconds.
    pub not_before_unix_s: i64,
    /// Valid until, in Unix seconds.
    pub not_after_unix_s: i64,
    /// OID and DER value of each extension.
    pub extensions: Vec<(String, Vec<u8>)>,
}

impl Host {
    /// Declares a credential; only in `start`. The host calls [`crate::Plugin::refresh`] for it
    /// right after `start`, ahead of its expiry, and when a provider has refused it, but not sooner
    /// than `min_interval_ms` after the last success.
    pub fn define_credential(&self, name: &str, min_interval_ms: u64) -> Result<()> {
        self.check(self.tables().credential.define, |define, host| unsafe {
            define(host, raw(name), min_interval_ms, Some(refresh))
        })
    }

    /// The current value, or `Again` if it has no value yet. Return that error from `prepare`, and
    /// the host offers the batch again once there is a value.
    pub fn credential(&self, name: &str) -> Result<String> {
        let mut value = raw("");
        let found = self.ask(self.tables().credential.get, |get, host| unsafe {
            // Copied at once: the value lives until the role call returns.
            Error::check(get(host, raw(name), &mut value)).map(|_| text(value).to_string())
        })?;
        found.map_err(|fault| Error {
            message: format!("the credential {name} is not there"),
            ..fault
        })
    }

    fn set_credential(&self, name: &str, new: &Credential) -> Result<()> {
        self.check(self.tables().credential.set, |set, host| unsafe {
            set(host, raw(name), raw(&new.value), new.refresh_unix_ms, new.expires_unix_ms)
        })
    }

    /// The leaf certificate of a secret that holds PEM or PKCS#12. `password` names the secret that
    /// opens it, or is empty.
    pub fn certificate(&self, secret: &str, password: &str) -> Result<Certificate> {
        let mut error: sbx_error = sys::fresh();
        let mut found = std::ptr::null();
        self.ask(self.tables().certificate.read, |read, host| unsafe {
            let code = read(host, raw(secret), raw(password), &mut found, &mut error);
            Error::check_with(code, &error)?;
            if found.is_null() {
                return Err(Error::internal("the host gave no certificate"));
            }
            let given = sys::read(found);
            let extensions = array(given.extensions, given.extension_count);
            Ok(Certificate {
                subject: text(given.subject).to_string(),
                user_id: text(given.user_id).to_string(),
                not_before_unix_s: given.not_before_unix_s,
                not_after_unix_s: given.not_after_unix_s,
                extensions: extensions
                    .iter()
                    .map(|one| (text(one.oid).to_string(), bytes(one.der).to_vec()))
                    .collect(),
            })
        })?
    }
}

unsafe extern "C" fn refresh(
    instance: *mut sbx_instance,
    name: sbx_str,
    error: *mut sbx_error,
) -> sbx_status {
    guard(error, || {
        let instance = Instance::from(instance)?;
        let new = instance.refresh(text(name))?;
        instance.host.set_credential(text(name), &new)
    })
}
