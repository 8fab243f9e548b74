//! `plugin.h`

use super::types::*;
use std::os::raw::{c_char, c_void};

constants! {
    SBX_F_SERIAL: u64 = 1;
}

contract! {
    growing sbx_host {
        struct_size: u32,
        abi_major: u32,
        abi_minor: u32,
        reserved: u32,
        state: *mut c_void,
        name: *const c_char,
        version: *const c_char,
        instance: *const c_char,
        service: Option<unsafe extern "C" fn(*const sbx_host, *const c_char) -> *const c_void>,
    }
    growing sbx_plugin {
        struct_size: u32,
        abi_major: u32,
        abi_minor: u32,
        needs_minor: u32,
        flags: u64,
        id: *const c_char,
        version: *const c_char,
        summary: *const c_char,
        roles: *const *const c_char,
        needs: *const *const c_char,
        config_schema: *const c_char,
        create: Option<
            unsafe extern "C" fn(
                *const sbx_host, sbx_str, *mut *mut sbx_instance, *mut sbx_error
            ) -> sbx_status
        >,
        role: Option<unsafe extern "C" fn(*const c_char) -> *const c_void>,
        start: Option<unsafe extern "C" fn(*mut sbx_instance, *mut sbx_error) -> sbx_status>,
        stop: Option<unsafe extern "C" fn(*mut sbx_instance, u64, *mut sbx_error) -> sbx_status>,
        destroy: Option<unsafe extern "C" fn(*mut sbx_instance)>,
    }
}

functions! {
    /// The one exported function.
    sbx_entry_fn = unsafe extern "C" fn(*const sbx_host, *mut sbx_error) -> *const sbx_plugin;
}
