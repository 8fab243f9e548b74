//! Text, pairs and arrays as they cross the contract: a borrowed pointer with a length.

use crate::sys::{self, sbx_kv, sbx_str, Growing};
use std::marker::PhantomData;
use std::{fmt, ptr, slice, str};

/// Borrowed bytes in the contract's form; usually made from a `&str` or a `&[u8]`.
#[repr(transparent)]
#[derive(Clone, Copy)]
pub struct Text<'a> {
    raw: sbx_str,
    borrowed: PhantomData<&'a [u8]>,
}

// The bytes are only read.
unsafe impl Send for Text<'_> {}
unsafe impl Sync for Text<'_> {}

impl<'a> Text<'a> {
    /// The bytes.
    pub fn bytes(&self) -> &'a [u8] {
        // Whoever made it has borrowed the bytes for 'a.
        unsafe { bytes(self.raw) }
    }

    /// The text; empty if the bytes are not UTF-8, which the contract rules out.
    pub fn as_str(&self) -> &'a str {
        str::from_utf8(self.bytes()).unwrap_or("")
    }
}

impl<'a> From<&'a [u8]> for Text<'a> {
    fn from(bytes: &'a [u8]) -> Text<'a> {
        Text { raw: raw_bytes(bytes), borrowed: PhantomData }
    }
}

impl<'a> From<&'a str> for Text<'a> {
    fn from(text: &'a str) -> Text<'a> {
        text.as_bytes().into()
    }
}

impl fmt::Debug for Text<'_> {
    /// Shows the length only: the text may be a token.
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "<{} bytes>", self.bytes().len())
    }
}

/// A name and a value: a header field, an attribute, a label.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Pair<'a> {
    key: Text<'a>,
    value: Text<'a>,
}

impl<'a> Pair<'a> {
    /// Makes a pair.
    pub fn new(key: &'a str, value: &'a str) -> Pair<'a> {
        Pair { key: key.into(), value: value.into() }
    }

    /// The name.
    pub fn key(&self) -> &'a str {
        self.key.as_str()
    }

    /// The value.
    pub fn value(&self) -> &'a str {
        self.value.as_str()
    }

    /// The first value with this name.
    pub fn find(pairs: &[Pair<'a>], key: &str) -> Option<&'a str> {
        pairs.iter().find(|pair| pair.key.bytes() == key.as_bytes()).map(Pair::value)
    }

    pub(crate) fn raw(pairs: &[Pair<'_>]) -> *const sbx_kv {
        if pairs.is_empty() {
            return ptr::null();
        }
        // Same layout: a pair is two texts in a row.
        pairs.as_ptr().cast()
    }
}

/// # Safety
/// The bytes are borrowed for 'a.
pub(crate) unsafe fn bytes<'a>(raw: sbx_str) -> &'a [u8] {
    if raw.ptr.is_null() || raw.len == 0 {
        return &[];
    }
    slice::from_raw_parts(raw.ptr.cast(), raw.len)
}

/// # Safety
/// The bytes are borrowed for 'a.
pub(crate) unsafe fn text<'a>(raw: sbx_str) -> &'a str {
    str::from_utf8(bytes(raw)).unwrap_or("")
}

/// # Safety
/// The pairs and their text are borrowed for 'a.
pub(crate) unsafe fn pairs<'a>(start: *const sbx_kv, count: usize) -> &'a [Pair<'a>] {
    array(start.cast(), count)
}

/// # Safety
/// `count` elements from `start` on are borrowed for 'a; `start` may be null.
pub(crate) unsafe fn array<'a, T>(start: *const T, count: usize) -> &'a [T] {
    if start.is_null() || count == 0 {
        return &[];
    }
    slice::from_raw_parts(start, count)
}

pub(crate) fn raw(text: &str) -> sbx_str {
    raw_bytes(text.as_bytes())
}

pub(crate) fn raw_bytes(bytes: &[u8]) -> sbx_str {
    sbx_str { ptr: bytes.as_ptr().cast(), len: bytes.len() }
}

/// An array of structs that may be longer or shorter than this side's version.
#[derive(Clone, Copy)]
pub(crate) struct Strided<'a, T> {
    start: *const T,
    count: usize,
    stride: usize,
    borrowed: PhantomData<&'a T>,
}

impl<'a, T: Growing> Strided<'a, T> {
    /// # Safety
    /// The array is borrowed for 'a.
    pub unsafe fn new(start: *const T, count: usize, stride: usize) -> Strided<'a, T> {
        let count = if start.is_null() { 0 } else { count };
        Strided { start, count, stride, borrowed: PhantomData }
    }

    pub fn len(&self) -> usize {
        self.count
    }

    /// The part of an element that both sides know.
    pub fn get(&self, index: usize) -> Option<T> {
        if index >= self.count {
            return None;
        }
        // Within the array, whose elements begin with their size.
        unsafe { Some(sys::read(self.start.cast::<u8>().add(index * self.stride).cast())) }
    }

    pub fn iter(self) -> impl Iterator<Item = T> + 'a
    where
        T: 'a,
    {
        (0..self.count).filter_map(move |index| self.get(index))
    }
}

/// Overwrites what may have been a secret. The compiler cannot optimise it away.
pub(crate) fn wipe(bytes: &mut [u8]) {
    for byte in bytes.iter_mut() {
        // The byte is in a slice that is borrowed for writing.
        unsafe { ptr::write_volatile(byte, 0) };
    }
    std::sync::atomic::compiler_fence(std::sync::atomic::Ordering::SeqCst);
}
