//! One-shot timers.

use super::{lock, Host, Inner};
use std::collections::HashMap;
use std::os::raw::c_void;
use std::sync::{Arc, Mutex, Weak};

/// A timer that was set. Dropping this does not cancel it.
pub struct Timer {
    host: Host,
    id: u64,
    slot: usize,
}

impl Timer {
    /// Once this returns, the closure does not run and will not, unless it is the caller.
    pub fn cancel(self) {
        let cancel = self.host.tables().timer.cancel;
        let _ = self.host.ask(cancel, |cancel, host| unsafe { cancel(host, self.id) });
        drop(self.host.inner.timers.take(self.slot));
    }
}

/// The closure of a timer, kept until it has run or never will.
struct Slot {
    host: Weak<Inner>,
    work: Mutex<Option<Box<dyn FnOnce() + Send>>>,
}

/// The active timers, by the address of their slot.
#[derive(Default)]
pub(crate) struct Slots(Mutex<HashMap<usize, Arc<Slot>>>);

impl Slots {
    fn put(&self, slot: Arc<Slot>) -> usize {
        let key = Arc::as_ptr(&slot) as usize;
        lock(&self.0).insert(key, slot);
        key
    }

    fn take(&self, key: usize) -> Option<Arc<Slot>> {
        lock(&self.0).remove(&key)
    }

    pub fn clear(&self) {
        // Dropped outside of the lock: dropping a closure may set a timer.
        let all = std::mem::take(&mut *lock(&self.0));
        drop(all);
    }
}

impl Host {
    /// Runs a closure once on a worker thread, after at least `ms`; `None`: it will not run.
    ///
    /// It never runs after the instance has stopped.
    pub fn after(&self, ms: u64, work: impl FnOnce() + Send + 'static) -> Option<Timer> {
        let slot = Arc::new(Slot {
            host: Arc::downgrade(&self.inner),
            work: Mutex::new(Some(Box::new(work))),
        });
        let context = Arc::as_ptr(&slot) as *mut c_void;
        // Stored before the timer is set: it may fire at once.
        let slot = self.inner.timers.put(slot);
        let after = self.tables().timer.after;
        let id = self.ask(after, |after, host| unsafe { after(host, ms, Some(run), context) });
        match id {
            Ok(id) if id != 0 => Some(Timer { host: self.clone(), id, slot }),
            _ => {
                drop(self.inner.timers.take(slot));
                None
            }
        }
    }
}

unsafe extern "C" fn run(context: *mut c_void) {
    // The host keeps the slot until the timer has fired or was cancelled, or the
    // instance is destroyed.
    let inner = (*context.cast::<Slot>()).host.upgrade();
    let inner = match inner {
        Some(inner) => inner,
        None => return,
    };
    let slot = inner.timers.take(context as usize);
    let work = slot.and_then(|slot| lock(&slot.work).take());
    if let Some(work) = work {
        Host { inner }.report_panic(work);
    }
}
