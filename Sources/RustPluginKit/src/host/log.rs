//! Log lines, metrics and the clock.

use super::Host;
use crate::memory::{raw, Pair};

/// How urgent a log line is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Level {
    /// Every step.
    Trace = 0,
    /// For debugging.
    Debug,
    /// Normal events.
    Info,
    /// Somebody should take a look.
    Warn,
    /// Something failed.
    Error,
}

impl Host {
    /// Writes a log line: `message` is fixed lower-case text, `fields` hold what varies. Never log
    /// a token, a secret or a body.
    pub fn log(&self, level: Level, message: &str, fields: &[Pair<'_>]) {
        if !self.is_logged(level) {
            return;
        }
        let _ = self.ask(self.tables().log.write, |write, host| {
            // Text and pairs are borrowed for the call.
            unsafe { write(host, level as u32, raw(message), Pair::raw(fields), fields.len()) }
        });
    }

    /// Whether a line of this level is logged; ask before you build an expensive one.
    pub fn is_logged(&self, level: Level) -> bool {
        let enabled = self.tables().log.enabled;
        self.ask(enabled, |enabled, host| unsafe { enabled(host, level as u32) == 1 })
            .unwrap_or(false)
    }

    /// A counter (`webhooks_rejected_total`); keep it and call [`Counter::add`].
    pub fn counter(&self, name: &str, labels: &[Pair<'_>]) -> Counter {
        let handle = self.ask(self.tables().metrics.counter, |counter, host| unsafe {
            counter(host, raw(name), Pair::raw(labels), labels.len())
        });
        Counter { host: self.clone(), handle: handle.unwrap_or(0) }
    }

    /// A gauge (`certificate_expires_seconds`); keep it and call [`Gauge::set`].
    pub fn gauge(&self, name: &str, labels: &[Pair<'_>]) -> Gauge {
        let handle = self.ask(self.tables().metrics.gauge, |gauge, host| unsafe {
            gauge(host, raw(name), Pair::raw(labels), labels.len())
        });
        Gauge { host: self.clone(), handle: handle.unwrap_or(0) }
    }

    /// Milliseconds since 1970 by the host's clock, which tests can set.
    pub fn now_unix_ms(&self) -> u64 {
        self.ask(self.tables().clock.unix_ms, |clock, host| unsafe { clock(host) }).unwrap_or(0)
    }

    /// The seconds that local time in a zone (`Europe/Vienna`) is ahead of UTC at an instant;
    /// `None` if there is no such zone.
    pub fn utc_offset(&self, zone: &str, unix_ms: u64) -> Option<i32> {
        let mut seconds = 0;
        let code = self.ask(self.tables().clock.utc_offset, |offset, host| unsafe {
            offset(host, raw(zone), unix_ms, &mut seconds)
        });
        (code == Ok(0)).then_some(seconds)
    }
}

/// A metric that only grows.
#[derive(Clone)]
pub struct Counter {
    host: Host,
    handle: u64,
}

impl Counter {
    /// Adds to the counter.
    pub fn add(&self, delta: u64) {
        let add = self.host.tables().metrics.add;
        let _ = self.host.ask(add, |add, host| unsafe { add(host, self.handle, delta) });
    }
}

/// A metric that goes up and down.
#[derive(Clone)]
pub struct Gauge {
    host: Host,
    handle: u64,
}

impl Gauge {
    /// Sets the gauge.
    pub fn set(&self, value: i64) {
        let set = self.host.tables().metrics.set;
        let _ = self.host.ask(set, |set, host| unsafe { set(host, self.handle, value) });
    }
}
