//! Priorities of notifications.

use crate::sys::*;

/// How urgent a notification is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Priority {
    /// Delivered when the device is awake anyway.
    Low = SBX_PRIORITY_LOW as isize,
    /// Delivered soon.
    Normal = SBX_PRIORITY_NORMAL as isize,
    /// Delivered at once.
    High = SBX_PRIORITY_HIGH as isize,
}

impl Priority {
    /// `None`: the route decides.
    pub(super) fn of(code: u32) -> Option<Priority> {
        match code {
            SBX_PRIORITY_LOW => Some(Priority::Low),
            SBX_PRIORITY_NORMAL => Some(Priority::Normal),
            SBX_PRIORITY_HIGH => Some(Priority::High),
            _ => None,
        }
    }
}
