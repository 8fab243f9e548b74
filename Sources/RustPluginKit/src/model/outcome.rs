//! Outcomes of deliveries and changes.

use crate::memory::raw;
use crate::sys::{self, *};

/// The kind of an outcome.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OutcomeKind {
    /// The provider accepted it.
    Delivered = SBX_OUTCOME_DELIVERED as isize,
    /// A temporary fault: try again, at the route's pace or later.
    Retry = SBX_OUTCOME_RETRY as isize,
    /// Too fast: try again, not before `retry_after_ms`.
    Throttled = SBX_OUTCOME_THROTTLED as isize,
    /// The token is dead.
    Unregistered = SBX_OUTCOME_UNREGISTERED as isize,
    /// The provider refused our credential: refresh it, then try again.
    Auth = SBX_OUTCOME_AUTH as isize,
    /// Wrong configuration: nothing in this scope can succeed until it is fixed.
    Config = SBX_OUTCOME_CONFIG as isize,
    /// This content can never be sent.
    Rejected = SBX_OUTCOME_REJECTED as isize,
}

/// What else an outcome applies to, besides its own item.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// Nothing else.
    Item = SBX_SCOPE_ITEM as isize,
    /// Every delivery of this app: a wrong topic, a project's quota.
    App = SBX_SCOPE_APP as isize,
    /// Every delivery of this instance: wrong credentials, a provider that is down.
    Instance = SBX_SCOPE_INSTANCE as isize,
}

/// The outcome of one delivery or change.
#[derive(Clone, Copy, Debug)]
pub struct Outcome<'a> {
    /// What happened.
    pub kind: OutcomeKind,
    /// From a closed list, so it fits a metric label.
    pub reason: &'a str,
    /// What it applies to.
    pub scope: Scope,
    /// Send no more requests on the connection that answered.
    pub reconnect: bool,
    /// For `Rejected`: the provider blames the token, and may mean the content. The host makes `Unregistered` of it if
    /// the provider accepted no push to this token before.
    pub suspects_token: bool,
    /// Can only lengthen the route's own wait; 0: no hint.
    pub retry_after_ms: u64,
    /// For `Unregistered`: a token registered after this is alive; 0: unknown.
    pub gone_since_unix_ms: u64,
    /// HTTP status or the provider's own number.
    pub provider_code: u32,
    /// For people; without tokens, secrets or bodies.
    pub detail: &'a str,
    /// The provider's message id.
    pub provider_id: &'a str,
    /// The token that the provider says to use instead.
    pub new_token: &'a str,
    /// For `Auth`: the credential to refresh.
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
            suspects_token: false,
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
            flags: SBX_OUTCOME_RECONNECT * u32::from(self.reconnect)
                | SBX_OUTCOME_SUSPECT * u32::from(self.suspects_token),
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
