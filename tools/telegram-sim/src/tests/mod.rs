//! Behaviour of the whole simulation, as a bot sees it. Time is a clock that jumps; HTTP is on loopback.

mod bot_api;
mod faults;
mod http;
mod receiver;
mod webhook;

use std::sync::Arc;

use crate::clock::test_clock::JumpClock;
use crate::{Profile, Sim, SimOptions};

const TOKEN: &str = "424242:PENSTOCK-local-simulated-token-000";

/// A simulation with one bot, and the clock it runs on.
fn sim() -> (Sim, JumpClock) {
    let clock = JumpClock::new();
    let options = SimOptions {
        clock: Arc::new(clock.clone()),
        profile: Profile::Strict,
        ..SimOptions::default()
    };
    let sim = Sim::new(options);
    sim.add_bot(TOKEN, "penstock_demo_bot").unwrap();
    (sim, clock)
}

/// Serves the Bot API on a free port and returns its root.
async fn serve(sim: &Sim) -> String {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(axum::serve(listener, sim.router()).into_future());
    format!("http://{address}")
}
