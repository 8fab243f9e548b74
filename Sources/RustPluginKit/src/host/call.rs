//! The shapes of a call into the host.

use super::{Host, Level};
use crate::error::{Error, Result};
use crate::memory;
use crate::panics;
use crate::sys::{self, *};
use std::os::raw::c_void;

/// A buffer that the host fills, and where it writes why it did not.
pub(crate) struct Room {
    pub start: *mut c_void,
    /// Capacity in, length out.
    pub length: *mut usize,
    pub error: *mut sbx_error,
}

/// A call whose answer comes later, on its way through the host.
struct Later<A> {
    host: Host,
    done: Box<dyn FnOnce(Result<A>) + Send>,
}

impl Host {
    /// Calls a function of a service, unless the host is closed.
    pub(crate) fn ask<F: Copy, T>(
        &self,
        function: Option<F>,
        call: impl FnOnce(F, *const sbx_host) -> T,
    ) -> Result<T> {
        let function =
            function.ok_or_else(|| Error::unsupported("the host does not offer this service"))?;
        let _open = self.inner.gate.enter()?;
        Ok(call(function, self.inner.raw))
    }

    /// Like `ask`, for functions that return a status.
    pub(crate) fn check<F: Copy>(
        &self,
        function: Option<F>,
        call: impl FnOnce(F, *const sbx_host) -> sbx_status,
    ) -> Result<()> {
        self.ask(function, call).and_then(Error::check)
    }

    /// Like `check`, for functions that also say why they failed.
    pub(crate) fn check_with<F: Copy>(
        &self,
        function: Option<F>,
        call: impl FnOnce(F, *const sbx_host, *mut sbx_error) -> sbx_status,
    ) -> Result<()> {
        let mut error: sbx_error = sys::fresh();
        let code = self.ask(function, |function, host| call(function, host, &mut error))?;
        Error::check_with(code, &error)
    }

    /// Like `check`, for functions that fill a buffer: first with the usual capacity, then once more
    /// with the size that the function asks for.
    pub(crate) fn fill<F: Copy>(
        &self,
        function: Option<F>,
        capacity: usize,
        mut call: impl FnMut(F, *const sbx_host, Room) -> sbx_status,
    ) -> Result<Vec<u8>> {
        let mut room = vec![0; capacity];
        for _ in 0..2 {
            let mut length = room.len();
            let mut error: sbx_error = sys::fresh();
            let code = self.ask(function, |function, host| {
                let start = room.as_mut_ptr().cast();
                call(function, host, Room { start, length: &mut length, error: &mut error })
            })?;
            if code == SBX_E_TOO_LARGE && length > room.len() {
                memory::wipe(&mut room);
                room = vec![0; length];
                continue;
            }
            Error::check_with(code, &error)?;
            room.truncate(length);
            return Ok(room);
        }
        Err(Error::internal("the host asks for ever more room"))
    }

    /// Like `check`, for answers that come later: with what the callback passes to [`answer`], or
    /// with the error if the host rejects the call.
    pub(crate) fn ask_later<F: Copy, A>(
        &self,
        function: Option<F>,
        done: impl FnOnce(Result<A>) + Send + 'static,
        call: impl FnOnce(F, *const sbx_host, *mut c_void) -> sbx_status,
    ) {
        let later = Later { host: self.clone(), done: Box::new(done) };
        let context = Box::into_raw(Box::new(later));
        if let Err(fault) =
            self.check(function, |function, host| call(function, host, context.cast()))
        {
            // The host rejected the call, so it never calls back.
            let later = unsafe { Box::from_raw(context) };
            (later.done)(Err(fault));
        }
    }

    /// Logs a panic of the plugin's own code where no one waits for an answer.
    pub(crate) fn report_panic<T>(&self, body: impl FnOnce() -> T) {
        if let Err(fault) = panics::catch(body) {
            let error = crate::Pair::new("error", &fault.message);
            self.log(Level::Error, "a callback panicked", &[error]);
        }
    }
}

/// The body of a callback: passes on what the host answered, exactly once.
///
/// # Safety
/// `ask_later` made `context` for answers of this type, and it is not used again.
pub(crate) unsafe fn answer<A>(context: *mut c_void, answer: A) {
    let Later { host, done } = *Box::from_raw(context.cast::<Later<A>>());
    host.report_panic(|| done(Ok(answer)));
}
