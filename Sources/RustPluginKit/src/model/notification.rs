//! Notifications.

use crate::memory::{pairs, raw, text, Pair};
use crate::sys::{self, *};

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

/// Neutral content, known to every sender.
#[derive(Clone, Copy, Debug, Default)]
pub struct Notification<'a> {
    /// Wake the app, show nothing.
    pub is_silent: bool,
    /// Where the provider can leave display to the app, let it.
    pub is_data_only: bool,
    /// The app may change it before it is shown.
    pub is_mutable: bool,
    /// Prove that the device can be reached, and show nothing.
    pub is_dry_run: bool,
    /// Takes back what is shown under `collapse`, and shows nothing.
    pub is_withdrawn: bool,
    /// `None`: leave alone; 0: clear.
    pub badge: Option<i32>,
    /// `None`: as the route says.
    pub priority: Option<Priority>,
    /// 0: as the route says.
    pub expires_unix_ms: u64,
    /// First line.
    pub title: &'a str,
    /// Second line.
    pub subtitle: &'a str,
    /// Text.
    pub body: &'a str,
    /// Name of a sound.
    pub sound: &'a str,
    /// Groups notifications.
    pub thread: &'a str,
    /// The app's set of actions.
    pub category: &'a str,
    /// A newer one with the same key replaces the shown one.
    pub collapse: &'a str,
    /// Picture.
    pub image_url: &'a str,
    /// What a tap opens.
    pub link: &'a str,
    /// The provider's word for the kind of push; empty: follows from the content.
    pub push_type: &'a str,
    /// A JSON object or empty: the payload's custom keys.
    pub data: &'a str,
    /// JSON objects laid over the payload at the end, by family of senders: `apns`, `fcm`.
    pub overrides: &'a [Pair<'a>],
}

impl<'a> Notification<'a> {
    /// # Safety
    /// The notification is borrowed for 'a; `given` may be null.
    pub(crate) unsafe fn read(given: *const sbx_notification) -> Notification<'a> {
        if given.is_null() {
            return Notification::default();
        }
        let given = sys::read(given);
        let has = |flag| given.flags & flag != 0;
        Notification {
            is_silent: has(SBX_N_SILENT),
            is_data_only: has(SBX_N_DATA_ONLY),
            is_mutable: has(SBX_N_MUTABLE),
            is_dry_run: has(SBX_N_DRY_RUN),
            is_withdrawn: has(SBX_N_WITHDRAW),
            badge: has(SBX_N_BADGE).then_some(given.badge),
            priority: match given.priority {
                SBX_PRIORITY_LOW => Some(Priority::Low),
                SBX_PRIORITY_NORMAL => Some(Priority::Normal),
                SBX_PRIORITY_HIGH => Some(Priority::High),
                _ => None,
            },
            expires_unix_ms: given.expires_unix_ms,
            title: text(given.title),
            subtitle: text(given.subtitle),
            body: text(given.body),
            sound: text(given.sound),
            thread: text(given.thread),
            category: text(given.category),
            collapse: text(given.collapse),
            image_url: text(given.image_url),
            link: text(given.link),
            push_type: text(given.push_type),
            data: text(given.data),
            overrides: pairs(given.overrides, given.override_count),
        }
    }

    pub(crate) fn raw(&self) -> sbx_notification {
        let flags = [
            (self.is_silent, SBX_N_SILENT),
            (self.is_data_only, SBX_N_DATA_ONLY),
            (self.is_mutable, SBX_N_MUTABLE),
            (self.is_dry_run, SBX_N_DRY_RUN),
            (self.is_withdrawn, SBX_N_WITHDRAW),
            (self.badge.is_some(), SBX_N_BADGE),
        ];
        sbx_notification {
            flags: flags.iter().filter(|flag| flag.0).map(|flag| flag.1).sum(),
            priority: self.priority.map_or(0, |priority| priority as u32),
            badge: self.badge.unwrap_or(0),
            expires_unix_ms: self.expires_unix_ms,
            title: raw(self.title),
            subtitle: raw(self.subtitle),
            body: raw(self.body),
            sound: raw(self.sound),
            thread: raw(self.thread),
            category: raw(self.category),
            collapse: raw(self.collapse),
            image_url: raw(self.image_url),
            link: raw(self.link),
            push_type: raw(self.push_type),
            data: raw(self.data),
            overrides: Pair::raw(self.overrides),
            override_count: self.overrides.len(),
            ..sys::fresh()
        }
    }
}
