//! Where the requests of a translating role go.

use crate::error::{Error, Result};
use crate::instance::Instance;
use crate::memory::raw;
use crate::sys::*;
use std::mem::size_of;

/// Where requests of an app go. An empty field or 0 takes the host's default.
#[derive(Clone, Debug, Default)]
pub struct Endpoint {
    /// `https://api.push.apple.com`
    pub origin: String,
    /// PEM file of trusted roots; empty: those of the system.
    pub ca_file: String,
    /// Name of the secret with a PEM chain or PKCS#12; empty: none.
    pub client_certificate: String,
    /// Name of the secret with a PEM key; empty: it is in `client_certificate`.
    pub client_key: String,
    /// Name of the secret with the password of either; empty: none.
    pub client_password: String,
    /// Refuse a peer that does not negotiate `h2` by ALPN.
    pub is_alpn_required: bool,
    /// Send one request at a time on a connection until its first 2xx.
    pub is_one_stream_first: bool,
    /// Do not retry a request whose fate is unknown.
    pub is_at_most_once: bool,
    /// Use a pool that also speaks HTTP/1.1, where requests may have origins of their own.
    pub is_rest: bool,
    /// Those may be on private networks, too.
    pub allows_private_origins: bool,
    /// Apps with this and an equal endpoint share connections; for the apps of one credential.
    pub is_shared: bool,
    /// From sending a request to its answer.
    pub request_timeout_ms: u32,
    /// For TCP, TLS and the peer's SETTINGS together.
    pub connect_timeout_ms: u32,
    /// Send a PING after this long without traffic.
    pub ping_idle_ms: u32,
    /// A connection is dead when a PING is unanswered for this long.
    pub ping_timeout_ms: u32,
    /// Limit of connections.
    pub connections_max: u32,
    /// Limit of streams per connection, in addition to the peer's SETTINGS.
    pub streams_max: u32,
}

impl Endpoint {
    /// An endpoint with the host's defaults.
    pub fn new(origin: impl Into<String>) -> Endpoint {
        Endpoint { origin: origin.into(), ..Endpoint::default() }
    }

    /// Fills in what the host's struct has room for; the instance keeps the text.
    ///
    /// # Safety
    /// `out` is null or a struct that the host made.
    pub(super) unsafe fn write(self, instance: &Instance, out: *mut sbx_endpoint) -> Result<()> {
        if out.is_null() {
            return Err(Error::internal("endpoint() was called without a place"));
        }
        // Boxed, so that the text keeps its address.
        let own = Box::new(self);
        let flags = [
            (own.is_alpn_required, SBX_ENDPOINT_ALPN_REQUIRED),
            (own.is_one_stream_first, SBX_ENDPOINT_ONE_STREAM_FIRST),
            (own.is_at_most_once, SBX_ENDPOINT_AT_MOST_ONCE),
            (own.is_rest, SBX_ENDPOINT_REST),
            (own.allows_private_origins, SBX_ENDPOINT_PRIVATE_ORIGINS),
            (own.is_shared, SBX_ENDPOINT_SHARED),
        ];
        let full = sbx_endpoint {
            struct_size: (*out).struct_size,
            flags: flags.iter().filter(|flag| flag.0).map(|flag| flag.1).sum(),
            origin: raw(&own.origin),
            ca_file: raw(&own.ca_file),
            client_certificate: raw(&own.client_certificate),
            client_key: raw(&own.client_key),
            request_timeout_ms: own.request_timeout_ms,
            connect_timeout_ms: own.connect_timeout_ms,
            ping_idle_ms: own.ping_idle_ms,
            ping_timeout_ms: own.ping_timeout_ms,
            connections_max: own.connections_max,
            streams_max: own.streams_max,
            client_password: raw(&own.client_password),
        };
        let known = size_of::<sbx_endpoint>().min((*out).struct_size as usize);
        std::ptr::copy_nonoverlapping(
            (&full as *const sbx_endpoint).cast::<u8>(),
            out.cast(),
            known,
        );
        instance.keep(own);
        Ok(())
    }
}

/// Defines the functions of a role that renders items as requests and reads the answers. The file
/// imports what they use.
macro_rules! translator {
    ($role:ident, $item:ident, $batch:ident) => {
        unsafe extern "C" fn endpoint<P: $role>(
            instance: *mut sbx_instance,
            app: sbx_str,
            out: *mut sbx_endpoint,
            error: *mut sbx_error,
        ) -> sbx_status {
            guard(error, || {
                let (plugin, _) = Instance::plugin::<P>(instance)?;
                plugin.endpoint(text(app))?.write(Instance::from(instance)?, out)
            })
        }

        unsafe extern "C" fn prepare<P: $role>(
            instance: *mut sbx_instance,
            app: sbx_str,
            items: *const $item,
            count: usize,
            stride: usize,
            sink: *mut sbx_http_sink,
            error: *mut sbx_error,
        ) -> sbx_status {
            guard(error, || {
                let (plugin, _) = Instance::plugin::<P>(instance)?;
                let batch = $batch::new(text(app), Strided::new(items, count, stride));
                plugin.prepare(&batch, &HttpSink::new(sink)?)
            })
        }

        unsafe extern "C" fn classify<P: $role>(
            instance: *mut sbx_instance,
            responses: *const sbx_http_response,
            count: usize,
            stride: usize,
            sink: *mut sbx_http_sink,
            error: *mut sbx_error,
        ) -> sbx_status {
            guard(error, || {
                let (plugin, call) = Instance::plugin::<P>(instance)?;
                let batch = ResponseBatch::new(Strided::new(responses, count, stride), call);
                plugin.classify(&batch, &HttpSink::new(sink)?)
            })
        }
    };
}
pub(super) use translator;
