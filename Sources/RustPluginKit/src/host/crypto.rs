//! Digests, keyed digests, derived keys and encryption, with keys that may stay in the host.

use super::Host;
use crate::error::{filled, Result};
use crate::memory::{raw, raw_bytes};
use crate::sys::*;

/// Digests for [`Host::digest`], [`Host::hmac`] and [`Host::hkdf`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hash {
    /// 32 bytes.
    Sha256 = 1,
    /// 48 bytes.
    Sha384,
    /// 64 bytes.
    Sha512,
    /// 20 bytes. Only for peers that require it.
    Sha1,
    /// 16 bytes. Only for peers that require it.
    Md5,
}

/// How a secret is written as text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SecretText {
    /// Hexadecimal digits.
    Hex = 1,
    /// Base64.
    Base64,
    /// Base64 in the URL alphabet.
    Base64Url,
}

/// A key: a secret of the instance, which stays in the host, or bytes that the plugin has.
#[derive(Clone, Copy, Debug, Default)]
pub struct CryptoKey<'a> {
    /// The name of a secret; empty: `bytes` is the key.
    pub secret: &'a str,
    /// An RFC 6901 pointer into a secret that is a JSON document.
    pub pointer: &'a str,
    /// Stands before the secret in the key (`AWS4`).
    pub prefix: &'a str,
    /// The secret is text of this kind, and is decoded first.
    pub text: Option<SecretText>,
    /// The key where no secret is named.
    pub bytes: &'a [u8],
}

impl<'a> CryptoKey<'a> {
    /// A secret as it is.
    pub fn secret(name: &'a str) -> CryptoKey<'a> {
        CryptoKey { secret: name, ..CryptoKey::default() }
    }

    /// Bytes that the plugin has, such as a derived key.
    pub fn bytes(bytes: &'a [u8]) -> CryptoKey<'a> {
        CryptoKey { bytes, ..CryptoKey::default() }
    }

    fn raw(&self) -> sbx_crypto_key {
        sbx_crypto_key {
            text: self.text.map_or(0, |text| text as u32),
            secret: raw(self.secret),
            pointer: raw(self.pointer),
            prefix: raw(self.prefix),
            bytes: raw_bytes(self.bytes),
            ..fresh()
        }
    }
}

impl Host {
    /// The digest of some bytes.
    pub fn digest(&self, hash: Hash, data: &[u8]) -> Result<Vec<u8>> {
        let digest = self.inner.tables.crypto.digest;
        filled(64, |room, length, _| {
            self.ask(digest, |digest, host| unsafe {
                digest(host, hash as u32, raw_bytes(data), room.cast(), length)
            })
        })
    }

    /// HMAC (RFC 2104).
    pub fn hmac(&self, hash: Hash, key: &CryptoKey<'_>, data: &[u8]) -> Result<Vec<u8>> {
        let (key, hmac) = (key.raw(), self.inner.tables.crypto.hmac);
        filled(64, |room, length, error| {
            self.ask(hmac, |hmac, host| unsafe {
                hmac(host, hash as u32, &key, raw_bytes(data), room.cast(), length, error)
            })
        })
    }

    /// HKDF (RFC 5869), extract and expand, for `count` bytes.
    pub fn hkdf(
        &self,
        hash: Hash,
        key: &CryptoKey<'_>,
        salt: &[u8],
        info: &[u8],
        count: usize,
    ) -> Result<Vec<u8>> {
        let (key, hkdf) = (key.raw(), self.inner.tables.crypto.hkdf);
        filled(count, |room, _, error| {
            self.ask(hkdf, |hkdf, host| unsafe {
                let (salt, info) = (raw_bytes(salt), raw_bytes(info));
                hkdf(host, hash as u32, &key, salt, info, room.cast(), count, error)
            })
        })
    }

    /// ECDH on P-256 with a peer's uncompressed point: the own point of 65 bytes and the shared
    /// secret of 32. Without a key of its own, a new one is used for this call alone.
    pub fn agree(&self, peer: &[u8], own: Option<&CryptoKey<'_>>) -> Result<(Vec<u8>, Vec<u8>)> {
        let (own, agree) = (own.map(CryptoKey::raw), self.inner.tables.crypto.agree);
        let mut point = filled(97, |room, _, error| {
            self.ask(agree, |agree, host| unsafe {
                let key = own.as_ref().map_or(std::ptr::null(), |key| key as *const _);
                agree(host, key, raw_bytes(peer), room.cast(), room.add(65).cast(), error)
            })
        })?;
        let shared = point.split_off(65);
        Ok((point, shared))
    }

    /// AES-GCM: the ciphertext and its tag of 16 bytes. The nonce of 12 bytes must never come
    /// again with this key; `added` is authenticated and not encrypted.
    pub fn seal(
        &self,
        plain: &[u8],
        key: &CryptoKey<'_>,
        nonce: &[u8],
        added: &[u8],
    ) -> Result<Vec<u8>> {
        let (key, seal) = (key.raw(), self.inner.tables.crypto.seal);
        filled(plain.len() + 16, |room, length, error| {
            self.ask(seal, |seal, host| unsafe {
                let (nonce, added) = (raw_bytes(nonce), raw_bytes(added));
                seal(host, &key, nonce, added, raw_bytes(plain), room.cast(), length, error)
            })
        })
    }

    /// The reverse of [`Host::seal`]; fails with `Auth` if the parts do not fit each other.
    pub fn open(
        &self,
        sealed: &[u8],
        key: &CryptoKey<'_>,
        nonce: &[u8],
        added: &[u8],
    ) -> Result<Vec<u8>> {
        let (key, open) = (key.raw(), self.inner.tables.crypto.open);
        filled(sealed.len(), |room, length, error| {
            self.ask(open, |open, host| unsafe {
                let (nonce, added) = (raw_bytes(nonce), raw_bytes(added));
                open(host, &key, nonce, added, raw_bytes(sealed), room.cast(), length, error)
            })
        })
    }

    /// Bytes that nobody can guess, at most 64 KiB.
    pub fn random(&self, count: usize) -> Result<Vec<u8>> {
        let random = self.inner.tables.crypto.random;
        filled(count, |room, _, _| {
            self.ask(random, |random, host| unsafe { random(host, room.cast(), count) })
        })
    }
}
