//! Nothing unwinds out of a plugin: a panic becomes `SBX_E_INTERNAL` with a message.
//!
//! A panic message may contain a body or a token, so only literals from the source are passed on,
//! with the place of the panic.

use crate::error::{Error, Result};
use crate::sys::{sbx_error, sbx_status, SBX_OK};
use std::any::Any;
use std::cell::{Cell, RefCell};
use std::panic::{self, AssertUnwindSafe};
use std::sync::Once;

thread_local! {
    /// How many guarded calls this thread is in.
    static DEPTH: Cell<usize> = const { Cell::new(0) };
    static PLACE: RefCell<String> = const { RefCell::new(String::new()) };
}

/// Keeps panics of guarded calls off the standard error stream, and remembers where they happened.
pub(crate) fn install() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let others = panic::take_hook();
        panic::set_hook(Box::new(move |info| {
            let is_guarded = DEPTH.try_with(|depth| depth.get() > 0).unwrap_or(false);
            if !is_guarded {
                return others(info);
            }
            let place = info
                .location()
                .map_or(String::new(), |at| format!(" at {}:{}", at.file(), at.line()));
            let _ = PLACE.try_with(|known| known.replace(place));
        }));
    });
}

/// Runs code and catches its panics.
pub(crate) fn catch<T>(body: impl FnOnce() -> T) -> Result<T> {
    guarded(body).map_err(|payload| {
        let fault = Error::internal(words(&*payload));
        // Dropping the payload may panic in turn. That panic's payload is left: it costs a few bytes.
        if let Err(other) = guarded(|| drop(payload)) {
            std::mem::forget(other);
        }
        fault
    })
}

fn guarded<T>(body: impl FnOnce() -> T) -> std::thread::Result<T> {
    DEPTH.with(|depth| depth.set(depth.get() + 1));
    let result = panic::catch_unwind(AssertUnwindSafe(body));
    DEPTH.with(|depth| depth.set(depth.get() - 1));
    result
}

fn words(payload: &(dyn Any + Send)) -> String {
    let place = PLACE.with(|place| place.take());
    match payload.downcast_ref::<&'static str>() {
        Some(text) => format!("the plugin panicked{place}: {text}"),
        None => format!("the plugin panicked{place}"),
    }
}

/// The body of an exported function: a failure becomes a status, and its message is written
/// where the host reads it.
///
/// # Safety
/// `error` is null or a struct that the host made.
pub(crate) unsafe fn guard(error: *mut sbx_error, body: impl FnOnce() -> Result<()>) -> sbx_status {
    match catch(body).and_then(|result| result) {
        Ok(()) => SBX_OK,
        Err(fault) => fault.report(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;

    /// What a plugin may panic with.
    struct Payload {
        _held: Arc<()>,
        panics_again: bool,
    }

    impl Drop for Payload {
        fn drop(&mut self) {
            if self.panics_again {
                panic::panic_any(());
            }
        }
    }

    #[test]
    fn the_payload_of_a_panic_is_dropped_even_if_that_panics() {
        install();
        let held = Arc::new(());
        for panics_again in [false, true] {
            let payload = Payload { _held: held.clone(), panics_again };
            let fault = catch::<()>(|| panic::panic_any(payload)).unwrap_err();
            assert!(fault.message.starts_with("the plugin panicked at "), "{}", fault.message);
            assert_eq!(Arc::strong_count(&held), 1);
            assert_eq!(DEPTH.with(|depth| depth.get()), 0);
        }
    }
}
