//! The roles: traits for authors, and their tables for the host.

mod build;
mod endpoint;
mod filter;
mod http;
mod ingest;
mod ingest_sink;
mod observe;
mod register;
mod send_http;
mod send_own;
mod sink;
mod source;

pub use self::build::{Build, BuildInput, BuildSink, Target};
pub use self::endpoint::Endpoint;
pub use self::filter::{Filter, FilterInput, FilterSink};
pub use self::http::{HttpRequest, HttpSink, RequestExtras, Response, ResponseBatch};
pub use self::ingest::{Ingest, IngestPath, Request};
pub use self::ingest_sink::{Deferred, IngestSink};
pub use self::observe::{Observation, Observe};
pub use self::register::{ChangeBatch, Register};
pub use self::send_http::SendHttp;
pub use self::send_own::SendOwn;
pub use self::source::{BatchResult, Source};

/// The tables of the roles, under the names that [`crate::plugin!`] uses.
#[doc(hidden)]
#[allow(non_snake_case)]
pub mod tables {
    use crate::library::{constant, text, Role};
    use crate::plugin::Plugin;
    use crate::sys::*;
    use std::os::raw::c_void;

    fn role<T>(id: &'static str, needs: Option<&'static str>, table: T) -> Role {
        Role { id, needs, table: constant(table).cast::<c_void>() }
    }

    pub fn Ingest<P: super::Ingest + Plugin>() -> Role {
        role(SBX_ROLE_INGEST, None, super::ingest::table::<P>())
    }

    pub fn Filter<P: super::Filter + Plugin>() -> Role {
        let mut table = super::filter::table::<P>();
        table.options_schema = P::OPTIONS_SCHEMA.map_or(std::ptr::null(), text);
        role(SBX_ROLE_FILTER, None, table)
    }

    pub fn Build<P: super::Build + Plugin>() -> Role {
        let mut table = super::build::table::<P>();
        table.options_schema = P::OPTIONS_SCHEMA.map_or(std::ptr::null(), text);
        role(SBX_ROLE_BUILD, None, table)
    }

    pub fn SendHttp<P: super::SendHttp + Plugin>() -> Role {
        role(SBX_ROLE_SEND_HTTP, None, super::send_http::table::<P>())
    }

    pub fn Register<P: super::Register + Plugin>() -> Role {
        role(SBX_ROLE_REGISTER, None, super::register::table::<P>())
    }

    pub fn SendOwn<P: super::SendOwn + Plugin>() -> Role {
        role(SBX_ROLE_SEND, Some(SBX_SVC_SEND_HOST), super::send_own::table::<P>())
    }

    pub fn Observe<P: super::Observe + Plugin>() -> Role {
        let table = super::observe::table::<P>();
        role(SBX_ROLE_OBSERVE, Some(SBX_SVC_OBSERVE_HOST), table)
    }

    pub fn Source<P: super::Source + Plugin>() -> Role {
        role(SBX_ROLE_SOURCE, Some(SBX_SVC_SOURCE_HOST), super::source::table::<P>())
    }
}
