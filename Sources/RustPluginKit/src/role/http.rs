//! Requests and answers of the translating roles.

use super::sink::Sink;
use crate::error::Result;
use crate::json::{Call, Json};
use crate::memory::{array, bytes, pairs, raw, raw_bytes, text, Pair, Strided, Text};
use crate::model::{Outcome, OutcomeKind};
use crate::sys::{self, *};
use std::mem::size_of;

/// A request as the plugin writes it; the host copies everything.
#[derive(Clone, Copy, Debug, Default)]
pub struct HttpRequest<'a> {
    /// `POST`
    pub method: &'a str,
    /// Begins with `/` and is percent-encoded.
    pub path: &'a str,
    /// Names are in lower case; the host sets host, content-length and te.
    pub headers: &'a [Pair<'a>],
    /// Segments, sent one after another.
    pub body: &'a [Text<'a>],
    /// The deliveries or changes that the request carries; at least one.
    pub items: &'a [u64],
    /// Bit i: `headers[i]` differs from request to request (an id, an expiry), so the peer's HPACK
    /// table does not keep it.
    pub unindexed_headers: u64,
}

/// Optional parts of a request; see [`HttpSink::request_with`].
#[derive(Clone, Copy, Debug, Default)]
pub struct RequestExtras<'a> {
    /// Where it goes in place of the endpoint's origin, which has `is_rest`; empty for that origin.
    pub origin: &'a str,
    /// At most 256 bytes that come back in the answer.
    pub context: &'a [u8],
}

impl HttpRequest<'_> {
    fn raw(&self) -> sbx_http_request {
        sbx_http_request {
            method: raw(self.method),
            path: raw(self.path),
            headers: Pair::raw(self.headers),
            header_count: self.headers.len(),
            // A text is a struct of the contract.
            body: self.body.as_ptr().cast(),
            body_segments: self.body.len(),
            items: self.items.as_ptr(),
            item_count: self.items.len(),
            unindexed_headers: self.unindexed_headers,
            ..sys::fresh()
        }
    }
}

/// Where a translating role writes; lives during `prepare` or `classify`.
pub struct HttpSink<'a>(Sink<'a, sbx_http_sink>);

impl<'a> HttpSink<'a> {
    /// # Safety
    /// The sink is null or the host's, and lives for 'a.
    pub(super) unsafe fn new(raw: *mut sbx_http_sink) -> Result<HttpSink<'a>> {
        Ok(HttpSink(Sink::new(raw)?))
    }

    /// Sends a request.
    pub fn request(&self, request: &HttpRequest<'_>) -> Result<()> {
        self.send(&[request.raw()])
    }

    /// Sends a request to another origin, or with a context that comes back in its answer.
    pub fn request_with(&self, request: &HttpRequest<'_>, extras: RequestExtras<'_>) -> Result<()> {
        let (origin, context) = (raw(extras.origin), raw_bytes(extras.context));
        self.send(&[sbx_http_request { origin, context, ..request.raw() }])
    }

    /// Sends requests; a call that fails sends none of them.
    pub fn requests(&self, requests: &[HttpRequest<'_>]) -> Result<()> {
        self.send(&requests.iter().map(HttpRequest::raw).collect::<Vec<_>>())
    }

    fn send(&self, list: &[sbx_http_request]) -> Result<()> {
        let stride = size_of::<sbx_http_request>();
        self.0.call(
            |sink| sink.request,
            "the request was not taken",
            |request, sink| unsafe { request(sink, list.as_ptr(), list.len(), stride) },
        )
    }

    /// Gives an item its outcome.
    pub fn settle(&self, item: u64, outcome: &Outcome<'_>) -> Result<()> {
        self.settle_all(&[item], outcome)
    }

    /// Gives items the same outcome; a call that fails settles none of them.
    pub fn settle_all(&self, items: &[u64], outcome: &Outcome<'_>) -> Result<()> {
        let list: Vec<sbx_outcome> = items.iter().map(|item| outcome.raw(*item)).collect();
        let stride = size_of::<sbx_outcome>();
        self.0.call(
            |sink| sink.settle,
            "the outcome was not taken",
            |settle, sink| unsafe { settle(sink, list.as_ptr(), list.len(), stride) },
        )
    }
}

/// Answers to requests; lives during `classify`.
pub struct ResponseBatch<'a> {
    list: Strided<'a, sbx_http_response>,
    call: Call<'a>,
}

impl<'a> ResponseBatch<'a> {
    pub(super) fn new(list: Strided<'a, sbx_http_response>, call: Call<'a>) -> ResponseBatch<'a> {
        ResponseBatch { list, call }
    }

    /// The number of answers.
    pub fn len(&self) -> usize {
        self.list.len()
    }

    /// Whether the list is empty.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Iterates over the answers.
    pub fn iter(&self) -> impl Iterator<Item = Response<'a>> + 'a {
        let call = self.call;
        self.list.iter().map(move |raw| Response { raw, call })
    }
}

/// One answer.
pub struct Response<'a> {
    raw: sbx_http_response,
    call: Call<'a>,
}

// Everything in the answer is borrowed for 'a.
impl<'a> Response<'a> {
    /// 200, 410, ...
    pub fn status(&self) -> u32 {
        self.raw.http_status
    }

    /// The context of the request.
    pub fn context(&self) -> &'a [u8] {
        unsafe { bytes(self.raw.context) }
    }

    /// The app that the request was for.
    pub fn app(&self) -> &'a str {
        unsafe { text(self.raw.app) }
    }

    /// The deliveries or changes of the request.
    pub fn items(&self) -> &'a [u64] {
        unsafe { array(self.raw.items, self.raw.item_count) }
    }

    /// The first value of a field that came after the body; names are in lower case.
    pub fn trailer(&self, name: &str) -> Option<&'a str> {
        let all = unsafe { pairs(self.raw.headers, self.raw.header_count) };
        let count = usize::try_from(self.raw.trailer_count).unwrap_or(0).min(all.len());
        Pair::find(&all[all.len() - count..], name)
    }

    /// The first value of a header field; names are in lower case. Trailers count as header fields, behind all others.
    pub fn header(&self, name: &str) -> Option<&'a str> {
        unsafe { Pair::find(pairs(self.raw.headers, self.raw.header_count), name) }
    }

    /// The body.
    pub fn body(&self) -> &'a [u8] {
        unsafe { bytes(self.raw.body) }
    }

    /// The body, parsed.
    pub fn json(&self) -> Result<Json<'a>> {
        self.call.parse(self.body())
    }

    /// The wait that `retry-after` asks for, in milliseconds.
    pub fn retry_after_ms(&self) -> Option<u64> {
        let now = self.call.host().now_unix_ms();
        crate::encoding::retry_after_ms(self.header("retry-after")?, now)
    }

    /// The outcome by HTTP's own rules, for providers without others: 2xx delivered; 429 and 503
    /// throttled for as long as the answer says; 408 and other 5xx retried; 401 and 403 a
    /// configuration error; everything else rejected.
    pub fn plain_outcome(&self) -> Outcome<'static> {
        let (kind, reason) = match self.status() {
            200..=299 => (OutcomeKind::Delivered, "ok"),
            429 | 503 => (OutcomeKind::Throttled, "throttled"),
            408 | 500..=599 => (OutcomeKind::Retry, "server_error"),
            401 | 403 => (OutcomeKind::Config, "forbidden"),
            _ => (OutcomeKind::Rejected, "refused"),
        };
        Outcome {
            provider_code: self.status(),
            retry_after_ms: self.retry_after_ms().unwrap_or(0),
            ..Outcome::new(kind, reason)
        }
    }
}
