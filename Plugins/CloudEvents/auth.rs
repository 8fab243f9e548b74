//! Authentication of senders: bearer tokens, signatures, and the handshake of CloudEvents' web hooks.

use crate::config::{Config, Encoding, Hmac};
use signalbox_plugin::*;

/// Authenticates a request, before anything is parsed. Every configured check must pass.
pub fn check(host: &Host, config: &Config, request: &Request<'_>, is_binary: bool) -> Result<()> {
    if !config.bearer.is_empty() {
        check_bearer(host, &config.bearer, request)?;
    }
    match &config.hmac {
        Some(hmac) => check_signature(host, hmac, request, is_binary),
        None => Ok(()),
    }
}

fn check_bearer(host: &Host, secrets: &[String], request: &Request<'_>) -> Result<()> {
    let given = request.header("authorization").unwrap_or("");
    let token = match given.split_once(' ') {
        Some((scheme, token)) if scheme.eq_ignore_ascii_case("bearer") => token.trim(),
        _ => "",
    };
    let mut fits = false;
    for secret in secrets {
        fits |= host.secret(secret)?.equals(token.as_bytes());
    }
    match fits {
        true => Ok(()),
        false => Err(Error::auth("the bearer token is missing or wrong")),
    }
}

fn check_signature(host: &Host, hmac: &Hmac, request: &Request<'_>, is_binary: bool) -> Result<()> {
    if is_binary && !hmac.signs_headers {
        return Err(Error::auth(
            "binary mode has its attributes in header fields, which the signature does not cover: \
             send the event structured",
        ));
    }
    let given = request.header(&hmac.header).and_then(|value| value.strip_prefix(&*hmac.prefix));
    let signature = given.and_then(|value| match hmac.encoding {
        Encoding::Hex => hex_decode(value),
        Encoding::Base64 => base64_decode(value),
    });
    let signed = signed_bytes(request, is_binary);
    let fits = match signature {
        Some(bytes) if !bytes.is_empty() => {
            host.verify_any(Algorithm::HmacSha256, &hmac.secrets, &signed, &bytes)?
        }
        _ => false,
    };
    match fits {
        true => Ok(()),
        false => Err(Error::auth(format!("{} is missing or does not fit", hmac.header))),
    }
}

/// The signed bytes: the body; in binary mode preceded by the event's header fields, sorted, as `name:value`
/// and a line break each, and an empty line. No JSON begins like that, so a signature is valid in one mode only.
fn signed_bytes(request: &Request<'_>, is_binary: bool) -> Vec<u8> {
    let mut out = Vec::new();
    if is_binary {
        let is_signed = |name: &str| name.starts_with("ce-") || name == "content-type";
        let fields = request.headers().iter().filter(|field| is_signed(field.key()));
        let mut lines: Vec<String> =
            fields.map(|field| format!("{}:{}\n", field.key(), field.value())).collect();
        lines.sort();
        out.extend(lines.concat().as_bytes());
        out.push(b'\n');
    }
    out.extend(request.body());
    out
}

/// Answers a sender that asks whether it may deliver (HTTP 1.1 Web Hooks for Event Delivery, section 4).
pub fn handshake(origins: &[String], request: &Request<'_>, sink: &IngestSink<'_>) -> Result<()> {
    let origin = request.header("webhook-request-origin").unwrap_or("");
    if origin.is_empty() || !origins.iter().any(|known| known == origin || known == "*") {
        let detail = "webhook-request-origin is missing, or may not deliver here";
        return sink.respond_problem(403, "Forbidden", detail, |_| ());
    }
    let mut headers = vec![Pair::new("allow", "POST"), Pair::new("webhook-allowed-origin", origin)];
    if request.header("webhook-request-rate").is_some() {
        // An overloaded gateway answers 503, whatever rate was agreed.
        headers.push(Pair::new("webhook-allowed-rate", "*"));
    }
    sink.respond(200, &headers, b"")
}
