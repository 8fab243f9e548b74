//! Calls of the roles that send.

use super::calls::{done, line, longer, Longer};
use super::*;

unsafe extern "C" fn requested(
    _: *mut sbx_http_sink,
    requests: *const sbx_http_request,
    count: usize,
    _: usize,
) -> sbx_status {
    assert_eq!(count, 1);
    let request = read(requests);
    let mut body = String::new();
    for index in 0..request.body_segments {
        body += &text_of(*request.body.add(index));
    }
    let item = *request.items;
    assert_eq!(request.unindexed_headers, 1);
    line(format!("{} {} {body} for {item}", text_of(request.method), text_of(request.path)))
}

unsafe extern "C" fn settled(
    _: *mut sbx_http_sink,
    outcomes: *const sbx_outcome,
    count: usize,
    stride: usize,
) -> sbx_status {
    for index in 0..count {
        let outcome = read(outcomes.cast::<u8>().add(index * stride).cast::<sbx_outcome>());
        let (item, kind, wait) = (outcome.item, outcome.kind, outcome.retry_after_ms);
        note(format!("{item} is {kind} {} after {wait}", text_of(outcome.reason)));
    }
    // An outcome for an unknown item.
    if count == 3 {
        SBX_E_INVALID
    } else {
        SBX_OK
    }
}

fn http_sink() -> sbx_http_sink {
    sbx_http_sink { request: Some(requested), settle: Some(settled), ..fresh() }
}

#[test]
fn deliveries_become_requests_and_answers_outcomes() {
    let _turn = turn();
    let note = sbx_notification { body: str_of("B"), ..fresh() };
    let device = sbx_device { token: str_of("t"), ..fresh() };
    let delivery =
        |id| longer(sbx_delivery { id, notification: &note, device: &device, ..fresh() });
    let deliveries = [delivery(5), delivery(6)];
    let instance = create("{}").unwrap();
    let table: sbx_send_http = role(SBX_ROLE_SEND_HTTP);
    unsafe {
        let code = table.prepare.unwrap()(
            instance,
            str_of("app"),
            deliveries.as_ptr().cast(),
            2,
            size_of::<Longer<sbx_delivery>>(),
            &mut http_sink(),
            ptr::null_mut(),
        );
        assert_eq!(code, SBX_OK);
        assert_eq!(done(), ["POST /p B|t for 5", "POST /p B|t for 6"]);
        let items = [5u64, 6, 7];
        let headers = [sbx_kv { key: str_of("retry-after"), value: str_of("3") }];
        let response = |http_status, item_count| sbx_http_response {
            http_status,
            items: items.as_ptr(),
            item_count,
            headers: headers.as_ptr(),
            header_count: 1,
            ..fresh()
        };
        let responses = [response(200, 1), response(429, 2)];
        let stride = size_of::<sbx_http_response>();
        let classify = table.classify.unwrap();
        let mut error = error();
        let code = classify(instance, responses.as_ptr(), 2, stride, &mut http_sink(), &mut error);
        assert_eq!(code, SBX_OK);
        let expected =
            ["5 is 1 ok after 3000", "5 is 3 throttled after 3000", "6 is 3 throttled after 3000"];
        assert_eq!(done(), expected);
        let code = classify(instance, &response(500, 3), 1, stride, &mut http_sink(), &mut error);
        assert_eq!((code, words_of(&error)), (SBX_E_INVALID, "the outcome was not taken".into()));
    }
    end(instance);
}

#[test]
fn a_sender_makes_its_payloads_fit() {
    let _turn = turn();
    let notes =
        [r#"{"a":"long"}"#, "{"].map(|body| sbx_notification { body: str_of(body), ..fresh() });
    let device = sbx_device { token: str_of("t"), ..fresh() };
    let deliveries =
        [0, 1].map(|k: usize| sbx_delivery { notification: &notes[k], device: &device, ..fresh() });
    let instance = create("{}").unwrap();
    unsafe {
        let code = role::<sbx_send_http>(SBX_ROLE_SEND_HTTP).prepare.unwrap()(
            instance,
            str_of("app"),
            deliveries.as_ptr(),
            2,
            size_of::<sbx_delivery>(),
            &mut http_sink(),
            ptr::null_mut(),
        );
        assert_eq!(code, SBX_OK);
    }
    let lines = done();
    assert_eq!(lines[..2], ["fit 9 /a body=/a /d", r#"fitted Ok("{\"a\":\"lo…\"}")"#]);
    assert!(lines[3].contains("Invalid"), "{}", lines[3]);
    end(instance);
}

#[test]
fn an_endpoint_is_written_as_far_as_the_host_knows_it() {
    let _turn = turn();
    let instance = create("{}").unwrap();
    let endpoint = role::<sbx_send_http>(SBX_ROLE_SEND_HTTP).endpoint.unwrap();
    unsafe {
        let mut full: sbx_endpoint = fresh();
        let mut error = error();
        assert_eq!(endpoint(instance, str_of("app"), &mut full, &mut error), SBX_OK);
        assert_eq!(text_of(full.origin), "https://h");
        assert_eq!(text_of(full.client_password), "app");
        assert_eq!(full.flags, SBX_ENDPOINT_ALPN_REQUIRED);
        // An older host has no room for `client_password`.
        let mut older: sbx_endpoint = fresh();
        older.struct_size -= 16;
        older.client_password.len = 99;
        assert_eq!(endpoint(instance, str_of("app"), &mut older, &mut error), SBX_OK);
        assert_eq!(text_of(older.origin), "https://h");
        assert_eq!(older.struct_size as usize, size_of::<sbx_endpoint>() - 16);
        assert_eq!((older.client_password.ptr.is_null(), older.client_password.len), (true, 99));
        let register = role::<sbx_register>(SBX_ROLE_REGISTER).endpoint.unwrap();
        assert_eq!(register(instance, str_of(""), &mut full, &mut error), SBX_E_NOT_FOUND);
        assert_eq!(words_of(&error), "nothing is reported");
    }
    end(instance);
}

#[test]
fn changes_of_unknown_kinds_arrive() {
    let _turn = turn();
    let device = sbx_device { token: str_of("t"), source_token: str_of("<T>"), ..fresh() };
    let change = |id, kind| sbx_change { id, kind, device: &device, ..fresh() };
    let changes = [change(1, SBX_CHANGE_INVALID), change(2, 77)];
    let instance = create("{}").unwrap();
    unsafe {
        let prepare = role::<sbx_register>(SBX_ROLE_REGISTER).prepare.unwrap();
        let stride = size_of::<sbx_change>();
        let (none, list) = (str_of(""), changes.as_ptr());
        let code = prepare(
            instance,
            none,
            list,
            2,
            stride,
            &mut http_sink(),
            ptr::null_mut::<sbx_error>(),
        );
        assert_eq!(code, SBX_OK);
    }
    assert_eq!(done(), ["1 Invalid <T>", "2 Other(77) <T>"]);
    end(instance);
}

#[test]
fn a_sender_of_its_own_gets_copies_and_completes_from_its_threads() {
    let _turn = turn();
    let overrides = [sbx_kv { key: str_of("mail"), value: str_of("{}") }];
    let note = sbx_notification {
        title: str_of("T"),
        overrides: overrides.as_ptr(),
        override_count: 1,
        ..fresh()
    };
    let device = sbx_device { token: str_of("a@b"), ..fresh() };
    let delivery = |id| sbx_delivery { id, notification: &note, device: &device, ..fresh() };
    let deliveries = [delivery(1), delivery(2)];
    let instance = create("{}").unwrap();
    let mut taken = 0;
    unsafe {
        let submit = role::<sbx_send>(SBX_ROLE_SEND).submit.unwrap();
        let (list, stride) = (deliveries.as_ptr(), size_of::<sbx_delivery>());
        let code = submit(
            instance,
            str_of("app"),
            list,
            2,
            stride,
            &mut taken,
            ptr::null_mut::<sbx_error>(),
        );
        assert_eq!((code, taken), (SBX_OK, 2));
    }
    assert_eq!(done(), ["complete 1 1 app/T/a@b/{}", "complete 2 1 app/T/a@b/{}", "credit 1"]);
    end(instance);
}
