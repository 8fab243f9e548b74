//! `types.h`

use std::os::raw::c_char;

/// The result of a call; an unknown value counts as `SBX_E_INTERNAL`.
pub type sbx_status = i32;

constants! {
    SBX_ABI_MAJOR: u32 = 1;
    SBX_ABI_MINOR: u32 = 1;
    SBX_OK: sbx_status = 0;
    SBX_E_INTERNAL: sbx_status = -1;
    SBX_E_VERSION: sbx_status = -2;
    SBX_E_INVALID: sbx_status = -3;
    SBX_E_UNSUPPORTED: sbx_status = -4;
    SBX_E_AGAIN: sbx_status = -5;
    SBX_E_TIMEOUT: sbx_status = -6;
    SBX_E_AUTH: sbx_status = -7;
    SBX_E_NOT_FOUND: sbx_status = -8;
    SBX_E_TOO_LARGE: sbx_status = -9;
    SBX_E_UNREACHABLE: sbx_status = -10;
    SBX_E_LOST: sbx_status = -11;
    SBX_E_STOPPING: sbx_status = -12;
}

contract! {
    frozen sbx_str {
        ptr: *const c_char,
        len: usize,
    }
    frozen sbx_kv {
        key: sbx_str,
        value: sbx_str,
    }
    growing sbx_error {
        struct_size: u32,
        status: sbx_status,
        provider_code: u32,
        message: [c_char; 244],
    }
}

/// A plugin with a config; defined by the plugin.
#[repr(C)]
pub struct sbx_instance {
    hidden: [u8; 0],
}
