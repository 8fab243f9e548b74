//! Reads JSON that the host parses, and writes JSON.

mod writer;

pub use self::writer::{escape, JsonWriter};

use crate::error::{Error, Result};
use crate::host::Host;
use crate::memory::{raw, raw_bytes, text};
use crate::sys::{self, *};
use std::borrow::Cow;
use std::fmt;
use std::marker::PhantomData;

/// The current call. Parsed JSON lives until the call returns, on its thread.
#[derive(Clone, Copy)]
pub struct Call<'a> {
    host: &'a Host,
    /// Parsed JSON belongs to the thread of the call.
    one_thread: PhantomData<*const ()>,
}

impl<'a> Call<'a> {
    /// `'a` must be the duration of the call: it keeps parsed JSON from outliving it.
    pub(crate) fn new(host: &'a Host) -> Call<'a> {
        Call { host, one_thread: PhantomData }
    }

    /// The host.
    pub fn host(&self) -> &'a Host {
        self.host
    }

    /// Parses JSON. An error says where the text is wrong and never quotes it.
    pub fn parse(&self, text: &[u8]) -> Result<Json<'a>> {
        let mut root = sbx_json_value { document: std::ptr::null(), position: 0 };
        let mut error: sbx_error = sys::fresh();
        let code = self.host.ask(self.host.tables().json.parse, |parse, host| unsafe {
            // The host copies the text.
            parse(host, raw_bytes(text), &mut root, &mut error)
        })?;
        Error::check_with(code, &error)?;
        Ok(Json { call: *self, raw: root })
    }
}

/// The kind of a JSON value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum JsonKind {
    /// `null`, or a kind that this version does not know.
    Null,
    /// `true`, `false`
    Boolean,
    /// A whole number that fits 64 bits.
    Integer,
    /// Has a fraction or an exponent, or exceeds 64 bits: read it with [`Json::text`].
    Number,
    /// A string.
    String,
    /// An array.
    Array,
    /// An object.
    Object,
}

/// A value in a parsed document.
#[derive(Clone, Copy)]
pub struct Json<'a> {
    call: Call<'a>,
    raw: sbx_json_value,
}

impl<'a> Json<'a> {
    /// The kind of the value.
    pub fn kind(&self) -> JsonKind {
        match self.ask(self.table().kind, |kind| unsafe { kind(self.raw) }) {
            Some(SBX_JSON_BOOLEAN) => JsonKind::Boolean,
            Some(SBX_JSON_INTEGER) => JsonKind::Integer,
            Some(SBX_JSON_NUMBER) => JsonKind::Number,
            Some(SBX_JSON_STRING) => JsonKind::String,
            Some(SBX_JSON_ARRAY) => JsonKind::Array,
            Some(SBX_JSON_OBJECT) => JsonKind::Object,
            _ => JsonKind::Null,
        }
    }

    /// Whether it is an object.
    pub fn is_object(&self) -> bool {
        self.kind() == JsonKind::Object
    }

    /// Whether it is an array.
    pub fn is_array(&self) -> bool {
        self.kind() == JsonKind::Array
    }

    /// Whether it is null.
    pub fn is_null(&self) -> bool {
        self.kind() == JsonKind::Null
    }

    /// The text of a string.
    pub fn string(&self) -> Option<&'a str> {
        let mut out = raw("");
        let code = self.ask(self.table().string, |string| unsafe { string(self.raw, &mut out) })?;
        // Lives as long as the document: 'a.
        (code == SBX_OK).then(|| unsafe { text(out) })
    }

    /// The text of a string; a number or a boolean as written.
    pub fn scalar_text(&self) -> Option<&'a str> {
        match self.kind() {
            JsonKind::String => self.string(),
            JsonKind::Boolean | JsonKind::Integer | JsonKind::Number => Some(self.text()),
            _ => None,
        }
    }

    /// The value of an integer.
    pub fn integer(&self) -> Option<i64> {
        let mut out = 0;
        let code =
            self.ask(self.table().integer, |integer| unsafe { integer(self.raw, &mut out) })?;
        (code == SBX_OK).then_some(out)
    }

    /// The value of `true` or `false`.
    pub fn boolean(&self) -> Option<bool> {
        let mut out = 0;
        let code =
            self.ask(self.table().boolean, |boolean| unsafe { boolean(self.raw, &mut out) })?;
        (code == SBX_OK).then_some(out == 1)
    }

    /// The value as JSON text without whitespace.
    pub fn text(&self) -> &'a str {
        let mut out = raw("");
        match self.ask(self.table().text, |get| unsafe { get(self.raw, &mut out) }) {
            Some(SBX_OK) => unsafe { text(out) },
            _ => "null",
        }
    }

    /// The number of elements or members; 0 for other kinds.
    pub fn len(&self) -> usize {
        self.ask(self.table().count, |count| unsafe { count(self.raw) }).unwrap_or(0) as usize
    }

    /// Whether the length is 0.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The value at an RFC 6901 pointer (`/notification/title`); an empty pointer
    /// is the value itself.
    pub fn at(&self, pointer: &str) -> Option<Json<'a>> {
        let mut out = self.raw;
        let code =
            self.ask(self.table().at, |at| unsafe { at(self.raw, raw(pointer), &mut out) })?;
        (code == SBX_OK).then_some(Json { call: self.call, raw: out })
    }

    /// The member with exactly this name.
    pub fn get(&self, name: &str) -> Option<Json<'a>> {
        let name: Cow<'_, str> = match name.contains(&['~', '/'][..]) {
            true => name.replace('~', "~0").replace('/', "~1").into(),
            false => name.into(),
        };
        self.at(&format!("/{name}"))
    }

    /// The text at a pointer; `None` if it is missing or not a string.
    pub fn string_at(&self, pointer: &str) -> Option<&'a str> {
        self.at(pointer)?.string()
    }

    /// Members of an object with their names, or elements of an array with empty names.
    pub fn members(&self) -> Members<'a> {
        let mut cursor = sbx_json_cursor { state: [0; 4] };
        let first = self.ask(self.table().first, |first| unsafe { first(self.raw, &mut cursor) });
        Members { call: self.call, cursor, has_more: first == Some(SBX_OK) }
    }

    /// Elements of an array; none for other kinds.
    pub fn elements(&self) -> impl Iterator<Item = Json<'a>> {
        let mut members = self.members();
        members.has_more &= self.is_array();
        members.map(|(_, value)| value)
    }

    /// The call that parsed it.
    pub fn call(&self) -> Call<'a> {
        self.call
    }

    fn table(&self) -> &'a sbx_json {
        &self.call.host.tables().json
    }

    fn ask<F: Copy, T>(&self, function: Option<F>, call: impl FnOnce(F) -> T) -> Option<T> {
        self.call.host.ask(function, |function, _| call(function)).ok()
    }
}

impl fmt::Debug for Json<'_> {
    /// Shows kind and length only: the value may be a token.
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "<{:?} of {}>", self.kind(), self.len())
    }
}

/// An iterator over an array or an object.
pub struct Members<'a> {
    call: Call<'a>,
    cursor: sbx_json_cursor,
    has_more: bool,
}

impl<'a> Iterator for Members<'a> {
    type Item = (&'a str, Json<'a>);

    fn next(&mut self) -> Option<Self::Item> {
        if !self.has_more {
            return None;
        }
        let mut key = raw("");
        let mut value = sbx_json_value { document: std::ptr::null(), position: 0 };
        let host = self.call.host;
        let cursor = &mut self.cursor;
        let code = host
            .ask(host.tables().json.next, |next, _| unsafe { next(cursor, &mut key, &mut value) });
        self.has_more = code == Ok(SBX_OK);
        // Lives as long as the document: 'a.
        self.has_more.then(|| (unsafe { text(key) }, Json { call: self.call, raw: value }))
    }
}
