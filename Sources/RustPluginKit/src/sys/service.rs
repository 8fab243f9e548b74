//! The services that answer at once: `service/{log,metrics,secrets,sign,json,fit,clock,timer}.h`

use super::plugin::sbx_host;
use super::types::*;
use std::os::raw::c_void;

constants! {
    SBX_SVC_CLOCK: &str = "sbx.clock/1";
    SBX_SVC_FIT: &str = "sbx.fit/1";
    SBX_SVC_JSON: &str = "sbx.json/1";
    SBX_SVC_LOG: &str = "sbx.log/1";
    SBX_SVC_METRICS: &str = "sbx.metrics/1";
    SBX_SVC_SECRETS: &str = "sbx.secrets/1";
    SBX_SVC_SIGN: &str = "sbx.sign/1";
    SBX_SVC_TIMER: &str = "sbx.timer/1";
    SBX_FIT_TEXTS: u32 = 1;
    SBX_JSON_NULL: u32 = 0;
    SBX_JSON_BOOLEAN: u32 = 1;
    SBX_JSON_INTEGER: u32 = 2;
    SBX_JSON_NUMBER: u32 = 3;
    SBX_JSON_STRING: u32 = 4;
    SBX_JSON_ARRAY: u32 = 5;
    SBX_JSON_OBJECT: u32 = 6;
    SBX_LOG_TRACE: u32 = 0;
    SBX_LOG_DEBUG: u32 = 1;
    SBX_LOG_INFO: u32 = 2;
    SBX_LOG_WARN: u32 = 3;
    SBX_LOG_ERROR: u32 = 4;
    SBX_SIGN_ES256: u32 = 1;
    SBX_SIGN_RS256: u32 = 2;
    SBX_SIGN_PS256: u32 = 3;
    SBX_SIGN_HMAC_SHA256: u32 = 4;
    SBX_SIGN_HMAC_SHA1: u32 = 5;
}

contract! {
    growing sbx_clock {
        struct_size: u32,
        reserved: u32,
        unix_ms: Option<unsafe extern "C" fn(*const sbx_host) -> u64>,
        utc_offset: Option<
            unsafe extern "C" fn(*const sbx_host, sbx_str, u64, *mut i32) -> sbx_status
        >,
    }
    growing sbx_fit_request {
        struct_size: u32,
        flags: u32,
        bytes_max: u64,
        payload: sbx_str,
        places: *const sbx_kv,
        place_count: usize,
        counted: *const sbx_str,
        counted_count: usize,
        data: sbx_str,
        shorten: sbx_str,
    }
    growing sbx_fit {
        struct_size: u32,
        reserved: u32,
        fit: Option<
            unsafe extern "C" fn(
                *const sbx_host, *const sbx_fit_request, *mut sbx_str, *mut sbx_error
            ) -> sbx_status
        >,
    }
    frozen sbx_json_value {
        document: *const c_void,
        position: u64,
    }
    frozen sbx_json_cursor {
        state: [u64; 4],
    }
    growing sbx_json {
        struct_size: u32,
        reserved: u32,
        parse: Option<
            unsafe extern "C" fn(
                *const sbx_host, sbx_str, *mut sbx_json_value, *mut sbx_error
            ) -> sbx_status
        >,
        at: Option<
            unsafe extern "C" fn(sbx_json_value, sbx_str, *mut sbx_json_value) -> sbx_status
        >,
        kind: Option<unsafe extern "C" fn(sbx_json_value) -> u32>,
        string: Option<unsafe extern "C" fn(sbx_json_value, *mut sbx_str) -> sbx_status>,
        integer: Option<unsafe extern "C" fn(sbx_json_value, *mut i64) -> sbx_status>,
        boolean: Option<unsafe extern "C" fn(sbx_json_value, *mut u32) -> sbx_status>,
        text: Option<unsafe extern "C" fn(sbx_json_value, *mut sbx_str) -> sbx_status>,
        count: Option<unsafe extern "C" fn(sbx_json_value) -> u64>,
        first: Option<unsafe extern "C" fn(sbx_json_value, *mut sbx_json_cursor) -> sbx_status>,
        next: Option<
            unsafe extern "C" fn(
                *mut sbx_json_cursor, *mut sbx_str, *mut sbx_json_value
            ) -> sbx_status
        >,
    }
    growing sbx_log {
        struct_size: u32,
        reserved: u32,
        enabled: Option<unsafe extern "C" fn(*const sbx_host, u32) -> u32>,
        write: Option<unsafe extern "C" fn(*const sbx_host, u32, sbx_str, *const sbx_kv, usize)>,
    }
    growing sbx_metrics {
        struct_size: u32,
        reserved: u32,
        counter: Option<
            unsafe extern "C" fn(*const sbx_host, sbx_str, *const sbx_kv, usize) -> u64
        >,
        gauge: Option<unsafe extern "C" fn(*const sbx_host, sbx_str, *const sbx_kv, usize) -> u64>,
        add: Option<unsafe extern "C" fn(*const sbx_host, u64, u64)>,
        set: Option<unsafe extern "C" fn(*const sbx_host, u64, i64)>,
    }
    growing sbx_secrets {
        struct_size: u32,
        reserved: u32,
        get: Option<
            unsafe extern "C" fn(*const sbx_host, sbx_str, *mut c_void, *mut usize) -> sbx_status
        >,
        watch: Option<
            unsafe extern "C" fn(
                *const sbx_host, sbx_str, Option<unsafe extern "C" fn(*mut c_void)>, *mut c_void
            ) -> sbx_status
        >,
    }
    growing sbx_sign {
        struct_size: u32,
        reserved: u32,
        sign: Option<
            unsafe extern "C" fn(
                *const sbx_host, u32, sbx_str, sbx_str, sbx_str, *mut c_void, *mut usize,
                *mut sbx_error
            ) -> sbx_status
        >,
        verify: Option<
            unsafe extern "C" fn(
                *const sbx_host, u32, sbx_str, sbx_str, sbx_str, sbx_str, *mut sbx_error
            ) -> sbx_status
        >,
    }
    growing sbx_timer {
        struct_size: u32,
        reserved: u32,
        after: Option<
            unsafe extern "C" fn(
                *const sbx_host, u64, Option<unsafe extern "C" fn(*mut c_void)>, *mut c_void
            ) -> u64
        >,
        cancel: Option<unsafe extern "C" fn(*const sbx_host, u64)>,
    }
}
