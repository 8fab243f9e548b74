//! `role/http.h`, `role/send_http.h`, `role/register.h` and `role/send.h`

use super::model::*;
use super::plugin::sbx_host;
use super::types::*;
use std::os::raw::c_void;

constants! {
    SBX_ENDPOINT_ALPN_REQUIRED: u32 = 1;
    SBX_ENDPOINT_ONE_STREAM_FIRST: u32 = 2;
    SBX_ENDPOINT_AT_MOST_ONCE: u32 = 4;
    SBX_ROLE_SEND_HTTP: &str = "sbx.role.send-http/1";
    SBX_ROLE_SEND: &str = "sbx.role.send/1";
    SBX_ROLE_REGISTER: &str = "sbx.role.register/1";
    SBX_SVC_SEND_HOST: &str = "sbx.send-host/1";
}

contract! {
    // http.h
    growing sbx_endpoint {
        struct_size: u32,
        flags: u32,
        origin: sbx_str,
        ca_file: sbx_str,
        client_certificate: sbx_str,
        client_key: sbx_str,
        request_timeout_ms: u32,
        connect_timeout_ms: u32,
        ping_idle_ms: u32,
        ping_timeout_ms: u32,
        connections_max: u32,
        streams_max: u32,
        client_password: sbx_str,
    }
    growing sbx_http_request {
        struct_size: u32,
        reserved: u32,
        method: sbx_str,
        path: sbx_str,
        headers: *const sbx_kv,
        header_count: usize,
        body: *const sbx_str,
        body_segments: usize,
        items: *const u64,
        item_count: usize,
    }
    growing sbx_http_response {
        struct_size: u32,
        http_status: u32,
        app: sbx_str,
        headers: *const sbx_kv,
        header_count: usize,
        body: sbx_str,
        items: *const u64,
        item_count: usize,
    }
    growing sbx_http_sink {
        struct_size: u32,
        reserved: u32,
        state: *mut c_void,
        request: Option<
            unsafe extern "C" fn(
                *mut sbx_http_sink, *const sbx_http_request, usize, usize
            ) -> sbx_status
        >,
        settle: Option<
            unsafe extern "C" fn(*mut sbx_http_sink, *const sbx_outcome, usize, usize) -> sbx_status
        >,
    }

    // send_http.h
    growing sbx_send_http {
        struct_size: u32,
        max_batch: u32,
        endpoint: Option<
            unsafe extern "C" fn(
                *mut sbx_instance, sbx_str, *mut sbx_endpoint, *mut sbx_error
            ) -> sbx_status
        >,
        prepare: Option<
            unsafe extern "C" fn(
                *mut sbx_instance, sbx_str, *const sbx_delivery, usize, usize, *mut sbx_http_sink,
                *mut sbx_error
            ) -> sbx_status
        >,
        classify: Option<
            unsafe extern "C" fn(
                *mut sbx_instance, *const sbx_http_response, usize, usize, *mut sbx_http_sink,
                *mut sbx_error
            ) -> sbx_status
        >,
    }

    // register.h
    growing sbx_register {
        struct_size: u32,
        max_batch: u32,
        kinds: u64,
        endpoint: Option<
            unsafe extern "C" fn(
                *mut sbx_instance, sbx_str, *mut sbx_endpoint, *mut sbx_error
            ) -> sbx_status
        >,
        prepare: Option<
            unsafe extern "C" fn(
                *mut sbx_instance, sbx_str, *const sbx_change, usize, usize, *mut sbx_http_sink,
                *mut sbx_error
            ) -> sbx_status
        >,
        classify: Option<
            unsafe extern "C" fn(
                *mut sbx_instance, *const sbx_http_response, usize, usize, *mut sbx_http_sink,
                *mut sbx_error
            ) -> sbx_status
        >,
    }

    // send.h
    growing sbx_send_host {
        struct_size: u32,
        reserved: u32,
        complete: Option<unsafe extern "C" fn(*const sbx_host, *const sbx_outcome, usize, usize)>,
        credit: Option<unsafe extern "C" fn(*const sbx_host, usize)>,
    }
    growing sbx_send {
        struct_size: u32,
        max_batch: u32,
        submit: Option<
            unsafe extern "C" fn(
                *mut sbx_instance, sbx_str, *const sbx_delivery, usize, usize, *mut usize,
                *mut sbx_error
            ) -> sbx_status
        >,
    }
}
