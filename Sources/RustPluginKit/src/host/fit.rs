//! Payloads that are made to fit a provider's limit.

use crate::error::{Error, Result};
use crate::host::Host;
use crate::memory::{raw, raw_bytes, text};
use crate::sys::{self, *};

/// What a text is to the reader; the body is cut first, the title last.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TextField {
    /// The text.
    Body,
    /// The second line.
    Subtitle,
    /// The first line.
    Title,
}

/// A provider's limit of a payload, and what may be shortened to stay below it.
#[derive(Clone, Copy, Debug, Default)]
pub struct PayloadLimit<'a> {
    /// Most bytes of what counts.
    pub bytes_max: u64,
    /// Names and texts count as raw UTF-8, not as bytes of JSON.
    pub counts_texts: bool,
    /// RFC 6901 pointers to the parts that count; empty: the whole payload.
    pub counted: &'a [&'a str],
    /// Places of texts that may be shortened; those that do not exist are no fault.
    pub places: &'a [(TextField, &'a str)],
    /// Where the notification's data is in the payload; empty: at the top.
    pub data: &'a str,
    /// The notification's override `shorten`; empty: none.
    pub shorten: &'a str,
}

impl Host {
    /// The payload within the limit: as it is, or with shortened texts. Fails with
    /// [`Status::TooLarge`](crate::Status) if it would not even fit without them, and with
    /// [`Status::Invalid`](crate::Status) if it is not a JSON object, or outside of a role's call.
    pub fn fit(&self, payload: &[u8], limit: &PayloadLimit<'_>) -> Result<String> {
        let places: Vec<sbx_kv> = limit
            .places
            .iter()
            .map(|(field, pointer)| {
                let key = match field {
                    TextField::Body => "body",
                    TextField::Subtitle => "subtitle",
                    TextField::Title => "title",
                };
                sbx_kv { key: raw(key), value: raw(pointer) }
            })
            .collect();
        let counted: Vec<sbx_str> = limit.counted.iter().map(|pointer| raw(pointer)).collect();
        let request = sbx_fit_request {
            flags: if limit.counts_texts { SBX_FIT_TEXTS } else { 0 },
            bytes_max: limit.bytes_max,
            payload: raw_bytes(payload),
            places: places.as_ptr(),
            place_count: places.len(),
            counted: counted.as_ptr(),
            counted_count: counted.len(),
            data: raw(limit.data),
            shorten: raw(limit.shorten),
            ..sys::fresh()
        };
        let mut out: sbx_str = raw("");
        let mut error: sbx_error = sys::fresh();
        let function = self.inner.tables.fit.fit;
        let code = self.ask(function, |fit, host| unsafe {
            // Everything is copied by the host; its answer lives until the role call returns.
            fit(host, &request, &mut out, &mut error)
        })?;
        Error::check_with(code, &error)?;
        Ok(unsafe { text(out) }.to_owned())
    }
}
