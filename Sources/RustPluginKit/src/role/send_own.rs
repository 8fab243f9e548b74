//! The send role: deliveries over the plugin's own transport.

use crate::error::{Error, Result};
use crate::host::Host;
use crate::instance::Instance;
use crate::memory::{text, Strided};
use crate::model::{DeliveryBatch, Outcome, OwnedDelivery};
use crate::panics::guard;
use crate::plugin::Plugin;
use crate::sys::{self, *};
use std::mem::size_of;

/// Sends over the plugin's own transport: SMTP, MQTT, a vendor's SDK. Prefer [`crate::SendHttp`]
/// where HTTP is enough.
pub trait SendOwn: Plugin {
    /// Limit of deliveries per call; 0: the host decides.
    const MAX_BATCH: u32 = 0;

    /// Accepts deliveries from the front and returns how many; never waits for the network. Each
    /// accepted one gets exactly one outcome through [`Host::complete`], within a minute. Accepting
    /// fewer than all is backpressure: the host waits for [`Host::credit`].
    ///
    /// The deliveries are copies: the host may free its own as soon as an outcome is in.
    fn submit(&self, app: &str, deliveries: Vec<OwnedDelivery>) -> Result<usize>;
}

impl Host {
    /// Reports outcomes of deliveries that [`SendOwn::submit`] accepted, by their
    /// ids; from any thread.
    pub fn complete(&self, outcomes: &[(u64, Outcome<'_>)]) -> Result<()> {
        let list: Vec<sbx_outcome> =
            outcomes.iter().map(|(id, outcome)| outcome.raw(*id)).collect();
        self.ask(self.tables().send_host.complete, |complete, host| unsafe {
            complete(host, list.as_ptr(), list.len(), size_of::<sbx_outcome>())
        })
    }

    /// Tells the host that there is room for this many more deliveries; from any thread.
    pub fn credit(&self, room: usize) -> Result<()> {
        let credit = self.tables().send_host.credit;
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
