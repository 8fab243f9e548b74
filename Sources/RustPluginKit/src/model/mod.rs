//! The nouns that cross the contract. The same types are read and written: text is borrowed, and
//! empty text means "not given".

mod change;
mod delivery;
mod device;
mod event;
mod notification;
mod outcome;

pub use self::change::{Change, ChangeKind};
pub use self::delivery::{Delivery, DeliveryBatch, OwnedDelivery};
pub use self::device::{Device, Recipient};
pub use self::event::Event;
pub(crate) use self::event::RawEvents;
pub use self::notification::{Notification, Priority};
pub use self::outcome::{Outcome, OutcomeKind, Scope};
