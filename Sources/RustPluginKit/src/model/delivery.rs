//! Deliveries: borrowed for a call, or copied for a sender that keeps them.

use super::{Device, Notification};
use crate::memory::{text, Pair, Strided};
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
        unsafe { Notification::read(self.raw.notification) }
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
            device: Arc::new(Owned::device(&given.device())),
            content: contents
                .entry(given.content_id())
                .or_insert_with(|| Arc::new(Owned::notification(&given.notification())))
                .clone(),
        });
        copied.collect()
    }
}

/// A noun with the memory that it points into. Its lifetime is shortened to that of the borrow
/// wherever it is handed out.
struct Owned<T> {
    value: T,
    _memory: Memory,
}

#[derive(Default)]
struct Memory {
    texts: Vec<Box<str>>,
    pairs: Vec<Box<[Pair<'static>]>>,
}

impl Memory {
    /// A copy that lives as long as this, which is all that `'static` means here.
    fn text(&mut self, given: &str) -> &'static str {
        self.texts.push(given.into());
        let own: *const str = &**self.texts.last().expect("it was pushed");
        // The box stays where it is until this is dropped.
        unsafe { &*own }
    }

    fn pairs(&mut self, given: &[Pair<'_>]) -> &'static [Pair<'static>] {
        let copied: Vec<Pair<'static>> = given
            .iter()
            .map(|pair| Pair::new(self.text(pair.key()), self.text(pair.value())))
            .collect();
        self.pairs.push(copied.into());
        let own: *const [Pair<'static>] = &**self.pairs.last().expect("it was pushed");
        unsafe { &*own }
    }
}

impl Owned<Device<'static>> {
    fn device(given: &Device<'_>) -> Self {
        let mut memory = Memory::default();
        let value = Device {
            app: memory.text(given.app),
            platform: memory.text(given.platform),
            provider: memory.text(given.provider),
            token: memory.text(given.token),
            source_token: memory.text(given.source_token),
            user: memory.text(given.user),
            locale: memory.text(given.locale),
            registered_unix_ms: given.registered_unix_ms,
            attributes: memory.pairs(given.attributes),
        };
        Owned { value, _memory: memory }
    }
}

impl Owned<Notification<'static>> {
    fn notification(given: &Notification<'_>) -> Self {
        let mut memory = Memory::default();
        let value = Notification {
            is_silent: given.is_silent,
            is_data_only: given.is_data_only,
            is_mutable: given.is_mutable,
            is_dry_run: given.is_dry_run,
            is_withdrawn: given.is_withdrawn,
            badge: given.badge,
            priority: given.priority,
            expires_unix_ms: given.expires_unix_ms,
            title: memory.text(given.title),
            subtitle: memory.text(given.subtitle),
            body: memory.text(given.body),
            sound: memory.text(given.sound),
            thread: memory.text(given.thread),
            category: memory.text(given.category),
            collapse: memory.text(given.collapse),
            image_url: memory.text(given.image_url),
            link: memory.text(given.link),
            push_type: memory.text(given.push_type),
            data: memory.text(given.data),
            overrides: memory.pairs(given.overrides),
        };
        Owned { value, _memory: memory }
    }
}
