//! Bytes and times as text.

mod base64;
mod percent;
mod time;

pub use self::base64::{base64_decode, base64_encode, hex_decode, hex_encode};
pub use self::percent::{percent_decode, percent_encode};
pub use self::time::{retry_after_ms, rfc3339_unix_ms};
