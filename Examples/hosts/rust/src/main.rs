//! A program in Rust with a gateway inside: `host gateway.yaml DATA_FOLDER`
mod sys;
use std::sync::mpsc::{channel, Sender};
use std::time::Duration;
use sys::*;

/// Runs on a thread of the gateway.
extern "C" fn results(context: *mut Opaque, list: *const DeliveryResult, n: usize, stride: usize) {
    let found = unsafe { &*(context as *const std::sync::Mutex<Sender<u64>>) };
    for index in 0..n {
        let result = unsafe { &*((list as *const u8).add(index * stride) as *const DeliveryResult) };
        if result.result == DELIVERED {
            let _ = found.lock().map(|found| found.send(result.event_id));
        }
    }
}

extern "C" fn answered(context: *mut Opaque, answer: *const Answer) {
    unsafe { *(context as *mut u32) = (*answer).http_status }
}

fn check(what: &str, status: i32, error: &Error) -> Result<(), String> {
    if status == 0 { Ok(()) } else { Err(format!("{what}: {}", error.text())) }
}

fn main() -> Result<(), String> {
    let args: Vec<String> = std::env::args().collect();
    if args.len() != 3 {
        return Err("host gateway.yaml DATA_FOLDER".to_string());
    }
    let (found, delivered) = channel();
    let found = std::sync::Mutex::new(found);
    let mut error = Error::new();
    let mut options = Options::new();
    options.config_file = Str::of(&args[1]);
    options.data_folder = Str::of(&args[2]);
    options.program = Str::of("shop");
    options.context = &found as *const _ as *mut Opaque;
    options.results = Some(results);
    let mut gateway = std::ptr::null_mut();
    check("create", unsafe { sbx_gateway_create(&options, &mut gateway, &mut error) }, &error)?;
    check("start", unsafe { sbx_gateway_start(gateway, &mut error) }, &error)?;

    let event = r#"{"type":"order.shipped","data":{"title":{"en":"Shipped","de":"Versandt"}},
        "recipients":[{"platform":"ios","token":"a","locale":"de"},{"platform":"ios","token":"b"}]}"#;
    let status = unsafe {
        sbx_gateway_submit_json(gateway, Str::of("shop"), Str::of(event), None, std::ptr::null_mut(), &mut error)
    };
    check("submit", status, &error)?;

    let mut request = Request::new();
    request.method = Str::of("POST");
    request.path = Str::of("/in/zendesk");
    request.body = Str::of(
        r#"{"devices":[{"identifier":"c","type":"ios"}],"notification":{"title":"T","body":"B","ticket_id":"5"}}"#,
    );
    let mut code = 0u32;
    let context = &mut code as *mut u32 as *mut Opaque;
    check("handle", unsafe { sbx_gateway_handle(gateway, &request, answered, context, &mut error) }, &error)?;
    if code != 200 {
        return Err(format!("the webhook was answered {code}"));
    }
    for count in 0..3 {
        delivered.recv_timeout(Duration::from_secs(30)).map_err(|_| format!("only {count} of 3 were delivered"))?;
    }
    check("reload", unsafe { sbx_gateway_reload(gateway, Str::of(""), &mut error) }, &error)?;
    let mut left = 0u64;
    unsafe {
        sbx_gateway_drain(gateway, 5000, &mut left);
        sbx_gateway_destroy(gateway);
    }
    println!("delivered 3, left {left}");
    Ok(())
}
