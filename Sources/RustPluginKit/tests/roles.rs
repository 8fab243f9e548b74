//! Runs a plugin through its C tables: what crosses, what is rejected, and that
//! nothing unwinds out of it.

mod mock;
#[path = "roles/probe.rs"]
mod probe;

use mock::*;
use probe::KEPT;
use signalbox_plugin::sys::*;
use signalbox_plugin::*;
use std::mem::size_of;
use std::ptr;

fn end(instance: *mut sbx_instance) -> sbx_status {
    unsafe {
        let code = plugin().stop.unwrap()(instance, u64::MAX, ptr::null_mut());
        plugin().destroy.unwrap()(instance);
        code
    }
}

fn turn() -> std::sync::MutexGuard<'static, ()> {
    let turn = TURN.lock().unwrap_or_else(|other| other.into_inner());
    seen();
    CALLBACKS.lock().unwrap().clear();
    turn
}

#[test]
fn the_entry_says_what_the_plugin_is() {
    let _turn = turn();
    let text = |start: *const std::os::raw::c_char| unsafe {
        std::ffi::CStr::from_ptr(start).to_str().unwrap()
    };
    let list = |mut start: *const *const std::os::raw::c_char| {
        let mut out = Vec::new();
        unsafe {
            while !(*start).is_null() {
                out.push(text(*start));
                start = start.add(1);
            }
        }
        out
    };
    let plugin = plugin();
    assert_eq!(plugin.struct_size as usize, size_of::<sbx_plugin>());
    assert_eq!((plugin.abi_major, plugin.abi_minor, plugin.needs_minor), (1, 1, 1));
    assert_eq!(plugin.flags, SBX_F_SERIAL);
    assert_eq!((text(plugin.id), text(plugin.version)), ("org.example.probe", "1.2"));
    assert_eq!(text(plugin.config_schema), r#"{"type":"object"}"#);
    let roles =
        [SBX_ROLE_INGEST, SBX_ROLE_BUILD, SBX_ROLE_SEND_HTTP, SBX_ROLE_REGISTER, SBX_ROLE_SEND];
    assert_eq!(list(plugin.roles), roles);
    let needs = [SBX_SVC_JSON, SBX_SVC_CLOCK, SBX_SVC_SEND_HOST, SBX_SVC_SIGN];
    assert_eq!(list(plugin.needs), needs);
    assert_eq!(text(role::<sbx_build>(SBX_ROLE_BUILD).options_schema), r#"{"type":"object"}"#);
    assert_eq!(role::<sbx_send_http>(SBX_ROLE_SEND_HTTP).max_batch, 3);
    let register: sbx_register = role(SBX_ROLE_REGISTER);
    assert_eq!((register.max_batch, register.kinds), (100, 1 << 1 | 1 << 3));
    let role = plugin.role.unwrap();
    unsafe {
        assert!(role(b"sbx.role.teapot/1\0".as_ptr().cast()).is_null());
        assert!(role(ptr::null()).is_null());
        assert_eq!(
            role(b"sbx.role.send/1\0".as_ptr().cast()),
            role(b"sbx.role.send/1\0".as_ptr().cast())
        );
    }
}

#[test]
fn a_refusal_has_words_that_are_cut_between_characters() {
    let _turn = turn();
    let (code, words) = create("refuse").unwrap_err();
    assert_eq!(code, SBX_E_INVALID);
    // There is room for 243 bytes, and each character has two.
    assert_eq!(words, "ä".repeat(121));
}

#[test]
fn a_panic_is_an_internal_fault_wherever_it_happens() {
    let _turn = turn();
    let (code, words) = create("panic create").unwrap_err();
    assert_eq!(code, SBX_E_INTERNAL);
    assert!(words.starts_with("the plugin panicked at "), "{words}");
    assert!(words.contains("probe.rs") && words.ends_with(": a fixed text"), "{words}");
    let (code, words) = create("panic start").unwrap_err();
    assert_eq!(code, SBX_E_INTERNAL);
    // This message was composed at run time, so it may contain anything.
    assert!(words.contains("probe.rs") && !words.contains("token"), "{words}");

    let check = |place: &str, call: &dyn Fn(*mut sbx_instance, *mut sbx_error) -> sbx_status| {
        let instance = create(&format!("panic {place}")).expect("an instance");
        let mut error = error();
        assert_eq!(call(instance, &mut error), SBX_E_INTERNAL, "{place}");
        if place != "paths" {
            assert!(words_of(&error).contains("the plugin panicked at"), "{place}");
            assert!(!words_of(&error).contains("token"), "{place}");
        }
        end(instance);
    };
    let none = str_of("");
    unsafe {
        check("paths", &|i, _| {
            let (mut list, mut n, mut stride) = (ptr::null(), 0, 0);
            role::<sbx_ingest>(SBX_ROLE_INGEST).paths.unwrap()(i, &mut list, &mut n, &mut stride)
        });
        check("handle", &|i, e| {
            role::<sbx_ingest>(SBX_ROLE_INGEST).handle.unwrap()(i, &fresh(), &mut fresh(), e)
        });
        check("build", &|i, e| {
            role::<sbx_build>(SBX_ROLE_BUILD).build.unwrap()(i, &fresh(), &mut fresh(), e)
        });
        let http = || role::<sbx_send_http>(SBX_ROLE_SEND_HTTP);
        check("endpoint", &|i, e| http().endpoint.unwrap()(i, none, &mut fresh(), e));
        check("prepare", &|i, e| {
            http().prepare.unwrap()(i, none, ptr::null(), 0, 0, &mut fresh(), e)
        });
        check("classify", &|i, e| http().classify.unwrap()(i, ptr::null(), 0, 0, &mut fresh(), e));
        let register = || role::<sbx_register>(SBX_ROLE_REGISTER);
        check("changes", &|i, e| {
            register().prepare.unwrap()(i, none, ptr::null(), 0, 0, &mut fresh(), e)
        });
        check("submit", &|i, e| {
            role::<sbx_send>(SBX_ROLE_SEND).submit.unwrap()(i, none, ptr::null(), 0, 0, &mut 0, e)
        });
    }
    let instance = create("panic stop").unwrap();
    assert_eq!(end(instance), SBX_E_INTERNAL);
    seen();
    let instance = create("panic drop").unwrap();
    assert_eq!(end(instance), SBX_OK);
    assert!(seen().contains(&"log 2 dropped".to_string()));
}

#[test]
fn a_stop_that_is_late_is_a_timeout_and_the_time_left_counts_on_the_hosts_clock() {
    let _turn = turn();
    let instance = create("late").unwrap();
    assert_eq!(end(instance), SBX_E_TIMEOUT);
    let instance = create("{}").unwrap();
    unsafe {
        // A deadline in the past.
        assert_eq!(plugin().stop.unwrap()(instance, 1, ptr::null_mut()), SBX_OK);
        plugin().destroy.unwrap()(instance);
    }
    assert!(seen().contains(&"log 2 stop ms=0".to_string()));
}

#[test]
fn a_host_that_is_kept_too_long_does_nothing() {
    let _turn = turn();
    KEPT.lock().unwrap().clear();
    let instance = create("{}").unwrap();
    let host = KEPT.lock().unwrap()[0].clone();
    assert_eq!(host.instance_name(), "probe");
    assert_eq!(host.now_unix_ms(), 1_767_323_045_000);
    end(instance);
    seen();
    host.log(Level::Error, "after the end", &[]);
    assert_eq!(host.instance_name(), "");
    assert_eq!(host.secret("key").unwrap_err().status, Status::Stopping);
    assert!(host.after(1, || ()).is_none());
    assert_eq!(seen(), Vec::<String>::new());
    // The same if there never was an instance.
    create("refuse").unwrap_err();
    let host = KEPT.lock().unwrap().pop().unwrap();
    assert_eq!(host.secret("key").unwrap_err().status, Status::Stopping);
}

#[test]
fn services_that_are_missing_or_shorter_are_not_offered() {
    let _turn = turn();
    KEPT.lock().unwrap().clear();
    let instance = create("{}").unwrap();
    let host = KEPT.lock().unwrap()[0].clone();
    let missing = host.sign(Algorithm::HmacSha256, "key", b"x").unwrap_err();
    assert_eq!(missing.status, Status::Unsupported);
    host.change(&Change::new(ChangeKind::Registered, Device::default()), |answer| {
        note(format!("{:?}", answer.unwrap_err().status));
    });
    host.value("key", |answer| note(format!("{:?}", answer.unwrap_err().status)));
    assert_eq!(seen(), ["Unsupported", "Unsupported"]);
    let secret = host.secret("key").unwrap();
    assert_eq!(secret.bytes().len(), 5_003);
    assert!(secret.equals(format!("key{}", "x".repeat(5_000)).as_bytes()));
    assert!(!secret.equals(b"key") && !secret.equals(b""));
    assert_eq!(format!("{secret:?}"), "<secret>");
    end(instance);
}

#[test]
fn timers_run_once_or_never_and_watchers_often() {
    let _turn = turn();
    KEPT.lock().unwrap().clear();
    let instance = create("{}").unwrap();
    let host = KEPT.lock().unwrap()[0].clone();
    struct Dropped(&'static str);
    impl Dropped {
        fn note(&self, word: &str) {
            note(format!("{word} {}", self.0));
        }
    }
    impl Drop for Dropped {
        fn drop(&mut self) {
            self.note("drop");
        }
    }
    let fire = |index: usize| {
        let (run, context) = CALLBACKS.lock().unwrap()[index];
        unsafe { run(context as *mut _) };
    };
    let run = Dropped("run");
    // Through a method: a field alone would not capture the whole value.
    assert!(host.after(5, move || run.note("ran")).is_some());
    fire(0);
    assert_eq!(seen(), ["after 5", "ran run", "drop run"]);
    let cancelled = Dropped("cancelled");
    host.after(6, move || drop(cancelled)).unwrap().cancel();
    assert_eq!(seen(), ["after 6", "cancel 7", "drop cancelled"]);
    let refused = Dropped("refused");
    assert!(host.after(2_000, move || drop(refused)).is_none());
    assert_eq!(seen(), ["after 2000", "drop refused"]);
    host.after(7, || panic!("in a callback")).unwrap();
    fire(3);
    let lines = seen();
    assert!(
        lines[1].starts_with("log 4 a callback panicked error=the plugin panicked at"),
        "{lines:?}"
    );
    let watched = Dropped("watched");
    host.watch("key", move || watched.note("changed")).unwrap();
    fire(4);
    fire(4);
    assert_eq!(seen(), ["changed watched", "changed watched"]);
    let left = Dropped("left");
    host.after(8, move || drop(left)).unwrap();
    end(instance);
    let lines = seen();
    assert!(
        lines.contains(&"drop left".to_string()) && lines.contains(&"drop watched".to_string())
    );
}

#[path = "roles/calls.rs"]
mod calls;
#[path = "roles/sends.rs"]
mod sends;
