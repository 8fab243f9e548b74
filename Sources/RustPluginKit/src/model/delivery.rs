//! Deliveries: borrowed for a call, or copied for a sender that keeps them.

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

    /// How many.
    pub fn len(&self) -> usize {
        self.list.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// One after the other.
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
    /// Name it in requests and outcomes.
    pub fn id(&self) -> u64 {
        self.raw.id
    }

    /// 1, 2, ...
    pub fn attempt(&self) -> u32 {
        self.raw.attempt
    }

    /// This device's badge; `None`: the notification's.
    pub fn badge(&self) -> Option<i32> {
        (self.raw.flags & SBX_D_BADGE != 0).then_some(self.raw.badge)
    }

    /// Worthless afterwards; 0: none.
    pub fn deadline_unix_ms(&self) -> u64 {
        self.raw.deadline_unix_ms
    }

    /// A UUID, the same on every attempt.
    pub fn stable_id(&self) -> &'a str {
        // Borrowed for 'a, as everything below.
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

    /// Equal for deliveries of one batch with equal content: render that once.
    pub fn content_id(&self) -> usize {
        self.raw.notification as usize
    }
}

/// A delivery that is the plugin's own; see [`crate::SendOwn`].
#[derive(Clone)]
pub struct OwnedDelivery {
    /// Name it in outcomes.
    pub id: u64,
    /// 1, 2, ...
    pub attempt: u32,
    /// This device's badge; `None`: the notification's.
    pub badge: Option<i32>,
    /// Worthless afterwards; 0: none.
    pub deadline_unix_ms: u64,
    /// A UUID, the same on every attempt: a Message-ID.
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

    /// Copies; equal contents are copied once.
    pub(crate) fn copy(batch: &DeliveryBatch<'_>) -> Vec<OwnedDelivery> {
        let mut contents = HashMap::new();
        let copied = batch.iter().map(|given| OwnedDelivery {
            id: given.id(),
            attempt: given.attempt(),
            badge: given.badge(),
            deadline_unix_ms: given.deadline_unix_ms(),
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
