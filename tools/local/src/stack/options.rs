//! What a stack is started with.

use std::collections::BTreeMap;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;

use penstock_domain::secret::{InstantAck, WebhookSecret};

use crate::bridge::BridgeOptions;
use crate::template::DEFAULT_STACK_NAME;

/// Id of the simulated bot.
pub const SIMULATED_BOT_ID: u64 = 424_242;
/// Token of the simulated bot. It opens nothing anywhere else.
pub const SIMULATED_TOKEN: &str = "424242:PENSTOCK-local-simulated-token-000";
/// User name of the simulated bot.
pub const SIMULATED_USERNAME: &str = "penstock_demo_bot";

/// What a stack is started with. Begin with [`StackOptions::new`] and set what differs.
#[derive(Debug, Clone)]
pub struct StackOptions {
    /// `AWS::StackName`; the names of all resources begin with it.
    pub stack_name: String,
    /// Where state is kept; `None` for a directory that is removed at the end.
    pub state_dir: Option<PathBuf>,
    /// Where the front and the console listen. Loopback only; port 0 takes a free one.
    pub listen: SocketAddr,
    /// Template file; `None` for the one built in.
    pub template: Option<PathBuf>,
    /// Template parameters that differ from their defaults.
    pub parameters: BTreeMap<String, String>,
    /// Program that serves a function as `program __function NAME`; usually this very program.
    pub function_exe: PathBuf,
    /// Stack seconds in one second.
    pub time_scale: f64,
    /// Which Telegram.
    pub telegram: Telegram,
    /// Endpoint of another AWS emulator; nothing is embedded then.
    pub external_endpoint: Option<String>,
    /// Environment of every function on top of its own (proxy settings, failpoints, log levels).
    pub extra_env: BTreeMap<String, String>,
    /// Whether every write waits for the disk. Without it a killed process loses nothing either, but
    /// a power cut may lose the last writes.
    pub synchronous_full: bool,
    /// Whether calls of AWS are counted (see [`crate::aws::Meter`]). It costs time; only of embedded services.
    pub count_calls: bool,
    /// What ingress may answer in a 200; `None` for the usual: callbacks for simulated Telegram, off
    /// for a bridged bot, as nobody executes an answer there.
    pub instant_ack: Option<InstantAck>,
    /// The bot's own webhook: Updates are handed to it instead of to the bot inside the processor.
    pub forward: Option<ForwardOptions>,
    /// File that all lines of functions are appended to.
    pub log_file: Option<PathBuf>,
    /// How a person calls the program, for the commands that the page shows: `penstock` or `cargo run --`.
    pub program: String,
}

/// A bot's own webhook.
#[derive(Debug, Clone)]
pub struct ForwardOptions {
    /// Its URL.
    pub url: String,
    /// What it finds in `X-Telegram-Bot-Api-Secret-Token`; without one there is no such header.
    pub secret: Option<WebhookSecret>,
}

/// Which Telegram a stack talks to.
#[derive(Debug, Clone)]
pub enum Telegram {
    /// A simulated one, in this process.
    Simulated(SimulatedTelegram),
    /// A real bot by long polling.
    Real(BridgeOptions),
}

/// How simulated Telegram is set up.
#[derive(Debug, Clone)]
pub struct SimulatedTelegram {
    /// How strictly it limits rates.
    pub profile: telegram_sim::Profile,
    /// Other limits than the profile's.
    pub limits: Option<telegram_sim::Limits>,
    /// Stack milliseconds that every call takes.
    pub latency_ms: u64,
    /// Start of its randomness; `None` for another one at every start, so that update ids of an
    /// earlier run are not met again.
    pub seed: Option<u64>,
}

impl Default for SimulatedTelegram {
    fn default() -> Self {
        Self {
            profile: telegram_sim::Profile::Strict,
            limits: None,
            latency_ms: 0,
            seed: None,
        }
    }
}

impl StackOptions {
    /// Has the processor run the example bot, whichever is deployed: for what is judged by that bot's answers.
    pub fn run_example_bot(&mut self) {
        self.extra_env
            .insert(crate::functions::EXAMPLE_BOT.to_owned(), "1".to_owned());
    }

    /// A stack with simulated Telegram, a temporary state directory and a free port.
    #[must_use]
    pub fn new(function_exe: PathBuf) -> Self {
        Self {
            stack_name: DEFAULT_STACK_NAME.to_owned(),
            state_dir: None,
            listen: SocketAddr::from((Ipv4Addr::LOCALHOST, 0)),
            template: None,
            parameters: BTreeMap::new(),
            function_exe,
            time_scale: 1.0,
            telegram: Telegram::Simulated(SimulatedTelegram::default()),
            external_endpoint: None,
            extra_env: BTreeMap::new(),
            synchronous_full: false,
            count_calls: false,
            instant_ack: None,
            forward: None,
            log_file: None,
            program: "penstock".to_owned(),
        }
    }
}
