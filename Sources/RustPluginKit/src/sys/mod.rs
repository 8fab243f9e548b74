//! The contract as it is in `include/signalbox/*.h`: structs, constants and tables of functions.
//!
//! The headers define ownership, lifetimes and threads. A test compiles them and compares every
//! constant, type, size and offset with this module, in both directions.
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
