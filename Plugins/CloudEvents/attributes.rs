//! Values of attributes: validation and formatting.

use crate::errors::Reject;
use signalbox_plugin::*;
use std::borrow::Cow;

/// Longest text of an attribute, in bytes.
const ATTRIBUTE_MAX: usize = 2_048;

/// The value of an extension.
pub enum Value<'a> {
    Text(Cow<'a, str>),
    Integer(i64),
    Boolean(bool),
}

impl<'a> Value<'a> {
    pub fn of_json(json: Json<'a>) -> Result<Value<'a>, Reject> {
        match json.kind() {
            JsonKind::String => json.string().map(|text| Value::Text(text.into())),
            JsonKind::Integer => json.integer().map(Value::Integer),
            JsonKind::Boolean => json.boolean().map(Value::Boolean),
            _ => None,
        }
        .ok_or(Reject::BadValue)
    }
}

/// Whether a text is short enough and without forbidden characters.
pub fn is_sound(text: &str) -> bool {
    let is_noncharacter =
        |c: char| (c as u32) & 0xFFFE == 0xFFFE || ('\u{FDD0}'..='\u{FDEF}').contains(&c);
    text.len() <= ATTRIBUTE_MAX && !text.chars().any(|c| c.is_control() || is_noncharacter(c))
}

/// Whether all characters are valid in a URI reference (RFC 3986); a space is not.
pub fn is_uri(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_graphic() && !br#""<>\^`{|}"#.contains(&byte))
}

/// The text of a header field in binary mode: quotes are removed, then it is percent-decoded once.
pub fn header_value(value: &str) -> Option<String> {
    let inner = match value.strip_prefix('"') {
        None => return percent_decode(value),
        Some(rest) => rest.strip_suffix('"')?,
    };
    let mut plain = String::new();
    let mut characters = inner.chars();
    while let Some(c) = characters.next() {
        plain.push(match c {
            '\\' => characters.next()?,
            '"' => return None,
            c => c,
        });
    }
    percent_decode(&plain)
}

/// The media type: `text/plain` for `Text/Plain; charset=utf-8`.
pub fn media_type(content_type: &str) -> String {
    content_type.split(';').next().unwrap_or("").trim().to_ascii_lowercase()
}

pub fn is_json(content_type: &str) -> bool {
    let kind = media_type(content_type);
    kind.ends_with("/json") || kind.ends_with("+json")
}
