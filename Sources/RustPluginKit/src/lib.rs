//! Plugins for the Signalbox notification gateway, without unsafe code.
//!
//! A plugin is a type that implements [`Plugin`] and the traits of its roles. One line makes it the
//! plugin of its library:
//!
//! ```
//! use signalbox_plugin::*;
//!
//! struct Echo;
//!
//! impl Plugin for Echo {
//!     const INFO: Info = Info::new("org.example.echo", "0.1.0", "builds from data");
//!
//!     fn create(_: Host, _: Json<'_>) -> Result<Echo> {
//!         Ok(Echo)
//!     }
//! }
//!
//! impl Build for Echo {
//!     fn build(&self, input: &BuildInput<'_>, sink: &BuildSink<'_>) -> Result<()> {
//!         let data = input.data()?;
//!         let body = data.string_at("/text").unwrap_or("");
//!         sink.emit(&Notification { body, ..Notification::default() }, &input.everyone())
//!     }
//! }
//!
//! signalbox_plugin::plugin!(Echo: Build);
//! # fn main() {}
//! ```
//!
//! What the host passes is borrowed for the call; the compiler rejects code that keeps it. A
//! panic becomes an internal error with a message and never leaves the plugin. The contract
//! itself is in [`sys`].
#![deny(missing_docs)]

#[cfg(doctest)]
mod borrowing;
#[cfg(doctest)]
#[doc = include_str!("../../../docs/writing-a-plugin-rust.md")]
mod guide {}
mod encoding;
mod error;
mod host;
mod instance;
mod json;
#[doc(hidden)]
pub mod library;
mod memory;
mod model;
mod panics;
mod plugin;
#[doc(hidden)]
pub mod role;
pub mod sys;

pub use crate::encoding::{base64_decode, base64_encode, hex_decode, hex_encode};
pub use crate::encoding::{percent_decode, percent_encode, retry_after_ms, rfc3339_unix_ms};
pub use crate::error::{Error, Result, Status};
pub use crate::host::{
    Algorithm, Certificate, Counter, Credential, Devices, Gauge, Host, HttpAnswer, Replaced,
};
pub use crate::host::{
    CryptoKey, Hash, HttpCall, Key, Level, PayloadLimit, PublicKeyForm, Secret, SecretText,
    TextField, Timer,
};
pub use crate::json::{escape, Call, Json, JsonKind, JsonWriter, Members};
pub use crate::memory::{Pair, Text};
pub use crate::model::{Change, ChangeKind, Delivery, DeliveryBatch, Device, Event, Notification};
pub use crate::model::{Outcome, OutcomeKind, OwnedDelivery, Priority, Recipient, Scope};
pub use crate::plugin::{Info, Plugin};
pub use crate::role::{BatchResult, Observation, Observe, Source};
pub use crate::role::{Build, BuildInput, BuildSink, ChangeBatch, Deferred, Endpoint, HttpRequest};
pub use crate::role::{Filter, FilterInput, FilterSink, RequestExtras};
pub use crate::role::{HttpSink, Ingest, IngestPath, IngestSink, Register, Request, Response};
pub use crate::role::{ResponseBatch, SendHttp, SendOwn, Target};
