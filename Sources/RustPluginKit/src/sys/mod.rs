//! The contract as it is in `include/signalbox/*.h`: structs, constants and tables of functions.
//!
//! The headers define ownership, lifetimes and threads. This is generated from them, and a test
//! compares it with what a C compiler makes of them.
#![allow(non_camel_case_types, missing_docs)]

#[macro_use]
mod declare;
mod base;
mod role;
mod service;
mod services;

#[cfg(test)]
mod check;

pub use self::base::*;
use self::declare::service;
pub use self::declare::{fresh, read, Growing};
pub use self::role::*;
pub use self::service::*;
pub(crate) use self::services::Services;
