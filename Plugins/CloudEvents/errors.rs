//! Why an event, a recipient or a whole request is rejected.

use signalbox_plugin::*;

/// Why a request is rejected before its body is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    NoEvent,
    UnsupportedFormat,
    UnsupportedContent,
}

impl Fault {
    /// Answers the request.
    pub fn answer(self, sink: &IngestSink<'_>) -> Result<()> {
        let (status, title, detail) = match self {
            Fault::NoEvent => {
                return Err(Error::invalid(
                    "no CloudEvent: content-type is not application/cloudevents+json or \
                     application/cloudevents-batch+json, and there is no ce-specversion",
                ))
            }
            Fault::UnsupportedFormat => {
                (415, "Unsupported Media Type", "events must be JSON: application/cloudevents+json")
            }
            Fault::UnsupportedContent => (415, "Unsupported Media Type", Reject::CONTENT),
        };
        sink.respond_problem(status, title, detail, |_| ())?;
        Err(Error::unsupported(detail))
    }
}

/// Why one event, or one of its recipients, is rejected; the reason is a metric label.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reject {
    NoObject,
    Missing(&'static str),
    BadAttribute(&'static str),
    BadValue,
    BadHeader,
    BadExtension,
    Duplicate,
    UnsupportedVersion,
    BadData,
    UnsupportedContent,
    TooManyRecipients,
    NoTokenOrUser,
    NoPlatform,
    TokenTooLong,
    DuplicateRecipient,
}

impl Reject {
    const CONTENT: &'static str = "data must be JSON: datacontenttype is something else";

    pub fn reason(self) -> &'static str {
        match self {
            Reject::NoObject => "no_object",
            Reject::Missing(_) => "missing_attribute",
            Reject::BadAttribute(_) | Reject::BadValue | Reject::BadHeader => "bad_attribute",
            Reject::BadExtension => "bad_extension",
            Reject::Duplicate => "duplicate_attribute",
            Reject::UnsupportedVersion => "unsupported_version",
            Reject::BadData => "bad_data",
            Reject::UnsupportedContent => "unsupported_content",
            Reject::TooManyRecipients => "too_many_recipients",
            Reject::NoTokenOrUser => "no_token_or_user",
            Reject::NoPlatform => "no_platform",
            Reject::TokenTooLong => "token_too_long",
            Reject::DuplicateRecipient => "duplicate_recipient",
        }
    }

    /// A message for people; names the error and never quotes the event.
    pub fn detail(self) -> String {
        match self {
            Reject::NoObject => "the event is not a JSON object",
            Reject::Missing(name) => return format!("the attribute \"{name}\" is missing"),
            Reject::BadAttribute(name) => return format!("the attribute \"{name}\" is malformed"),
            Reject::BadValue => "an attribute is neither text, nor a whole number, nor a boolean",
            Reject::BadHeader => "a ce- header field is not percent-encoded UTF-8",
            Reject::BadExtension => {
                "an extension has a name other than lower-case letters and digits, or a value that no \
                 attribute can have"
            }
            Reject::Duplicate => "an attribute is given twice",
            Reject::UnsupportedVersion => "specversion is not \"1.0\"",
            Reject::BadData => "data is not JSON, or is given both as data and as data_base64",
            Reject::UnsupportedContent => Reject::CONTENT,
            Reject::TooManyRecipients => "the event has over 10,000 recipients",
            Reject::NoTokenOrUser => "a recipient has neither a token nor a user",
            Reject::NoPlatform => "a recipient has a token and no platform",
            Reject::TokenTooLong => "a recipient's token is over 4096 bytes",
            Reject::DuplicateRecipient => "a recipient is named twice",
        }
        .to_string()
    }
}

/// The rejected events of a batch.
#[derive(Default)]
pub struct Refused(Vec<(usize, Reject)>);

impl Refused {
    /// Most events named in an answer.
    const NAMED_MAX: usize = 100;

    pub fn add(&mut self, index: usize, reject: Reject) {
        self.0.push((index, reject));
    }

    /// Answers a batch of `count` events: as usual if all were accepted, 200 with a list if some were, and 400
    /// with the list if none was.
    pub fn answer(&self, count: usize, sink: &IngestSink<'_>) -> Result<()> {
        if self.0.is_empty() {
            return Ok(());
        }
        let refused = |out: &mut JsonWriter| {
            out.key("accepted").integer((count - self.0.len()) as u64);
            out.key("refused").array(|out| {
                for (index, reject) in self.0.iter().take(Self::NAMED_MAX) {
                    out.object(|out| {
                        out.key("index").integer(*index as u64);
                        out.key("reason").string(reject.reason());
                        out.key("detail").string(&reject.detail());
                    });
                }
            });
        };
        if self.0.len() < count {
            let body = JsonWriter::of_object(refused);
            return sink.respond(
                200,
                &[Pair::new("content-type", "application/json")],
                body.as_bytes(),
            );
        }
        let detail = format!("none of the {count} events can be used");
        sink.respond_problem(400, "Bad Request", &detail, refused)?;
        Err(Error::invalid(detail))
    }
}
