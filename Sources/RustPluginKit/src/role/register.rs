//! The register role: device changes in, HTTP requests to the source's system out.

use super::endpoint::translator;
use super::{Endpoint, HttpSink, ResponseBatch};
use crate::error::Result;
use crate::instance::Instance;
use crate::memory::{text, Strided};
use crate::model::{Change, ChangeKind};
use crate::panics::guard;
use crate::plugin::Plugin;
use crate::sys::{self, *};

/// Reports device changes to the source's system.
pub trait Register: Plugin {
    /// Limit of changes per call; 0: the host decides.
    const MAX_CHANGES: u32 = 0;
    /// The kinds of changes to report.
    const KINDS: &'static [ChangeKind];

    /// Where to connect; `NotFound` if this instance reports nothing.
    fn endpoint(&self, app: &str) -> Result<Endpoint>;

    /// Renders changes: each must end up in one request or one outcome.
    fn prepare(&self, batch: &ChangeBatch<'_>, sink: &HttpSink<'_>) -> Result<()>;

    /// Settles every item of every response.
    fn classify(&self, batch: &ResponseBatch<'_>, sink: &HttpSink<'_>) -> Result<()>;
}

/// Device changes of one app; lives during [`Register::prepare`].
pub struct ChangeBatch<'a> {
    app: &'a str,
    list: Strided<'a, sbx_change>,
}

impl<'a> ChangeBatch<'a> {
    fn new(app: &'a str, list: Strided<'a, sbx_change>) -> ChangeBatch<'a> {
        ChangeBatch { app, list }
    }

    /// The app of all the devices; empty: the default app.
    pub fn app(&self) -> &'a str {
        self.app
    }

    /// The number of changes.
    pub fn len(&self) -> usize {
        self.list.len()
    }

    /// Whether the list is empty.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Iterates over the changes.
    pub fn iter(&self) -> impl Iterator<Item = Change<'a>> + 'a {
        // Borrowed for 'a.
        self.list.iter().map(|raw| unsafe { Change::of(raw) })
    }
}

pub(super) fn table<P: Register>() -> sbx_register {
    sbx_register {
        max_batch: P::MAX_CHANGES,
        kinds: P::KINDS
            .iter()
            .fold(0, |all, kind| all | 1u64.checked_shl(kind.code()).unwrap_or(0)),
        endpoint: Some(endpoint::<P>),
        prepare: Some(prepare::<P>),
        classify: Some(classify::<P>),
        ..sys::fresh()
    }
}

translator!(Register, sbx_change, ChangeBatch);
