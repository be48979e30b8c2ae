//! Why a stack does not start; every message names the cure.

use std::net::SocketAddr;
use std::path::PathBuf;

use crate::aws::AwsError;
use crate::bridge::BridgeError;
use crate::state::StateError;
use crate::template::TemplateError;

/// The least of stack seconds in one second: slower, one of its seconds takes more than ten.
pub(super) const SLOWEST: f64 = 0.1;
/// The most of them: faster, leases and visibility shrink to the time that starting a process takes.
pub(super) const FASTEST: f64 = 100.0;

/// Why a stack does not start.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StackError {
    /// Something listens there already.
    #[error("port {port} is taken: choose another with --port, or --port 0 for a free one")]
    PortTaken {
        /// The port.
        port: u16,
    },
    /// The front cannot listen there.
    #[error("nothing can listen at {address}: {source}; choose another address with --port")]
    Listen {
        /// The address.
        address: SocketAddr,
        /// Why.
        source: std::io::Error,
    },
    /// The stack has no access control, so it must not be reachable from elsewhere.
    #[error("{address} is no loopback address: the local stack listens on 127.0.0.1 only")]
    NotLoopback {
        /// The address.
        address: SocketAddr,
    },
    /// A scale that is no speed.
    #[error("time scale {scale} is not usable: give a number from {SLOWEST} to {FASTEST}, for example 20")]
    TimeScale {
        /// The scale.
        scale: f64,
    },
    /// The log file.
    #[error("log file {} cannot be opened: {source}", path.display())]
    LogFile {
        /// The file.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// The state directory.
    #[error(transparent)]
    State(#[from] StateError),
    /// The template.
    #[error(transparent)]
    Template(#[from] TemplateError),
    /// The services.
    #[error(transparent)]
    Aws(#[from] AwsError),
    /// The real bot.
    #[error(transparent)]
    Bridge(#[from] BridgeError),
    /// The simulated bot.
    #[error("simulated telegram does not take the bot: {reason}")]
    Simulated {
        /// What it said.
        reason: String,
    },
}
