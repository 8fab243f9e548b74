//! Deliveries over a transport of the plugin's own.

use crate::error::{Error, Result};
use crate::host::Host;
use crate::instance::Instance;
use crate::memory::{text, Strided};
use crate::model::{DeliveryBatch, Outcome, OwnedDelivery};
use crate::panics::guard;
use crate::plugin::Plugin;
use crate::sys::{self, *};
use std::mem::size_of;

/// Sends over a transport of its own: SMTP, MQTT, a vendor's SDK. Prefer [`crate::SendHttp`] where HTTP
/// will do.
pub trait SendOwn: Plugin {
    /// Most deliveries per call; 0: the host's choice.
    const MAX_BATCH: u32 = 0;

    /// Takes deliveries from the front on and says how many; never waits for the network. Each one that is
    /// taken gets exactly one outcome through [`Host::complete`], within a minute. Fewer than all is
    /// back-pressure: the host waits for [`Host::credit`].
    ///
    /// The deliveries are copies, for the host may free its own as soon as an outcome is in.
    fn submit(&self, app: &str, deliveries: Vec<OwnedDelivery>) -> Result<usize>;
}

impl Host {
    /// What became of deliveries that [`SendOwn::submit`] has taken, by their ids; from any thread.
    pub fn complete(&self, outcomes: &[(u64, Outcome<'_>)]) -> Result<()> {
        let list: Vec<sbx_outcome> =
            outcomes.iter().map(|(id, outcome)| outcome.raw(*id)).collect();
        self.ask(self.inner.tables.send_host.complete, |complete, host| unsafe {
            complete(host, list.as_ptr(), list.len(), size_of::<sbx_outcome>())
        })
    }

    /// There is room for so many deliveries again; from any thread.
    pub fn credit(&self, room: usize) -> Result<()> {
        let credit = self.inner.tables.send_host.credit;
        self.ask(credit, |credit, host| unsafe { credit(host, room) })
    }
}

pub(super) fn table<P: SendOwn>() -> sbx_send {
    sbx_send { max_batch: P::MAX_BATCH, submit: Some(submit::<P>), ..sys::fresh() }
}

unsafe extern "C" fn submit<P: SendOwn>(
    instance: *mut sbx_instance,
    app: sbx_str,
    deliveries: *const sbx_delivery,
    count: usize,
    stride: usize,
    taken: *mut usize,
    error: *mut sbx_error,
) -> sbx_status {
    guard(error, || {
        if taken.is_null() {
            return Err(Error::internal("submit() was called without a place"));
        }
        let (plugin, _) = Instance::plugin::<P>(instance)?;
        let batch = DeliveryBatch::new(text(app), Strided::new(deliveries, count, stride));
        let copied = OwnedDelivery::copy(&batch);
        *taken = plugin.submit(batch.app(), copied)?.min(batch.len());
        Ok(())
    })
}
