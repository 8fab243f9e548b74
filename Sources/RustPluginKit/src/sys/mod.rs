//! The contract as it is in `include/signalbox/*.h`: structs, constants and tables of functions.
//!
//! Who owns what, how long it lives and on which thread a function runs is said in the headers. A
//! test compiles them and compares every constant, type, size and offset with what stands here, in
//! both directions.
#![allow(non_camel_case_types, missing_docs)]

#[macro_use]
mod declare;
mod model;
mod outside;
mod plugin;
mod role;
mod service;
mod transport;
mod types;

#[cfg(test)]
mod check;

pub use self::declare::{fresh, read, Growing};
pub use self::model::*;
pub use self::outside::*;
pub use self::plugin::*;
pub use self::role::*;
pub use self::service::*;
pub use self::transport::*;
pub use self::types::*;
