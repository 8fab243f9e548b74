//! The ingest role: bytes in, events and an HTTP answer out.

use super::IngestSink;
use crate::error::{Error, Result};
use crate::instance::Instance;
use crate::json::{Call, Json};
use crate::memory::{bytes, pairs, raw, text, Pair};
use crate::panics::guard;
use crate::plugin::Plugin;
use crate::sys::{self, *};
use std::mem::size_of;

/// Handles inbound requests.
pub trait Ingest: Plugin {
    /// The paths that the instance serves; the host asks once, after `start`.
    fn paths(&self) -> Vec<IngestPath>;

    /// Handles one request. A failure discards everything emitted. `Invalid` is answered 400,
    /// `Auth` 401, `NotFound` 404, `TooLarge` 413, `Again` 503, anything else 500.
    fn handle(&self, request: &Request<'_>, sink: IngestSink<'_>) -> Result<()>;
}

/// A path that an instance serves; `{name}` matches one segment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IngestPath {
    pattern: String,
    methods: String,
}

impl IngestPath {
    /// A path for POST.
    pub fn new(pattern: impl Into<String>) -> IngestPath {
        IngestPath { pattern: pattern.into(), methods: "POST".to_string() }
    }

    /// Sets other methods: `GET,POST`.
    pub fn methods(mut self, methods: impl Into<String>) -> IngestPath {
        self.methods = methods.into();
        self
    }
}

/// An inbound request; lives during [`Ingest::handle`].
pub struct Request<'a> {
    raw: sbx_request,
    call: Call<'a>,
}

// Everything in the request is borrowed for 'a.
impl<'a> Request<'a> {
    /// `POST`
    pub fn method(&self) -> &'a str {
        unsafe { text(self.raw.method) }
    }

    /// Without the query.
    pub fn path(&self) -> &'a str {
        unsafe { text(self.raw.path) }
    }

    /// What follows the `?`, or empty.
    pub fn query(&self) -> &'a str {
        unsafe { text(self.raw.query) }
    }

    /// The peer's address.
    pub fn remote(&self) -> &'a str {
        unsafe { text(self.raw.remote) }
    }

    /// The pattern of [`Ingest::paths`] that matched.
    pub fn pattern(&self) -> &'a str {
        unsafe { text(self.raw.pattern) }
    }

    /// Subject of the client's certificate with mutual TLS, or empty.
    pub fn client_certificate(&self) -> &'a str {
        unsafe { text(self.raw.client_certificate) }
    }

    /// The raw bytes; check signatures on these.
    pub fn body(&self) -> &'a [u8] {
        unsafe { bytes(self.raw.body) }
    }

    /// The body, parsed.
    pub fn json(&self) -> Result<Json<'a>> {
        self.call.parse(self.body()).map_err(|fault| {
            Error::new(fault.status, format!("the body is not JSON: {}", fault.message))
        })
    }

    /// Header fields; names are in lower case.
    pub fn headers(&self) -> &'a [Pair<'a>] {
        unsafe { pairs(self.raw.headers, self.raw.header_count) }
    }

    /// The first value of a header field.
    pub fn header(&self, name: &str) -> Option<&'a str> {
        Pair::find(self.headers(), name)
    }

    /// The value of the path segment `{name}`, percent-decoded.
    pub fn param(&self, name: &str) -> Option<&'a str> {
        unsafe { Pair::find(pairs(self.raw.params, self.raw.param_count), name) }
    }

    /// When the request came in.
    pub fn received_unix_ms(&self) -> u64 {
        self.raw.received_unix_ms
    }

    /// The call, for parsing JSON other than the body.
    pub fn call(&self) -> Call<'a> {
        self.call
    }
}

pub(super) fn table<P: Ingest>() -> sbx_ingest {
    sbx_ingest { paths: Some(paths::<P>), handle: Some(handle::<P>), ..sys::fresh() }
}

/// Paths with their text, kept until `destroy`.
struct Paths {
    list: Vec<sbx_ingest_path>,
    _texts: Vec<IngestPath>,
}

// The pointers in `list` lead into the field beside it.
unsafe impl Send for Paths {}

unsafe extern "C" fn paths<P: Ingest>(
    instance: *mut sbx_instance,
    list: *mut *const sbx_ingest_path,
    count: *mut usize,
    stride: *mut usize,
) -> sbx_status {
    guard(std::ptr::null_mut(), || {
        if list.is_null() || count.is_null() || stride.is_null() {
            return Err(Error::internal("paths() was called without a place"));
        }
        let texts = Instance::plugin::<P>(instance)?.0.paths();
        let made = texts.iter().map(|path| sbx_ingest_path {
            pattern: raw(&path.pattern),
            methods: raw(&path.methods),
            ..sys::fresh()
        });
        let paths = Paths { list: made.collect(), _texts: texts };
        *list = paths.list.as_ptr();
        *count = paths.list.len();
        *stride = size_of::<sbx_ingest_path>();
        Instance::from(instance)?.keep(paths);
        Ok(())
    })
}

unsafe extern "C" fn handle<P: Ingest>(
    instance: *mut sbx_instance,
    request: *const sbx_request,
    sink: *mut sbx_ingest_sink,
    error: *mut sbx_error,
) -> sbx_status {
    guard(error, || {
        if request.is_null() {
            return Err(Error::internal("handle() was called without a request"));
        }
        let (plugin, call) = Instance::plugin::<P>(instance)?;
        plugin.handle(&Request { raw: sys::read(request), call }, IngestSink::new(sink)?)
    })
}
