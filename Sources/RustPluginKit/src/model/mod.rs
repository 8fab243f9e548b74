//! The nouns that cross the contract. The same types are read and written. Text is borrowed, and
//! empty text means "not given".

mod change;
mod delivery;
mod device;
mod event;
mod memory;
#[path = "nouns+generated.rs"]
mod nouns;
mod outcome;
mod priority;

pub use self::change::{Change, ChangeKind};
pub use self::delivery::{Delivery, DeliveryBatch, OwnedDelivery};
pub use self::device::Recipient;
pub use self::event::Event;
pub(crate) use self::event::RawEvents;
pub use self::nouns::{Device, Notification};
pub use self::outcome::{Outcome, OutcomeKind, Scope};
pub use self::priority::Priority;
