//! Payloads that fit a provider's limit.

use crate::error::Result;
use crate::host::Host;
use crate::memory::{raw, raw_bytes, text};
use crate::sys::{self, *};

/// The kind of a text. The body is cut first, the title last.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TextField {
    /// The text.
    Body,
    /// The second line.
    Subtitle,
    /// The first line.
    Title,
}

/// A provider's payload limit, and the texts that may be shortened to meet it.
#[derive(Clone, Copy, Debug, Default)]
pub struct PayloadLimit<'a> {
    /// The most bytes that the counted parts may have.
    pub bytes_max: u64,
    /// Names and texts count as raw UTF-8 instead of bytes of JSON.
    pub counts_texts: bool,
    /// RFC 6901 pointers to the parts that count; empty: the whole payload.
    pub counted: &'a [&'a str],
    /// Pointers to texts that may be shortened; missing ones are ignored.
    pub places: &'a [(TextField, &'a str)],
    /// Where the payload has the notification's data; empty: at the top.
    pub data: &'a str,
    /// The notification's override `shorten`; empty: none.
    pub shorten: &'a str,
}

impl Host {
    /// Returns the payload within the limit, with shortened texts if necessary. Fails with
    /// [`Status::TooLarge`](crate::Status) if it would not fit even without them, and with
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
        self.check_with(self.tables().fit.fit, |fit, host, error| unsafe {
            // The host copies everything; its answer lives until the role call returns.
            fit(host, &request, &mut out, error)
        })?;
        Ok(unsafe { text(out) }.to_owned())
    }
}
