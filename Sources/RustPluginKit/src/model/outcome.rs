//! What became of deliveries and changes.

use crate::memory::raw;
use crate::sys::{self, *};

/// What became of one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OutcomeKind {
    /// The provider took it.
    Delivered = SBX_OUTCOME_DELIVERED as isize,
    /// A passing fault: again, at the route's pace or later.
    Retry = SBX_OUTCOME_RETRY as isize,
    /// Too fast: again, not before `retry_after_ms`.
    Throttled = SBX_OUTCOME_THROTTLED as isize,
    /// The token is dead.
    Unregistered = SBX_OUTCOME_UNREGISTERED as isize,
    /// Our credential was refused: refresh it, then again.
    Auth = SBX_OUTCOME_AUTH as isize,
    /// Wrong set-up: nothing of this scope can succeed until it is mended.
    Config = SBX_OUTCOME_CONFIG as isize,
    /// This content can never succeed.
    Rejected = SBX_OUTCOME_REJECTED as isize,
}

/// What an outcome is about, beside its own item.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// Nothing else.
    Item = SBX_SCOPE_ITEM as isize,
    /// Every delivery of this app: wrong topic, a project's quota.
    App = SBX_SCOPE_APP as isize,
    /// Every delivery of this instance: credentials, provider down.
    Instance = SBX_SCOPE_INSTANCE as isize,
}

/// What became of one delivery or change, and why.
#[derive(Clone, Copy, Debug)]
pub struct Outcome<'a> {
    /// What happened.
    pub kind: OutcomeKind,
    /// From a closed list: fit for a metric label.
    pub reason: &'a str,
    /// How far it reaches.
    pub scope: Scope,
    /// Take no further request to the connection that answered.
    pub reconnect: bool,
    /// Can only lengthen the route's own wait; 0: no hint.
    pub retry_after_ms: u64,
    /// `Unregistered`: a token registered after this lives; 0: unknown.
    pub gone_since_unix_ms: u64,
    /// HTTP status or the provider's own number.
    pub provider_code: u32,
    /// For people; no token, secret or body.
    pub detail: &'a str,
    /// The provider's id of the message.
    pub provider_id: &'a str,
    /// The provider says: use this one from now on.
    pub new_token: &'a str,
    /// `Auth`: which credential to refresh.
    pub credential: &'a str,
}

impl<'a> Outcome<'a> {
    /// Makes an outcome.
    pub fn new(kind: OutcomeKind, reason: &'a str) -> Outcome<'a> {
        Outcome {
            kind,
            reason,
            scope: Scope::Item,
            reconnect: false,
            retry_after_ms: 0,
            gone_since_unix_ms: 0,
            provider_code: 0,
            detail: "",
            provider_id: "",
            new_token: "",
            credential: "",
        }
    }

    pub(crate) fn raw(&self, item: u64) -> sbx_outcome {
        sbx_outcome {
            kind: self.kind as u32,
            scope: self.scope as u32,
            flags: if self.reconnect { SBX_OUTCOME_RECONNECT } else { 0 },
            item,
            retry_after_ms: self.retry_after_ms,
            gone_since_unix_ms: self.gone_since_unix_ms,
            provider_code: self.provider_code,
            reason: raw(self.reason),
            detail: raw(self.detail),
            provider_id: raw(self.provider_id),
            new_token: raw(self.new_token),
            credential: raw(self.credential),
            ..sys::fresh()
        }
    }
}
