//! Deliveries: borrowed for a call, or owned copies for senders that keep them.

use super::memory::Owned;
use super::{Device, Notification};
use crate::memory::{text, Strided};
use crate::sys::*;
use std::collections::HashMap;
use std::marker::PhantomData;
use std::sync::Arc;

/// Deliveries of one app; lives during the call.
pub struct DeliveryBatch<'a> {
    app: &'a str,
    list: Strided<'a, sbx_delivery>,
}

impl<'a> DeliveryBatch<'a> {
    pub(crate) fn new(app: &'a str, list: Strided<'a, sbx_delivery>) -> DeliveryBatch<'a> {
        DeliveryBatch { app, list }
    }

    /// The app; empty: the default app.
    pub fn app(&self) -> &'a str {
        self.app
    }

    /// The number of deliveries.
    pub fn len(&self) -> usize {
        self.list.len()
    }

    /// Whether the list is empty.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Iterates over the deliveries.
    pub fn iter(&self) -> impl Iterator<Item = Delivery<'a>> + 'a {
        self.list.iter().map(|raw| Delivery { raw, borrowed: PhantomData })
    }
}

/// One notification on its way to one device.
pub struct Delivery<'a> {
    raw: sbx_delivery,
    borrowed: PhantomData<&'a sbx_delivery>,
}

impl<'a> Delivery<'a> {
    /// Use it in requests and outcomes.
    pub fn id(&self) -> u64 {
        self.raw.id
    }

    /// Counts from 1.
    pub fn attempt(&self) -> u32 {
        self.raw.attempt
    }

    /// This device's badge; `None` for that of the notification.
    pub fn badge(&self) -> Option<i32> {
        (self.raw.flags & SBX_D_BADGE != 0).then_some(self.raw.badge)
    }

    /// Worthless after this time, in Unix milliseconds; 0: no deadline.
    pub fn deadline_unix_ms(&self) -> u64 {
        self.raw.deadline_unix_ms
    }

    /// When its event arrived, in Unix milliseconds, the same on every attempt; 0: the host does not say.
    pub fn event_unix_ms(&self) -> u64 {
        self.raw.event_unix_ms
    }

    /// A UUID, the same on every attempt.
    pub fn stable_id(&self) -> &'a str {
        // Borrowed for 'a, like everything below.
        unsafe { text(self.raw.stable_id) }
    }

    /// The device.
    pub fn device(&self) -> Device<'a> {
        unsafe { Device::read(self.raw.device) }
    }

    /// The content.
    pub fn notification(&self) -> Notification<'a> {
        match self.raw.notification.is_null() {
            true => Notification::default(),
            false => unsafe { Notification::of(read(self.raw.notification)) },
        }
    }

    /// Equal for deliveries of one batch that share a content: render it once.
    pub fn content_id(&self) -> usize {
        self.raw.notification as usize
    }
}

/// A delivery that the plugin owns; see [`crate::SendOwn`].
#[derive(Clone)]
pub struct OwnedDelivery {
    /// Use it in outcomes.
    pub id: u64,
    /// Counts from 1.
    pub attempt: u32,
    /// This device's badge; `None` for that of the notification.
    pub badge: Option<i32>,
    /// Worthless after this time, in Unix milliseconds; 0: no deadline.
    pub deadline_unix_ms: u64,
    /// When its event arrived, in Unix milliseconds; 0: the host does not say.
    pub event_unix_ms: u64,
    /// A UUID, the same on every attempt; fit for a Message-ID.
    pub stable_id: String,
    device: Arc<Owned<Device<'static>>>,
    content: Arc<Owned<Notification<'static>>>,
}

impl OwnedDelivery {
    /// The device.
    pub fn device(&self) -> &Device<'_> {
        &self.device.value
    }

    /// The content.
    pub fn notification(&self) -> &Notification<'_> {
        &self.content.value
    }

    /// Copies deliveries; a shared content is copied once.
    pub(crate) fn copy(batch: &DeliveryBatch<'_>) -> Vec<OwnedDelivery> {
        let mut contents = HashMap::new();
        let copied = batch.iter().map(|given| OwnedDelivery {
            id: given.id(),
            attempt: given.attempt(),
            badge: given.badge(),
            deadline_unix_ms: given.deadline_unix_ms(),
            event_unix_ms: given.event_unix_ms(),
            stable_id: given.stable_id().to_string(),
            device: Arc::new(Owned::new(|memory| given.device().copied(memory))),
            content: contents
                .entry(given.content_id())
                .or_insert_with(|| {
                    Arc::new(Owned::new(|memory| given.notification().copied(memory)))
                })
                .clone(),
        });
        copied.collect()
    }
}
