//! A miniature host that passes its tables to a plugin as a C program would.

use signalbox_plugin::sys::*;
use std::ffi::{CStr, CString};
use std::os::raw::{c_char, c_void};
use std::ptr;
use std::sync::Mutex;

extern "C" {
    fn sbx_plugin_entry_v1(host: *const sbx_host, error: *mut sbx_error) -> *const sbx_plugin;
}

/// What the plugin did to its host, one line per call.
pub static SEEN: Mutex<Vec<String>> = Mutex::new(Vec::new());
/// Callbacks that the plugin has passed to the host.
pub static CALLBACKS: Mutex<Vec<(unsafe extern "C" fn(*mut c_void), usize)>> =
    Mutex::new(Vec::new());
/// What this host keeps until the process ends. LeakSanitizer sees that it is not lost.
static KEPT: Mutex<Vec<usize>> = Mutex::new(Vec::new());
/// Serialises the tests, which share SEEN and CALLBACKS.
pub static TURN: Mutex<()> = Mutex::new(());

pub fn note(line: String) {
    SEEN.lock().unwrap().push(line);
}

/// What was seen since the last call.
pub fn seen() -> Vec<String> {
    std::mem::take(&mut *SEEN.lock().unwrap())
}

pub fn str_of(text: &str) -> sbx_str {
    sbx_str { ptr: text.as_ptr().cast(), len: text.len() }
}

pub unsafe fn text_of(raw: sbx_str) -> String {
    if raw.ptr.is_null() {
        return String::new();
    }
    let bytes = std::slice::from_raw_parts(raw.ptr.cast(), raw.len);
    String::from_utf8_lossy(bytes).into_owned()
}

pub fn words_of(error: &sbx_error) -> String {
    let bytes = error.message.iter().take_while(|c| **c != 0).map(|c| *c as u8).collect();
    String::from_utf8(bytes).expect("UTF-8")
}

/// An error filled with garbage where the plugin must write.
pub fn error() -> sbx_error {
    let mut error: sbx_error = fresh();
    error.message = [b'#' as c_char; 244];
    error
}

/// The plugin of this test program.
pub fn plugin() -> sbx_plugin {
    unsafe { read(sbx_plugin_entry_v1(&host(), ptr::null_mut())) }
}

/// A role's table.
pub fn role<T: Growing>(id: &str) -> T {
    let id = CString::new(id).unwrap();
    unsafe { read(plugin().role.unwrap()(id.as_ptr()).cast::<T>()) }
}

/// A host that lives forever.
pub fn host() -> sbx_host {
    sbx_host {
        abi_major: SBX_ABI_MAJOR,
        abi_minor: SBX_ABI_MINOR,
        name: "mock\0".as_ptr().cast(),
        version: "9\0".as_ptr().cast(),
        instance: "probe\0".as_ptr().cast(),
        service: Some(service),
        ..fresh()
    }
}

/// A started instance, or why it could not be created.
pub fn create(config: &str) -> Result<*mut sbx_instance, (sbx_status, String)> {
    let host = kept(host()).cast::<sbx_host>();
    let (plugin, mut error, mut instance) = (plugin(), error(), ptr::null_mut());
    let code = unsafe {
        match plugin.create.unwrap()(host, str_of(config), &mut instance, &mut error) {
            SBX_OK => match plugin.start.unwrap()(instance, &mut error) {
                SBX_OK => SBX_OK,
                code => {
                    plugin.destroy.unwrap()(instance);
                    code
                }
            },
            code => code,
        }
    };
    match code {
        SBX_OK => Ok(instance),
        code => Err((code, words_of(&error))),
    }
}

fn kept<T>(value: T) -> *const c_void {
    let address = Box::into_raw(Box::new(value)) as usize;
    KEPT.lock().unwrap().push(address);
    address as *const c_void
}

unsafe extern "C" fn service(_: *const sbx_host, id: *const c_char) -> *const c_void {
    match CStr::from_ptr(id).to_str().unwrap() {
        SBX_SVC_LOG => kept(sbx_log { enabled: Some(enabled), write: Some(write), ..fresh() }),
        SBX_SVC_JSON => {
            kept(sbx_json { parse: Some(parse), kind: Some(kind), text: Some(text), ..fresh() })
        }
        SBX_SVC_FIT => kept(sbx_fit { fit: Some(fit), ..fresh() }),
        SBX_SVC_CLOCK => kept(sbx_clock { unix_ms: Some(unix_ms), ..fresh() }),
        SBX_SVC_TIMER => kept(sbx_timer { after: Some(after), cancel: Some(cancel), ..fresh() }),
        SBX_SVC_SECRETS => kept(sbx_secrets { get: Some(get), watch: Some(watch), ..fresh() }),
        SBX_SVC_SEND_HOST => {
            kept(sbx_send_host { complete: Some(complete), credit: Some(credit), ..fresh() })
        }
        // From an older host: the table ends before `change`, and what follows must not be read.
        SBX_SVC_REGISTRY => {
            let mut table: sbx_registry = fresh();
            table.struct_size = 24;
            table.change = Some(behind);
            kept(table)
        }
        _ => ptr::null(),
    }
}

unsafe extern "C" fn behind(
    _: *const sbx_host,
    _: *const sbx_change,
    _: sbx_registry_done,
    _: *mut c_void,
) -> sbx_status {
    note("called what an older host does not have".to_string());
    SBX_E_INTERNAL
}

unsafe extern "C" fn enabled(_: *const sbx_host, _: u32) -> u32 {
    1
}

unsafe extern "C" fn write(
    _: *const sbx_host,
    level: u32,
    message: sbx_str,
    fields: *const sbx_kv,
    count: usize,
) {
    let mut line = format!("log {level} {}", text_of(message));
    for index in 0..count {
        let field = &*fields.add(index);
        line += &format!(" {}={}", text_of(field.key), text_of(field.value));
    }
    note(line);
}

unsafe extern "C" fn parse(
    _: *const sbx_host,
    text: sbx_str,
    root: *mut sbx_json_value,
    _: *mut sbx_error,
) -> sbx_status {
    *root = sbx_json_value { document: kept(text_of(text)).cast(), position: 0 };
    SBX_OK
}

unsafe extern "C" fn kind(_: sbx_json_value) -> u32 {
    SBX_JSON_OBJECT
}

unsafe extern "C" fn text(value: sbx_json_value, out: *mut sbx_str) -> sbx_status {
    *out = str_of(&*value.document.cast::<String>());
    SBX_OK
}

unsafe extern "C" fn fit(
    _: *const sbx_host,
    request: *const sbx_fit_request,
    out: *mut sbx_str,
    _: *mut sbx_error,
) -> sbx_status {
    let request = read(request);
    let (place, counted) = (*request.places, text_of(*request.counted));
    let place = format!("{}={}", text_of(place.key), text_of(place.value));
    note(format!("fit {} {counted} {place} {}", request.bytes_max, text_of(request.data)));
    if !text_of(request.payload).ends_with('}') {
        return SBX_E_INVALID;
    }
    *out = str_of(r#"{"a":"lo…"}"#);
    SBX_OK
}

unsafe extern "C" fn unix_ms(_: *const sbx_host) -> u64 {
    1_767_323_045_000
}

unsafe extern "C" fn after(
    _: *const sbx_host,
    ms: u64,
    run: Option<unsafe extern "C" fn(*mut c_void)>,
    context: *mut c_void,
) -> u64 {
    note(format!("after {ms}"));
    CALLBACKS.lock().unwrap().push((run.unwrap(), context as usize));
    // This host's limit.
    if ms > 1_000 {
        0
    } else {
        7
    }
}

unsafe extern "C" fn cancel(_: *const sbx_host, timer: u64) {
    note(format!("cancel {timer}"));
}

unsafe extern "C" fn get(
    _: *const sbx_host,
    name: sbx_str,
    buffer: *mut c_void,
    length: *mut usize,
) -> sbx_status {
    // Longer than any plugin expects.
    let secret = format!("{}{}", text_of(name), "x".repeat(5_000));
    let room = std::mem::replace(&mut *length, secret.len());
    if room < secret.len() {
        return SBX_E_TOO_LARGE;
    }
    ptr::copy_nonoverlapping(secret.as_ptr(), buffer.cast(), secret.len());
    SBX_OK
}

unsafe extern "C" fn watch(
    _: *const sbx_host,
    _: sbx_str,
    run: Option<unsafe extern "C" fn(*mut c_void)>,
    context: *mut c_void,
) -> sbx_status {
    CALLBACKS.lock().unwrap().push((run.unwrap(), context as usize));
    SBX_OK
}

unsafe extern "C" fn complete(
    _: *const sbx_host,
    outcomes: *const sbx_outcome,
    count: usize,
    stride: usize,
) {
    for index in 0..count {
        let outcome = read(outcomes.cast::<u8>().add(index * stride).cast::<sbx_outcome>());
        note(format!("complete {} {} {}", outcome.item, outcome.kind, text_of(outcome.reason)));
    }
}

unsafe extern "C" fn credit(_: *const sbx_host, room: usize) {
    note(format!("credit {room}"));
}
