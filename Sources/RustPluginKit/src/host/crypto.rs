//! Digests, keyed digests, derived keys and encryption, with keys that may stay in the host.

use super::Host;
use crate::error::Result;
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
        self.fill(self.tables().crypto.digest, 64, |digest, host, room| unsafe {
            digest(host, hash as u32, raw_bytes(data), room.start, room.length)
        })
    }

    /// HMAC (RFC 2104).
    pub fn hmac(&self, hash: Hash, key: &CryptoKey<'_>, data: &[u8]) -> Result<Vec<u8>> {
        let (hash, key, data) = (hash as u32, key.raw(), raw_bytes(data));
        self.fill(self.tables().crypto.hmac, 64, |hmac, host, room| unsafe {
            hmac(host, hash, &key, data, room.start, room.length, room.error)
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
        let (key, salt, info) = (key.raw(), raw_bytes(salt), raw_bytes(info));
        self.fill(self.tables().crypto.hkdf, count, |hkdf, host, room| unsafe {
            hkdf(host, hash as u32, &key, salt, info, room.start, count, room.error)
        })
    }

    /// ECDH on P-256 with a peer's uncompressed point: the own point of 65 bytes and the shared
    /// secret of 32. Without a key of its own, a new one is used for this call alone.
    pub fn agree(&self, peer: &[u8], own: Option<&CryptoKey<'_>>) -> Result<(Vec<u8>, Vec<u8>)> {
        let own = own.map(CryptoKey::raw);
        let key = own.as_ref().map_or(std::ptr::null(), |key| key as *const _);
        let mut point = self.fill(self.tables().crypto.agree, 97, |agree, host, room| unsafe {
            let shared = room.start.cast::<u8>().add(65);
            agree(host, key, raw_bytes(peer), room.start, shared.cast(), room.error)
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
        let (key, nonce, added) = (key.raw(), raw_bytes(nonce), raw_bytes(added));
        let (count, plain) = (plain.len() + 16, raw_bytes(plain));
        self.fill(self.tables().crypto.seal, count, |seal, host, room| unsafe {
            seal(host, &key, nonce, added, plain, room.start, room.length, room.error)
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
        let (key, nonce, added) = (key.raw(), raw_bytes(nonce), raw_bytes(added));
        let (count, sealed) = (sealed.len(), raw_bytes(sealed));
        self.fill(self.tables().crypto.open, count, |open, host, room| unsafe {
            open(host, &key, nonce, added, sealed, room.start, room.length, room.error)
        })
    }

    /// Bytes that nobody can guess, at most 64 KiB.
    pub fn random(&self, count: usize) -> Result<Vec<u8>> {
        self.fill(self.tables().crypto.random, count, |random, host, room| unsafe {
            random(host, room.start, count)
        })
    }
}
