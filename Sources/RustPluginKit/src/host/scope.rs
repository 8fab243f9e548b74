//! What is bound to a role call, on a thread of the plugin's own.

use super::Host;
use crate::error::{Error, Result};
use crate::json::Call;
use crate::panics;
use std::os::raw::c_void;

/// A closure on its way into a scope, and what it returned.
struct Work<F, T> {
    body: Option<F>,
    result: Option<Result<T>>,
    host: Host,
}

impl Host {
    /// Runs `body` on this thread, the plugin's own, with a [`Call`] that parses JSON; the documents
    /// live until `body` returns. The values of credentials can be read inside, too.
    pub fn scope<T>(&self, body: impl FnOnce(Call<'_>) -> T) -> Result<T> {
        let mut work = Work { body: Some(body), result: None, host: self.clone() };
        let context: *mut c_void = (&mut work as *mut Work<_, T>).cast();
        let run = runner(&work);
        self.check(self.tables().scope.enter, |enter, host| unsafe {
            // `run` is called on this thread, before enter() returns.
            enter(host, Some(run), context)
        })?;
        work.result.unwrap_or_else(|| Err(Error::internal("the host did not run the body")))
    }
}

/// The function for a closure's type.
fn runner<F: FnOnce(Call<'_>) -> T, T>(_: &Work<F, T>) -> unsafe extern "C" fn(*mut c_void) {
    run::<F, T>
}

unsafe extern "C" fn run<F: FnOnce(Call<'_>) -> T, T>(context: *mut c_void) {
    let work = &mut *context.cast::<Work<F, T>>();
    let host = work.host.clone();
    if let Some(body) = work.body.take() {
        work.result = Some(panics::catch(|| body(Call::new(&host))));
    }
}
