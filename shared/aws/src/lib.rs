//! Penstock's ports on AWS: the ledger in DynamoDB, queues in SQS, secrets in Secrets Manager, and what every function
//! needs to start. Never decides: decisions come from the domain; never knows the Bot API.

mod clients;
mod clock;
mod error;
pub mod hooks;
mod lookup;
mod panics;
mod queue;
mod secrets;
mod table;
mod telemetry;

pub use clients::Clients;
pub use clock::{SystemDraw, WallClock};
pub use lookup::{ConfigError, Lookup, Settings};
pub use panics::{last_panic_place, log_panics_without_their_messages};
pub use queue::SqsQueue;
pub use secrets::CachedSecrets;
pub use table::{Ledger, read_record};
pub use telemetry::init_tracing;
