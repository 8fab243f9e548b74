//! Decodes requests into CloudEvents: the three content modes, and the rules for attributes.

use crate::attributes::{header_value, is_json, is_sound, is_uri, media_type, Value};
use crate::errors::{Fault, Reject};
use signalbox_plugin::*;
use std::borrow::Cow;

/// Most extension attributes.
const EXTENSIONS_MAX: usize = 64;

/// How a request carries events.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    Binary,
    Structured,
    Batch,
}

impl Mode {
    pub fn of(request: &Request<'_>) -> Result<Mode, Fault> {
        let kind = media_type(request.header("content-type").unwrap_or(""));
        let mode = match kind.strip_prefix("application/cloudevents") {
            None if request.header("ce-specversion").is_some() => return Ok(Mode::Binary),
            None => return Err(Fault::NoEvent),
            Some(rest) if rest.starts_with("-batch") => Mode::Batch,
            Some(_) => Mode::Structured,
        };
        match kind.ends_with("+json") {
            true => Ok(mode),
            false => Err(Fault::UnsupportedFormat),
        }
    }
}

/// An event with validated attributes.
#[derive(Default)]
pub struct CloudEvent<'a> {
    pub id: Cow<'a, str>,
    pub source: Cow<'a, str>,
    pub kind: Cow<'a, str>,
    pub subject: Option<Cow<'a, str>>,
    pub time: Option<Cow<'a, str>>,
    /// 0 if missing.
    pub time_unix_ms: u64,
    pub content_type: Option<Cow<'a, str>>,
    pub schema: Option<Cow<'a, str>>,
    pub extensions: Vec<(Cow<'a, str>, Value<'a>)>,
    pub data: Option<Json<'a>>,
    version: Cow<'a, str>,
}

impl<'a> CloudEvent<'a> {
    /// Decodes structured mode, and the elements of a batch.
    pub fn of_json(json: Json<'a>) -> Result<CloudEvent<'a>, Reject> {
        if !json.is_object() {
            return Err(Reject::NoObject);
        }
        let mut event = CloudEvent::default();
        let (mut data, mut encoded) = (None, None);
        for (name, value) in json.members() {
            // A null attribute counts as missing.
            if value.is_null() && name != "data" {
                continue;
            }
            let twice = match name {
                "data" => data.replace(value).is_some(),
                "data_base64" => encoded.replace(value.string().ok_or(Reject::BadData)?).is_some(),
                _ => event.take(name.into(), Value::of_json(value)?)?,
            };
            if twice {
                return Err(Reject::Duplicate);
            }
        }
        event.finish()?;
        event.data = match (data, encoded) {
            (Some(_), Some(_)) => return Err(Reject::BadData),
            (data, None) => data,
            (None, Some(text)) => {
                let bytes = base64_decode(text).ok_or(Reject::BadData)?;
                event.parsed(json.call(), &bytes)?
            }
        };
        Ok(event)
    }

    /// Decodes binary mode: attributes in header fields, data in the body.
    pub fn of_headers(request: &Request<'a>) -> Result<CloudEvent<'a>, Reject> {
        let mut event = CloudEvent::default();
        for field in request.headers() {
            let twice = match field.key().strip_prefix("ce-") {
                Some("datacontenttype") => return Err(Reject::BadAttribute("datacontenttype")),
                Some(name) => {
                    let value = header_value(field.value()).ok_or(Reject::BadHeader)?;
                    event.take(name.into(), Value::Text(value.into()))?
                }
                None if field.key() == "content-type" => {
                    let value = Value::Text(field.value().into());
                    event.take("datacontenttype".into(), value)?
                }
                None => false,
            };
            if twice {
                return Err(Reject::Duplicate);
            }
        }
        event.finish()?;
        if !request.body().is_empty() {
            event.data = event.parsed(request.call(), request.body())?;
        }
        Ok(event)
    }

    /// Sets an attribute. Returns whether it was set before.
    fn take(&mut self, name: Cow<'a, str>, value: Value<'a>) -> Result<bool, Reject> {
        let name = match KNOWN.iter().find(|known| **known == name) {
            Some(known) => *known,
            None => return self.take_extension(name, value),
        };
        let text = match value {
            Value::Text(text) => text,
            _ => return Err(Reject::BadAttribute(name)),
        };
        if text.is_empty() || !is_sound(&text) {
            return Err(Reject::BadAttribute(name));
        }
        Ok(match name {
            "specversion" => !std::mem::replace(&mut self.version, text).is_empty(),
            "id" => !std::mem::replace(&mut self.id, text).is_empty(),
            "source" => !std::mem::replace(&mut self.source, text).is_empty(),
            "type" => !std::mem::replace(&mut self.kind, text).is_empty(),
            "subject" => self.subject.replace(text).is_some(),
            "time" => self.time.replace(text).is_some(),
            "dataschema" => self.schema.replace(text).is_some(),
            _ => self.content_type.replace(text).is_some(),
        })
    }

    fn take_extension(&mut self, name: Cow<'a, str>, value: Value<'a>) -> Result<bool, Reject> {
        let is_name = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
        let is_sound = match &value {
            Value::Text(text) => is_sound(text),
            // Integers of the specification have 32 bits.
            Value::Integer(number) => i32::try_from(*number).is_ok(),
            Value::Boolean(_) => true,
        };
        let is_bad = name.is_empty() || name.len() > 64 || !name.bytes().all(is_name);
        if is_bad || name == "data" || !is_sound || self.extensions.len() == EXTENSIONS_MAX {
            return Err(Reject::BadExtension);
        }
        let is_there = self.extensions.iter().any(|one| one.0 == name);
        self.extensions.push((name, value));
        Ok(is_there)
    }

    /// Checks the rules that involve all attributes.
    fn finish(&mut self) -> Result<(), Reject> {
        let required = [
            ("specversion", &self.version),
            ("id", &self.id),
            ("source", &self.source),
            ("type", &self.kind),
        ];
        for (name, value) in required {
            if value.is_empty() {
                return Err(Reject::Missing(name));
            }
        }
        if self.version != "1.0" {
            return Err(Reject::UnsupportedVersion);
        }
        for (name, uri) in [("source", Some(&self.source)), ("dataschema", self.schema.as_ref())] {
            if uri.map_or(false, |uri| !is_uri(uri)) {
                return Err(Reject::BadAttribute(name));
            }
        }
        if let Some(time) = &self.time {
            let ms = rfc3339_unix_ms(time).ok_or(Reject::BadAttribute("time"))?;
            // A time before 1970 becomes 0: the gateway uses the time of receipt.
            self.time_unix_ms = u64::try_from(ms).unwrap_or(0);
        }
        Ok(())
    }

    /// Parses data that arrived as bytes; without a content type it must be JSON.
    fn parsed(&self, call: Call<'a>, bytes: &[u8]) -> Result<Option<Json<'a>>, Reject> {
        if !self.content_type.as_deref().map_or(true, is_json) {
            return Err(Reject::UnsupportedContent);
        }
        call.parse(bytes).map(Some).map_err(|_| Reject::BadData)
    }
}

const KNOWN: [&str; 8] =
    ["specversion", "id", "source", "type", "subject", "time", "dataschema", "datacontenttype"];
