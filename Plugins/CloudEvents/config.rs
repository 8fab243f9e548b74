//! The `config:` of an instance.

use crate::recipients::Rule;
use signalbox_plugin::*;

pub const SCHEMA: &str = r#"{
  "type": "object",
  "required": ["path", "recipients"],
  "properties": {
    "path": {
      "type": "string", "pattern": "^/[!-~]+$", "minLength": 2, "maxLength": 512,
      "description": "where events come in, such as /in/cloudevents"
    },
    "bearer": {
      "type": "array", "minItems": 1, "maxItems": 4,
      "items": { "type": "string", "format": "secret", "minLength": 16 },
      "description": "tokens of which a sender shows one: authorization: Bearer TOKEN"
    },
    "hmac": {
      "type": "object", "required": ["secrets"],
      "description": "HMAC-SHA256 over the body",
      "properties": {
        "secrets": {
          "type": "array", "minItems": 1, "maxItems": 4,
          "items": { "type": "string", "format": "secret", "minLength": 16 },
          "description": "keys of which one must fit"
        },
        "header": {
          "type": "string", "pattern": "^[a-z0-9-]+$", "maxLength": 64, "default": "x-signature-256",
          "description": "the header field with the signature, in lower case"
        },
        "prefix": {
          "type": "string", "maxLength": 32, "default": "sha256=",
          "description": "what stands before the signature"
        },
        "encoding": {
          "type": "string", "enum": ["hex", "base64"], "default": "hex",
          "description": "how the signature is written"
        },
        "binary": {
          "type": "string", "enum": ["refuse", "signed"], "default": "refuse",
          "description": "binary mode: refuse it, or expect its header fields to be signed, too"
        }
      }
    },
    "recipients": {
      "type": "array", "minItems": 1, "maxItems": 16,
      "description": "who gets an event: selectors into its data",
      "items": {
        "type": "object",
        "properties": {
          "each": {
            "type": "string", "pattern": "^(/.*)?$", "maxLength": 256, "default": "",
            "description": "JSON pointer to a list, each of whose elements is one; or to one"
          },
          "token": { "type": "string", "format": "selector", "maxLength": 256, "default": "" },
          "user": { "type": "string", "format": "selector", "maxLength": 256, "default": "" },
          "platform": { "type": "string", "maxLength": 256, "default": "" },
          "app": { "type": "string", "maxLength": 256, "default": "" },
          "provider": { "type": "string", "maxLength": 256, "default": "" },
          "locale": { "type": "string", "maxLength": 256, "default": "" }
        }
      }
    },
    "webhook_origins": {
      "type": "array", "maxItems": 16, "default": [],
      "items": { "type": "string", "minLength": 1, "maxLength": 256 },
      "description": "who may ask to deliver here (WebHook-Request-Origin); * is everybody"
    }
  }
}"#;

/// Encodings of signatures.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Encoding {
    Hex,
    Base64,
}

/// How bodies are signed.
pub struct Hmac {
    /// Names of the secrets.
    pub secrets: Vec<String>,
    pub header: String,
    pub prefix: String,
    pub encoding: Encoding,
    /// Whether signatures in binary mode cover the header fields; if not, that mode is refused.
    pub signs_headers: bool,
}

pub struct Config {
    pub path: String,
    /// Names of the secrets; if empty, no bearer token is required.
    pub bearer: Vec<String>,
    pub hmac: Option<Hmac>,
    pub recipients: Vec<Rule>,
    pub origins: Vec<String>,
}

impl Config {
    pub fn read(json: Json<'_>) -> Result<Config> {
        let config = Config {
            path: text(json, "/path"),
            bearer: texts(json, "/bearer"),
            hmac: json.at("/hmac").map(|hmac| Hmac {
                secrets: texts(hmac, "/secrets"),
                header: text(hmac, "/header"),
                prefix: text(hmac, "/prefix"),
                encoding: match hmac.string_at("/encoding") {
                    Some("base64") => Encoding::Base64,
                    _ => Encoding::Hex,
                },
                signs_headers: hmac.string_at("/binary") == Some("signed"),
            }),
            recipients: json
                .at("/recipients")
                .map_or(Ok(Vec::new()), |list| list.elements().map(Rule::read).collect())?,
            origins: texts(json, "/webhook_origins"),
        };
        if config.bearer.is_empty() && config.hmac.is_none() {
            return Err(Error::invalid(
                "give bearer or hmac: without either anybody could send events here",
            ));
        }
        Ok(config)
    }
}

pub fn text(json: Json<'_>, pointer: &str) -> String {
    json.string_at(pointer).unwrap_or("").to_string()
}

fn texts(json: Json<'_>, pointer: &str) -> Vec<String> {
    let list = json.at(pointer).map(|list| list.elements());
    list.into_iter().flatten().filter_map(|one| one.string()).map(str::to_string).collect()
}
