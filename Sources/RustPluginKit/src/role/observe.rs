//! The observe role: how deliveries ended and what users opened.

use crate::error::Result;
use crate::host::Host;
use crate::instance::Instance;
use crate::memory::{text, Strided};
use crate::panics::guard;
use crate::plugin::Plugin;
use crate::sys::{self, *};

/// Learns how deliveries ended and what users opened: for a bus, a warehouse, a CRM.
pub trait Observe: Plugin {
    /// Limit of observations per call; 0: the host decides.
    const MAX_BATCH: u32 = 0;

    /// Takes a batch, in the order of its sequences; never waits for the network. Answer it with
    /// [`Host::observed`] within a minute, from any thread: the next batch waits for it. Each
    /// observation comes at least once: if you store them, keep the largest sequence and skip any
    /// that is not above it. An error answers the batch.
    fn observe(&self, batch: &[Observation<'_>]) -> Result<()>;
}

/// One outcome.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Observation<'a> {
    /// Grows with every outcome; the same when it comes again.
    pub sequence: u64,
    /// A JSON object with the members of docs/outcomes.md.
    pub json: &'a str,
}

impl Host {
    /// Answers the batch whose last observation has this sequence. With an error of the kind
    /// `Again`, `Unreachable`, `Timeout` or `Lost` it comes again, not before `retry_after_ms`; with
    /// another error after long waits.
    pub fn observed(&self, sequence: u64, result: Result<()>, retry_after_ms: u64) -> Result<()> {
        let status = result.map_or_else(|fault| fault.status.code(), |_| SBX_OK);
        self.ask(self.tables().observe_host.done, |done, host| unsafe {
            done(host, sequence, status, retry_after_ms)
        })
    }
}

pub(super) fn table<P: Observe>() -> sbx_observe {
    sbx_observe { max_batch: P::MAX_BATCH, observe: Some(observe::<P>), ..sys::fresh() }
}

unsafe extern "C" fn observe<P: Observe>(
    instance: *mut sbx_instance,
    observations: *const sbx_observation,
    count: usize,
    stride: usize,
    error: *mut sbx_error,
) -> sbx_status {
    guard(error, || {
        let (plugin, _) = Instance::plugin::<P>(instance)?;
        let given = Strided::new(observations, count, stride);
        let batch: Vec<Observation<'_>> = given
            .iter()
            .map(|one| Observation { sequence: one.sequence, json: text(one.json) })
            .collect();
        plugin.observe(&batch)
    })
}
