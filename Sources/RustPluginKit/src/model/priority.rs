//! How urgent a notification is.

use crate::sys::*;

/// How urgent a notification is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Priority {
    /// When the device is awake anyway.
    Low = SBX_PRIORITY_LOW as isize,
    /// Soon.
    Normal = SBX_PRIORITY_NORMAL as isize,
    /// At once.
    High = SBX_PRIORITY_HIGH as isize,
}

impl Priority {
    /// `None`: as the route says.
    pub(super) fn of(code: u32) -> Option<Priority> {
        match code {
            SBX_PRIORITY_LOW => Some(Priority::Low),
            SBX_PRIORITY_NORMAL => Some(Priority::Normal),
            SBX_PRIORITY_HIGH => Some(Priority::High),
            _ => None,
        }
    }
}
