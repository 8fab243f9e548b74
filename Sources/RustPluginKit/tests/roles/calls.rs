//! Calls of ingest and build, with structs of older and newer hosts.

use super::*;
use std::os::raw::c_void;

pub fn line(text: String) -> sbx_status {
    note(text);
    SBX_OK
}

unsafe extern "C" fn emit(
    _: *mut sbx_ingest_sink,
    events: *const sbx_event,
    count: usize,
    stride: usize,
) -> sbx_status {
    for index in 0..count {
        let event = read(events.cast::<u8>().add(index * stride).cast::<sbx_event>());
        let mut text = format!("emit {}", text_of(event.r#type));
        for place in 0..event.recipient_count {
            let start = event.recipients.cast::<u8>().add(place * event.recipient_stride);
            let recipient = read(start.cast::<sbx_recipient>());
            let device = read(recipient.device);
            text += &format!(" {}{}", text_of(device.token), text_of(device.user));
            for pair in 0..recipient.attribute_count {
                text += &format!("+{}", text_of((*recipient.attributes.add(pair)).key));
            }
        }
        note(text);
    }
    SBX_OK
}

unsafe extern "C" fn change(
    _: *mut sbx_ingest_sink,
    changes: *const sbx_change,
    count: usize,
    _: usize,
) -> sbx_status {
    line(format!("change {count} {}", read(changes).kind))
}

unsafe extern "C" fn reject(
    _: *mut sbx_ingest_sink,
    reason: sbx_str,
    detail: sbx_str,
) -> sbx_status {
    line(format!("reject {} {}", text_of(reason), text_of(detail)))
}

unsafe extern "C" fn respond(
    _: *mut sbx_ingest_sink,
    status: u32,
    headers: *const sbx_kv,
    count: usize,
    body: sbx_str,
) -> sbx_status {
    assert_eq!(count, 1);
    line(format!("respond {status} {} {}", text_of((*headers).value), text_of(body)))
}

unsafe extern "C" fn defer(_: *mut sbx_ingest_sink, timeout: u32) -> sbx_status {
    line(format!("defer {timeout}"))
}

unsafe extern "C" fn finish(_: *mut sbx_ingest_sink, status: sbx_status, error: *const sbx_error) {
    let words = if error.is_null() { String::new() } else { words_of(&*error) };
    note(format!("finish {status} {words}"));
}

fn sink() -> sbx_ingest_sink {
    sbx_ingest_sink {
        emit: Some(emit),
        change: Some(change),
        reject: Some(reject),
        respond: Some(respond),
        defer: Some(defer),
        finish: Some(finish),
        ..fresh()
    }
}

fn handle(request: &sbx_request, mut sink: sbx_ingest_sink) -> (sbx_status, String) {
    let instance = create("{}").unwrap();
    let mut error = error();
    let code = unsafe {
        role::<sbx_ingest>(SBX_ROLE_INGEST).handle.unwrap()(
            instance, request, &mut sink, &mut error,
        )
    };
    end(instance);
    (code, words_of(&error))
}

fn request(path: &str) -> sbx_request {
    sbx_request { path: str_of(path), ..fresh() }
}

/// What the plugin did, without its log lines.
pub fn done() -> Vec<String> {
    seen().into_iter().filter(|line| !line.starts_with("log ")).collect()
}

#[test]
fn paths_stay_where_they_are() {
    let _turn = turn();
    let instance = create("{}").unwrap();
    let (mut list, mut count, mut stride) = (ptr::null(), 0, 0);
    unsafe {
        let paths = role::<sbx_ingest>(SBX_ROLE_INGEST).paths.unwrap();
        assert_eq!(paths(instance, &mut list, &mut count, &mut stride), SBX_OK);
        assert_eq!((count, stride), (2, size_of::<sbx_ingest_path>()));
        let second = read(list.add(1));
        assert_eq!(
            (text_of(second.pattern), text_of(second.methods)),
            ("/b/{id}".into(), "GET,PUT".into())
        );
        assert_eq!(text_of(read(list).methods), "POST");
    }
    end(instance);
}

#[test]
fn a_request_of_an_older_host_has_no_fields_that_it_does_not_know() {
    let _turn = turn();
    let pairs = [
        sbx_kv { key: str_of("a"), value: str_of("1") },
        sbx_kv { key: str_of("p"), value: str_of("2") },
    ];
    let mut given = sbx_request {
        headers: pairs.as_ptr(),
        header_count: 2,
        params: pairs.as_ptr(),
        param_count: 2,
        body: str_of("x"),
        ..request("/headers")
    };
    assert_eq!(handle(&given, sink()).0, SBX_OK);
    assert_eq!(done(), [r#"[Some("1"), Some("2"), None] [120]"#]);
    // The struct ends before `headers`, whose bytes are garbage.
    given.struct_size = 136;
    given.headers = 0x5a5a as *const sbx_kv;
    assert_eq!(handle(&given, sink()).0, SBX_OK);
    assert_eq!(done(), [r#"[None, Some("2"), None] [120]"#]);
    given.body = sbx_str { ptr: ptr::null(), len: 7 };
    given.path = sbx_str { ptr: [0xffu8, 0xfe].as_ptr().cast(), len: 2 };
    assert_eq!(handle(&given, sink()), (SBX_E_NOT_FOUND, "no ".to_string()));
}

#[test]
fn events_cross_with_their_recipients() {
    let _turn = turn();
    assert_eq!(handle(&request("/emit"), sink()).0, SBX_OK);
    let problem = concat!(
        r#"respond 400 application/problem+json {"type":"about:blank","title":"Bad Request","#,
        r#""status":400,"detail":"it \"is\"","a":"b"}"#
    );
    let expected =
        ["emit first", "emit second t u+unread", "emit first", "reject bad an item", problem];
    assert_eq!(done(), expected);
    // From a host whose sink ends before `respond`.
    let older = sbx_ingest_sink { struct_size: 40, ..sink() };
    assert_eq!(handle(&request("/emit"), older).0, SBX_E_UNSUPPORTED);
}

#[test]
fn an_open_request_ends_once() {
    let _turn = turn();
    assert_eq!(handle(&request("/forget"), sink()).0, SBX_OK);
    assert_eq!(done(), ["defer 5", "finish -1 the plugin forgot the request"]);
    assert_eq!(handle(&request("/defer"), sink()).0, SBX_OK);
    assert_eq!(done(), ["defer 5", "change 1 2", "finish -5 come again"]);
}

/// A newer host's struct, with more fields than this side knows.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Longer<T> {
    known: T,
    more: [u64; 3],
}

pub fn longer<T>(known: T) -> Longer<T> {
    Longer { known, more: [u64::MAX; 3] }
}

unsafe extern "C" fn built(
    _: *mut sbx_build_sink,
    note: *const sbx_notification,
    targets: *const sbx_target,
    count: usize,
    stride: usize,
) -> sbx_status {
    let (note, target) = (read(note), read(targets));
    assert_eq!((count, stride), (1, size_of::<sbx_target>()));
    assert_eq!((note.flags, note.badge), (SBX_N_BADGE, 0));
    line(format!("{} to {} badge {}", text_of(note.title), target.recipient, target.badge))
}

unsafe extern "C" fn skipped(_: *mut sbx_build_sink, index: u32, reason: sbx_str) -> sbx_status {
    line(format!("skip {index} {}", text_of(reason)))
}

#[test]
fn a_builder_walks_the_arrays_of_a_newer_host() {
    let _turn = turn();
    let attributes = [sbx_kv { key: str_of("unread"), value: str_of("3") }];
    let devices = ["u1", "u2"]
        .map(|user| longer(sbx_device { user: str_of(user), token: str_of("secret"), ..fresh() }));
    let recipients = [0, 1].map(|index: usize| {
        longer(sbx_recipient {
            struct_size: size_of::<Longer<sbx_recipient>>() as u32,
            device: &devices[index].known,
            attributes: attributes.as_ptr(),
            attribute_count: 1,
            ..fresh()
        })
    });
    let input = sbx_build_input {
        recipients: recipients.as_ptr().cast(),
        recipient_count: 2,
        recipient_stride: size_of::<Longer<sbx_recipient>>(),
        ..fresh()
    };
    let mut sink = sbx_build_sink { emit: Some(built), skip: Some(skipped), ..fresh() };
    let instance = create("{}").unwrap();
    let code = unsafe {
        let build = role::<sbx_build>(SBX_ROLE_BUILD).build.unwrap();
        build(instance, &input, &mut sink, ptr::null_mut())
    };
    assert_eq!(code, SBX_OK);
    end(instance);
    let expected = [r#"u1||Some("3")"#, r#"u2||Some("3")"#, "skip 0 sender", "T to 1 badge 4"];
    assert_eq!(done(), expected);
}

#[test]
fn calls_without_what_they_need_are_internal_faults() {
    let _turn = turn();
    let instance = create("{}").unwrap();
    let mut error = error();
    let e: *mut sbx_error = &mut error;
    let none: *mut c_void = ptr::null_mut();
    unsafe {
        let ingest: sbx_ingest = role(SBX_ROLE_INGEST);
        assert_eq!(ingest.handle.unwrap()(instance, none.cast(), none.cast(), e), SBX_E_INTERNAL);
        assert_eq!(ingest.handle.unwrap()(none.cast(), &fresh(), &mut fresh(), e), SBX_E_INTERNAL);
        assert_eq!(words_of(&error), "there is no instance");
        plugin().destroy.unwrap()(none.cast());
    }
    end(instance);
}
