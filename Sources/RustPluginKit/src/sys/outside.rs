//! The services that ask elsewhere: `service/{http,kv,registry,credential,certificate}.h`

use super::model::*;
use super::plugin::sbx_host;
use super::types::*;
use std::os::raw::c_void;

constants! {
    SBX_SVC_CERTIFICATE: &str = "sbx.certificate/1";
    SBX_SVC_CREDENTIAL: &str = "sbx.credential/1";
    SBX_SVC_HTTP: &str = "sbx.http/1";
    SBX_SVC_KV: &str = "sbx.kv/1";
    SBX_SVC_REGISTRY: &str = "sbx.registry/1";
    SBX_HTTP_NO_PRIVATE: u32 = 1;
}

functions! {
    /// The answer of a REST call.
    sbx_http_done = unsafe extern "C" fn(*mut c_void, *const sbx_http_answer);
    /// The answer of the store of values.
    sbx_kv_done = unsafe extern "C" fn(*mut c_void, sbx_status, sbx_str);
    /// The answer of the registry.
    sbx_registry_done = unsafe extern "C" fn(
        *mut c_void, sbx_status, *const sbx_device, usize, usize
    );
}

contract! {
    frozen sbx_certificate_extension {
        oid: sbx_str,
        der: sbx_str,
    }
    growing sbx_certificate {
        struct_size: u32,
        reserved: u32,
        subject: sbx_str,
        user_id: sbx_str,
        not_before_unix_s: i64,
        not_after_unix_s: i64,
        extensions: *const sbx_certificate_extension,
        extension_count: usize,
    }
    growing sbx_certificates {
        struct_size: u32,
        reserved: u32,
        read: Option<
            unsafe extern "C" fn(
                *const sbx_host, sbx_str, sbx_str, *mut *const sbx_certificate, *mut sbx_error
            ) -> sbx_status
        >,
    }
    growing sbx_credential {
        struct_size: u32,
        reserved: u32,
        define: Option<
            unsafe extern "C" fn(
                *const sbx_host, sbx_str, u64,
                Option<unsafe extern "C" fn(*mut sbx_instance, sbx_str, *mut sbx_error) -> sbx_status>
            ) -> sbx_status
        >,
        set: Option<
            unsafe extern "C" fn(*const sbx_host, sbx_str, sbx_str, u64, u64) -> sbx_status
        >,
        get: Option<unsafe extern "C" fn(*const sbx_host, sbx_str, *mut sbx_str) -> sbx_status>,
    }
    growing sbx_http_call {
        struct_size: u32,
        flags: u32,
        method: sbx_str,
        url: sbx_str,
        headers: *const sbx_kv,
        header_count: usize,
        body: sbx_str,
        ca_file: sbx_str,
        timeout_ms: u32,
        redirects_max: u32,
    }
    growing sbx_http_answer {
        struct_size: u32,
        status: sbx_status,
        http_status: u32,
        reserved: u32,
        headers: *const sbx_kv,
        header_count: usize,
        body: sbx_str,
    }
    growing sbx_http {
        struct_size: u32,
        reserved: u32,
        submit: Option<
            unsafe extern "C" fn(
                *const sbx_host, *const sbx_http_call, sbx_http_done, *mut c_void
            ) -> sbx_status
        >,
        call: Option<
            unsafe extern "C" fn(
                *const sbx_host, *const sbx_http_call, sbx_http_done, *mut c_void
            ) -> sbx_status
        >,
    }
    growing sbx_kv_store {
        struct_size: u32,
        reserved: u32,
        get: Option<
            unsafe extern "C" fn(*const sbx_host, sbx_str, sbx_kv_done, *mut c_void) -> sbx_status
        >,
        put: Option<
            unsafe extern "C" fn(
                *const sbx_host, sbx_str, sbx_str, u64, sbx_kv_done, *mut c_void
            ) -> sbx_status
        >,
        remove: Option<
            unsafe extern "C" fn(*const sbx_host, sbx_str, sbx_kv_done, *mut c_void) -> sbx_status
        >,
    }
    growing sbx_registry {
        struct_size: u32,
        reserved: u32,
        devices: Option<
            unsafe extern "C" fn(
                *const sbx_host, sbx_str, sbx_str, sbx_registry_done, *mut c_void
            ) -> sbx_status
        >,
        find: Option<
            unsafe extern "C" fn(
                *const sbx_host, sbx_str, sbx_str, sbx_registry_done, *mut c_void
            ) -> sbx_status
        >,
        change: Option<
            unsafe extern "C" fn(
                *const sbx_host, *const sbx_change, sbx_registry_done, *mut c_void
            ) -> sbx_status
        >,
    }
}
