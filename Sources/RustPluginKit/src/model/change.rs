//! Devices that are added, removed or found dead.

use super::Device;
use crate::memory::{raw, text};
use crate::sys::{self, *};

/// What happened to a device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ChangeKind {
    /// It was registered, or registered again.
    Registered,
    /// The user or the app removed it.
    Unregistered,
    /// A provider reported its token dead.
    Invalid,
    /// A dry run of this plugin's event reached the device.
    Proven,
    /// That dry run failed for good; `reason` says why.
    Unproven,
    /// A kind that this plugin is too old for.
    Other(u32),
}

impl ChangeKind {
    const KNOWN: [(ChangeKind, u32); 5] = [
        (ChangeKind::Registered, SBX_CHANGE_REGISTERED),
        (ChangeKind::Unregistered, SBX_CHANGE_UNREGISTERED),
        (ChangeKind::Invalid, SBX_CHANGE_INVALID),
        (ChangeKind::Proven, SBX_CHANGE_PROVEN),
        (ChangeKind::Unproven, SBX_CHANGE_UNPROVEN),
    ];

    pub(crate) fn code(self) -> u32 {
        match self {
            ChangeKind::Other(code) => code,
            known => ChangeKind::KNOWN.iter().find(|one| one.0 == known).map_or(0, |one| one.1),
        }
    }

    fn of(code: u32) -> ChangeKind {
        let known = ChangeKind::KNOWN.iter().find(|one| one.1 == code);
        known.map_or(ChangeKind::Other(code), |one| one.0)
    }
}

/// A change of a device.
#[derive(Clone, Copy, Debug)]
pub struct Change<'a> {
    /// Use it in requests and outcomes; 0 when a plugin reports the change.
    pub id: u64,
    /// What happened.
    pub kind: ChangeKind,
    /// When, in Unix milliseconds; 0: now.
    pub time_unix_ms: u64,
    /// The device; for `Unregistered` without a token: all devices of the user.
    pub device: Device<'a>,
    /// The provider's reason: `Unregistered`.
    pub reason: &'a str,
    /// The subject of the event that asked for the dry run.
    pub subject: &'a str,
}

impl<'a> Change<'a> {
    /// A change to report to the host.
    pub fn new(kind: ChangeKind, device: Device<'a>) -> Change<'a> {
        Change { id: 0, kind, time_unix_ms: 0, device, reason: "", subject: "" }
    }

    /// The device's token exactly as the source delivered it.
    pub fn source_token(&self) -> &'a str {
        match self.device.source_token {
            "" => self.device.token,
            given => given,
        }
    }

    /// # Safety
    /// What it points to is borrowed for 'a.
    pub(crate) unsafe fn of(given: sbx_change) -> Change<'a> {
        Change {
            id: given.id,
            kind: ChangeKind::of(given.kind),
            time_unix_ms: given.time_unix_ms,
            device: Device::read(given.device),
            reason: text(given.reason),
            subject: text(given.subject),
        }
    }

    pub(crate) fn raw(&self, device: &sbx_device) -> sbx_change {
        sbx_change {
            kind: self.kind.code(),
            id: self.id,
            time_unix_ms: self.time_unix_ms,
            device,
            reason: raw(self.reason),
            subject: raw(self.subject),
            ..sys::fresh()
        }
    }
}
