//! A Telegram for a laptop: the Bot API server, the webhook pusher with Telegram's retry and ordering rules,
//! the rate limits, and a way to make it fail on purpose. It holds everything in memory.
//!
//! It must never reach beyond what it is given: no call to the real Telegram, no clock but [`SimClock`],
//! no randomness but the seed.
//!
//! ```no_run
//! # async fn example() -> Result<(), Box<dyn std::error::Error>> {
//! let sim = telegram_sim::Sim::new(telegram_sim::SimOptions::default());
//! sim.add_bot("424242:PENSTOCK-local-simulated-token-000", "penstock_demo_bot")?;
//! let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await?;
//! tokio::spawn(axum::serve(listener, sim.router()).into_future());
//! sim.user_text(1, 1, "/start");
//! # Ok(())
//! # }
//! ```

mod acts;
mod api;
mod body;
mod calls;
mod chats;
mod clock;
mod faults;
mod http;
mod kinds;
mod methods;
mod params;
mod people;
mod rates;
mod record;
mod sim;
mod webhook;
mod world;

#[cfg(test)]
mod tests;

pub use api::{ApiError, BotError, CallError, PressError};
pub use clock::{SimClock, SystemClock};
pub use faults::{Fault, FaultKind};
pub use kinds::{is_known_kind, life_ms};
pub use methods::{METHOD_COUNT, method_names};
pub use people::{ChatInfo, User};
pub use rates::{Limits, Profile};
pub use record::{ChatView, SentCall, SimEvent, Via, WebhookStatus};
pub use sim::{Sim, SimOptions};
pub use world::MISSING_CHAT_ID;
