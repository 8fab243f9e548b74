//! The part of signalbox/gateway.h that this program uses.
use std::os::raw::c_char;

pub const DELIVERED: u32 = 1;
pub type Opaque = u8;
type Results = extern "C" fn(*mut Opaque, *const DeliveryResult, usize, usize);
type Done = extern "C" fn(*mut Opaque, *const Opaque);

#[repr(C)]
#[derive(Clone, Copy)]
pub struct Str {
    ptr: *const u8,
    len: usize,
}
impl Str {
    pub fn of(text: &str) -> Str {
        Str { ptr: text.as_ptr(), len: text.len() }
    }
}

#[repr(C)]
pub struct Error {
    struct_size: u32,
    status: i32,
    provider_code: u32,
    message: [c_char; 244],
}
impl Error {
    pub fn new() -> Error {
        Error { struct_size: std::mem::size_of::<Error>() as u32, status: 0, provider_code: 0, message: [0; 244] }
    }
    pub fn text(&self) -> String {
        self.message.iter().take_while(|c| **c != 0).map(|c| *c as u8 as char).collect()
    }
}

/// The first fields of sbx_delivery_result.
#[repr(C)]
pub struct DeliveryResult {
    struct_size: u32,
    pub result: u32,
    attempt: u32,
    provider_code: u32,
    pub event_id: u64,
}

#[repr(C)]
pub struct Options {
    struct_size: u32,
    reserved: u32,
    pub config_file: Str,
    config_text: Str,
    config_folder: Str,
    pub data_folder: Str,
    plugin_folders: Str,
    pub program: Str,
    program_version: Str,
    pub context: *mut Opaque,
    log: Option<extern "C" fn()>,
    pub results: Option<Results>,
}
impl Options {
    pub fn new() -> Options {
        let mut new: Options = unsafe { std::mem::zeroed() };
        new.struct_size = std::mem::size_of::<Options>() as u32;
        new
    }
}

#[repr(C)]
pub struct Request {
    struct_size: u32,
    reserved: u32,
    pub method: Str,
    pub path: Str,
    query: Str,
    remote: Str,
    pattern: Str,
    pub body: Str,
    client_certificate: Str,
    params: *const Opaque,
    param_count: usize,
    headers: *const Opaque,
    header_count: usize,
    received_unix_ms: u64,
}
impl Request {
    pub fn new() -> Request {
        let mut new: Request = unsafe { std::mem::zeroed() };
        new.struct_size = std::mem::size_of::<Request>() as u32;
        new
    }
}

#[repr(C)]
pub struct Answer {
    struct_size: u32,
    pub http_status: u32,
}

extern "C" {
    pub fn sbx_gateway_create(options: *const Options, gateway: *mut *mut Opaque, error: *mut Error) -> i32;
    pub fn sbx_gateway_start(gateway: *mut Opaque, error: *mut Error) -> i32;
    pub fn sbx_gateway_submit_json(
        gateway: *mut Opaque, source: Str, json: Str, done: Option<Done>, context: *mut Opaque, error: *mut Error,
    ) -> i32;
    pub fn sbx_gateway_handle(
        gateway: *mut Opaque, request: *const Request, done: extern "C" fn(*mut Opaque, *const Answer),
        context: *mut Opaque, error: *mut Error,
    ) -> i32;
    pub fn sbx_gateway_reload(gateway: *mut Opaque, text: Str, error: *mut Error) -> i32;
    pub fn sbx_gateway_drain(gateway: *mut Opaque, timeout_ms: u32, left: *mut u64) -> i32;
    pub fn sbx_gateway_destroy(gateway: *mut Opaque);
}
