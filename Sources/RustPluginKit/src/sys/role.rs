//! `role/ingest.h` and `role/build.h`

use super::model::*;
use super::types::*;
use std::os::raw::{c_char, c_void};

constants! {
    SBX_T_BADGE: u32 = 1;
    SBX_ROLE_INGEST: &str = "sbx.role.ingest/1";
    SBX_ROLE_BUILD: &str = "sbx.role.build/1";
}

contract! {
    // ingest.h
    growing sbx_ingest_path {
        struct_size: u32,
        reserved: u32,
        pattern: sbx_str,
        methods: sbx_str,
    }
    growing sbx_request {
        struct_size: u32,
        reserved: u32,
        method: sbx_str,
        path: sbx_str,
        query: sbx_str,
        remote: sbx_str,
        pattern: sbx_str,
        body: sbx_str,
        client_certificate: sbx_str,
        params: *const sbx_kv,
        param_count: usize,
        headers: *const sbx_kv,
        header_count: usize,
        received_unix_ms: u64,
    }
    growing sbx_ingest_sink {
        struct_size: u32,
        reserved: u32,
        state: *mut c_void,
        emit: Option<
            unsafe extern "C" fn(*mut sbx_ingest_sink, *const sbx_event, usize, usize) -> sbx_status
        >,
        change: Option<
            unsafe extern "C" fn(*mut sbx_ingest_sink, *const sbx_change, usize, usize) -> sbx_status
        >,
        reject: Option<unsafe extern "C" fn(*mut sbx_ingest_sink, sbx_str, sbx_str) -> sbx_status>,
        respond: Option<
            unsafe extern "C" fn(
                *mut sbx_ingest_sink, u32, *const sbx_kv, usize, sbx_str
            ) -> sbx_status
        >,
        defer: Option<unsafe extern "C" fn(*mut sbx_ingest_sink, u32) -> sbx_status>,
        finish: Option<unsafe extern "C" fn(*mut sbx_ingest_sink, sbx_status, *const sbx_error)>,
    }
    growing sbx_ingest {
        struct_size: u32,
        reserved: u32,
        paths: Option<
            unsafe extern "C" fn(
                *mut sbx_instance, *mut *const sbx_ingest_path, *mut usize, *mut usize
            ) -> sbx_status
        >,
        handle: Option<
            unsafe extern "C" fn(
                *mut sbx_instance, *const sbx_request, *mut sbx_ingest_sink, *mut sbx_error
            ) -> sbx_status
        >,
    }

    // build.h
    growing sbx_build_input {
        struct_size: u32,
        reserved: u32,
        event: *const sbx_event,
        route: sbx_str,
        instance: sbx_str,
        options: sbx_str,
        recipients: *const sbx_recipient,
        recipient_count: usize,
        recipient_stride: usize,
    }
    growing sbx_target {
        struct_size: u32,
        flags: u32,
        recipient: u32,
        badge: i32,
    }
    growing sbx_build_sink {
        struct_size: u32,
        reserved: u32,
        state: *mut c_void,
        emit: Option<
            unsafe extern "C" fn(
                *mut sbx_build_sink, *const sbx_notification, *const sbx_target, usize, usize
            ) -> sbx_status
        >,
        skip: Option<unsafe extern "C" fn(*mut sbx_build_sink, u32, sbx_str) -> sbx_status>,
    }
    growing sbx_build {
        struct_size: u32,
        reserved: u32,
        options_schema: *const c_char,
        build: Option<
            unsafe extern "C" fn(
                *mut sbx_instance, *const sbx_build_input, *mut sbx_build_sink, *mut sbx_error
            ) -> sbx_status
        >,
    }
}
