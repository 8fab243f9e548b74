//! Secrets by name, and signatures with keys that never leave the host.

use super::call::Room;
use super::{lock, Host};
use crate::error::{Result, Status};
use crate::memory::{raw, raw_bytes, wipe};
use crate::sys::sbx_str;
use std::fmt;
use std::os::raw::c_void;
use std::sync::Arc;

/// Algorithms for [`Host::sign`] and [`Host::verify`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Algorithm {
    /// EC P-256; a signature is raw r‖s, 64 bytes.
    Es256 = 1,
    /// RSA, PKCS#1 v1.5.
    Rs256,
    /// RSA, PSS.
    Ps256,
    /// The key is the secret's bytes; a signature has 32 bytes.
    HmacSha256,
    /// A signature has 20 bytes. Only for sources that require it.
    HmacSha1,
    /// A signature has 64 bytes.
    Ed25519,
}

/// Forms for [`Host::public_key`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PublicKeyForm {
    /// P-256: the uncompressed point of 65 bytes; Ed25519: 32 bytes.
    Raw = 1,
    /// JSON as RFC 7638 has it: its SHA-256 is the thumbprint.
    Jwk,
    /// `BEGIN PUBLIC KEY`.
    Pem,
}

/// Which key to use: a whole secret, or a place inside a secret that is a JSON document.
#[derive(Clone, Copy, Debug)]
pub struct Key<'a> {
    secret: &'a str,
    pointer: &'a str,
}

impl<'a> Key<'a> {
    /// The key at an RFC 6901 pointer (`/private_key`) into a secret.
    pub fn at(secret: &'a str, pointer: &'a str) -> Key<'a> {
        Key { secret, pointer }
    }

    fn raw(&self) -> (sbx_str, sbx_str) {
        (raw(self.secret), raw(self.pointer))
    }
}

impl<'a> From<&'a str> for Key<'a> {
    /// The whole secret.
    fn from(secret: &'a str) -> Key<'a> {
        Key { secret, pointer: "" }
    }
}

/// The value of a secret, overwritten on drop.
pub struct Secret(Vec<u8>);

impl Secret {
    /// The bytes.
    pub fn bytes(&self) -> &[u8] {
        &self.0
    }

    /// Whether these bytes equal the secret, in a time that does not reveal how many match.
    pub fn equals(&self, given: &[u8]) -> bool {
        let mut difference = (self.0.len() != given.len()) as u8 | self.0.is_empty() as u8;
        for (index, byte) in given.iter().enumerate() {
            let own = if self.0.is_empty() { 0 } else { self.0[index % self.0.len()] };
            difference |= byte ^ own;
        }
        // A volatile read, so that the compiler cannot end the loop early.
        unsafe { std::ptr::read_volatile(&difference) == 0 }
    }
}

impl Drop for Secret {
    fn drop(&mut self) {
        wipe(&mut self.0);
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("<secret>")
    }
}

/// A closure to call when a secret changes.
pub(crate) struct Watcher {
    host: std::sync::Weak<super::Inner>,
    body: Box<dyn Fn() + Send + Sync>,
}

impl Host {
    /// The value behind a config field of format `secret`; prefer [`Host::sign`].
    pub fn secret(&self, name: &str) -> Result<Secret> {
        let secret = self.fill(self.tables().secrets.get, 1024, |get, host, room| unsafe {
            get(host, raw(name), room.start, room.length)
        });
        secret.map(Secret)
    }

    /// Runs a closure on a worker thread whenever the file of a secret has changed, until
    /// `stop`; only in `start`.
    pub fn watch(&self, secret: &str, body: impl Fn() + Send + Sync + 'static) -> Result<()> {
        let watcher = Arc::new(Watcher { host: Arc::downgrade(&self.inner), body: Box::new(body) });
        let context = Arc::as_ptr(&watcher) as *mut c_void;
        // Kept until the instance is destroyed, when no callback runs any longer.
        lock(&self.inner.watchers).push(watcher);
        self.check(self.tables().secrets.watch, |watch, host| unsafe {
            watch(host, raw(secret), Some(changed), context)
        })
    }

    /// Signs with a secret that never leaves the host.
    pub fn sign<'k>(
        &self,
        algorithm: Algorithm,
        key: impl Into<Key<'k>>,
        data: &[u8],
    ) -> Result<Vec<u8>> {
        let ((secret, pointer), data) = (key.into().raw(), raw_bytes(data));
        self.fill(self.tables().sign.sign, 512, |sign, host, room| unsafe {
            let Room { start, length, error } = room;
            sign(host, algorithm as u32, secret, pointer, data, start, length, error)
        })
    }

    /// The public half of a key that signs; fails with `Unsupported` in a host of contract 1.0.
    pub fn public_key<'k>(&self, form: PublicKeyForm, key: impl Into<Key<'k>>) -> Result<Vec<u8>> {
        let (secret, pointer) = key.into().raw();
        self.fill(self.tables().sign.public_key, 512, |public_key, host, room| unsafe {
            public_key(host, secret, pointer, form as u32, room.start, room.length, room.error)
        })
    }

    /// Whether a signature is valid, checked in constant time.
    ///
    /// Besides a secret, a public key may be given itself as PEM, JWK or JWK set; `/keys/KID` chooses one of a set.
    pub fn verify<'k>(
        &self,
        algorithm: Algorithm,
        key: impl Into<Key<'k>>,
        data: &[u8],
        signature: &[u8],
    ) -> Result<bool> {
        let (secret, pointer) = key.into().raw();
        let (data, signature) = (raw_bytes(data), raw_bytes(signature));
        let fits = self.check_with(self.tables().sign.verify, |verify, host, error| unsafe {
            verify(host, algorithm as u32, secret, pointer, data, signature, error)
        });
        match fits {
            Err(fault) if fault.status == Status::Auth => Ok(false),
            fits => fits.map(|_| true),
        }
    }

    /// Whether a signature is valid for any of several keys, for key rotation; tries all of them.
    pub fn verify_any<S: AsRef<str>>(
        &self,
        algorithm: Algorithm,
        keys: &[S],
        data: &[u8],
        signature: &[u8],
    ) -> Result<bool> {
        let mut fits = false;
        for key in keys {
            fits |= self.verify(algorithm, key.as_ref(), data, signature)?;
        }
        Ok(fits)
    }
}

unsafe extern "C" fn changed(context: *mut c_void) {
    // Its host keeps it alive until the instance is destroyed.
    let watcher = &*context.cast::<Watcher>();
    if let Some(inner) = watcher.host.upgrade() {
        Host { inner }.report_panic(|| (watcher.body)());
    }
}
