//! The send-http role: deliveries in, HTTP/2 requests out; responses in, outcomes out.

use super::endpoint::translator;
use super::{Endpoint, HttpSink, ResponseBatch};
use crate::error::Result;
use crate::instance::Instance;
use crate::memory::{text, Strided};
use crate::model::DeliveryBatch;
use crate::panics::guard;
use crate::plugin::Plugin;
use crate::sys::{self, *};

/// Renders deliveries for a provider; the host sends them.
pub trait SendHttp: Plugin {
    /// Limit of deliveries or responses per call; 0: the host decides.
    const MAX_BATCH: u32 = 0;

    /// Where to connect for an app (empty: the default app); `NotFound` if there is no such app.
    fn endpoint(&self, app: &str) -> Result<Endpoint>;

    /// Renders deliveries of one app: each must end up in one request or one outcome. Return
    /// `Again` before sending anything if a credential is still being fetched.
    fn prepare(&self, batch: &DeliveryBatch<'_>, sink: &HttpSink<'_>) -> Result<()>;

    /// Settles every item of every response, or sends another request for it.
    fn classify(&self, batch: &ResponseBatch<'_>, sink: &HttpSink<'_>) -> Result<()>;
}

pub(super) fn table<P: SendHttp>() -> sbx_send_http {
    sbx_send_http {
        max_batch: P::MAX_BATCH,
        endpoint: Some(endpoint::<P>),
        prepare: Some(prepare::<P>),
        classify: Some(classify::<P>),
        ..sys::fresh()
    }
}

translator!(SendHttp, sbx_delivery, DeliveryBatch);
