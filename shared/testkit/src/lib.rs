//! Fakes of every port, and the suite of promises that a ledger keeps. For tests only: never a dependency of what is
//! deployed, and never a mock. A fake does what the real thing does, over memory; [`contract`] holds it to that.

mod botapi;
mod clock;
pub mod contract;
mod fault;
mod fifo;
mod ledger;
pub mod lines;
mod queue;
mod secrets;

pub use botapi::{FakeBotApi, MadeCall};
pub use clock::{FixedDraw, ManualClock};
pub use fault::{Fault, Faults};
pub use fifo::{DEDUPLICATION_WINDOW, FifoQueue, GivenUp, Handed, LONGEST_HIDDEN, Received};
pub use ledger::{FakeLedger, Row};
pub use queue::{FakeQueue, Hidden};
pub use secrets::FakeSecrets;
