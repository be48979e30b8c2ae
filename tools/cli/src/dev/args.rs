//! What `penstock dev` is asked for, and the stack's options that follow from it: pure.

use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::time::Duration;

use anyhow::anyhow;
use clap::{Args, ValueEnum};
use penstock_domain::secret::{BotToken, WebhookSecret};
use penstock_local::bridge::BridgeOptions;
use penstock_local::{ForwardOptions, SimulatedTelegram, StackOptions, Telegram};
use telegram_sim::Profile;

use crate::called;
use crate::feed::Source;
use crate::running::DEFAULT_STATE_DIR;

/// Where the console is, unless told otherwise.
const DEFAULT_PORT: u16 = 8080;
/// Where the Bot API is (Bot API, "Making requests").
const DEFAULT_API_ROOT: &str = "https://api.telegram.org";

/// How the pipeline is run here.
#[derive(Debug, Clone, Args)]
pub(crate) struct DevArgs {
    /// Port of the console and the webhook on 127.0.0.1; 0 takes a free one [default: 8080, or a free one with
    /// --exit-when-idle]
    #[arg(long)]
    pub(crate) port: Option<u16>,
    /// Where queues, tables and secrets are kept between starts [default: .penstock, or a temporary one for --events
    /// with --exit-when-idle]
    #[arg(long, value_name = "DIR")]
    pub(crate) state_dir: Option<PathBuf>,
    /// Use a real bot: its token is in this file
    #[arg(long, value_name = "FILE", conflicts_with = "bot_token")]
    pub(crate) bot_token_file: Option<PathBuf>,
    /// Use a real bot: asks for its token (or reads it from a pipe). PENSTOCK_BOT_TOKEN in the environment does the same
    #[arg(long, num_args = 0..=1, default_missing_value = "", value_name = "ASKS")]
    pub(crate) bot_token: Option<String>,
    /// Root of the Bot API for a real bot [default: `https://api.telegram.org`]
    #[arg(long, value_name = "URL")]
    pub(crate) api_root: Option<String>,
    /// Remove the webhook that the real bot has; its pending updates are kept
    #[arg(long)]
    pub(crate) take_over: bool,
    /// Hand Updates to a bot of yours that listens there, in any language, as Telegram would: http://localhost:3000
    #[arg(long, value_name = "URL")]
    pub(crate) forward: Option<String>,
    /// The secret that this bot expects in X-Telegram-Bot-Api-Secret-Token
    #[arg(
        long,
        value_name = "SECRET",
        requires = "forward",
        env = "PENSTOCK_FORWARD_SECRET",
        hide_env_values = true
    )]
    pub(crate) forward_secret: Option<String>,
    /// Run the example bot, whichever is deployed: a drill judges by its answers
    #[arg(long, hide = true)]
    pub(crate) example_bot: bool,
    /// Let time run so many times as fast: leases, visibility and delays get shorter alike
    #[arg(long, default_value_t = 1.0, value_name = "X")]
    pub(crate) time_scale: f64,
    /// Another template than the one built in
    #[arg(long, value_name = "FILE")]
    pub(crate) template: Option<PathBuf>,
    /// Set a parameter of the template; may be given several times
    #[arg(long = "parameter", value_name = "NAME=VALUE", value_parser = parameter)]
    pub(crate) parameters: Vec<(String, String)>,
    /// Let every write wait for the disk, so that not even a power cut loses one
    #[arg(long)]
    pub(crate) synchronous_full: bool,
    /// How hard simulated Telegram limits the bot
    #[arg(long, value_enum, default_value_t = Limits::Strict)]
    pub(crate) profile: Limits,
    /// For scripts: no invitation to open a page
    #[arg(long)]
    pub(crate) headless: bool,
    /// End when nothing is on its way any more
    #[arg(long)]
    pub(crate) exit_when_idle: bool,
    /// Feed the samples of a directory (or `builtin`) and judge what becomes of each
    #[arg(long, value_name = "DIR|builtin")]
    pub(crate) events: Option<Source>,
    /// Seconds to wait for idleness
    #[arg(long, default_value_t = 180, value_name = "SECONDS")]
    pub(crate) idle_limit: u64,
    /// Use the services at this endpoint instead of the embedded ones
    #[arg(long, value_name = "URL", env = "AWS_ENDPOINT_URL", hide_env_values = true)]
    pub(crate) aws_endpoint: Option<String>,
    /// Append the lines of all functions to this file
    #[arg(long, value_name = "FILE")]
    pub(crate) log_file: Option<PathBuf>,
    /// Answer in JSON, one object a line
    #[arg(long)]
    pub(crate) json: bool,
}

/// Limits of simulated Telegram.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Limits {
    /// The Bot FAQ's numbers to the letter
    Strict,
    /// As bots report them
    Real,
}

fn parameter(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((name, value)) if !name.is_empty() => Ok((name.to_owned(), value.to_owned())),
        _ => Err("give NAME=VALUE, for example MaximumConcurrency=2".to_owned()),
    }
}

impl DevArgs {
    /// Whether the run has an end of its own.
    fn ends_by_itself(&self) -> bool {
        self.exit_when_idle
    }

    /// The state directory; `None` for a temporary one.
    pub(crate) fn kept_state(&self) -> Option<PathBuf> {
        match &self.state_dir {
            Some(directory) => Some(directory.clone()),
            None if self.events.is_some() && self.ends_by_itself() => None,
            None => Some(PathBuf::from(DEFAULT_STATE_DIR)),
        }
    }

    pub(crate) fn idle_limit(&self) -> Duration {
        Duration::from_secs(self.idle_limit)
    }

    /// The bot's own webhook, checked here so that a mistyped one is told at once.
    fn forward(&self) -> Result<Option<ForwardOptions>, anyhow::Error> {
        let Some(url) = &self.forward else {
            return Ok(None);
        };
        let secret = self.forward_secret.clone().filter(|secret| !secret.is_empty());
        let secret = secret.map(WebhookSecret::new);
        penstock_backend::Target::parse(url, secret.clone(), None)
            .map_err(|error| anyhow!("--forward: {error}"))?;
        Ok(Some(ForwardOptions {
            url: url.clone(),
            secret,
        }))
    }

    fn listen(&self) -> SocketAddr {
        let default = if self.ends_by_itself() { 0 } else { DEFAULT_PORT };
        SocketAddr::from((Ipv4Addr::LOCALHOST, self.port.unwrap_or(default)))
    }

    /// The stack that is asked for.
    pub(crate) fn stack(&self, token: Option<BotToken>, exe: PathBuf) -> Result<StackOptions, anyhow::Error> {
        if token.is_none() && (self.api_root.is_some() || self.take_over) {
            return Err(anyhow!(
                "--api-root and --take-over are for a real bot: add --bot-token, --bot-token-file or PENSTOCK_BOT_TOKEN"
            ));
        }
        if token.is_some() && self.events.is_some() {
            return Err(anyhow!(
                "--events feeds made-up updates, whose answers must not reach a real bot's people: leave the token away"
            ));
        }
        let mut options = StackOptions::new(exe);
        called::program().clone_into(&mut options.program);
        options.state_dir = self.kept_state();
        options.listen = self.listen();
        options.template.clone_from(&self.template);
        options.parameters = self.parameters.iter().cloned().collect();
        if self.example_bot {
            options.run_example_bot();
        }
        options.forward = self.forward()?;
        options.time_scale = self.time_scale;
        options.synchronous_full = self.synchronous_full;
        options.external_endpoint.clone_from(&self.aws_endpoint);
        options.log_file.clone_from(&self.log_file);
        options.telegram = match token {
            Some(token) => Telegram::Real(BridgeOptions {
                api_root: self
                    .api_root
                    .clone()
                    .unwrap_or_else(|| DEFAULT_API_ROOT.to_owned()),
                token,
                take_over: self.take_over,
            }),
            None => Telegram::Simulated(SimulatedTelegram {
                profile: match self.profile {
                    Limits::Strict => Profile::Strict,
                    Limits::Real => Profile::Real,
                },
                ..SimulatedTelegram::default()
            }),
        };
        Ok(options)
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Debug, Parser)]
    struct Line {
        #[command(flatten)]
        args: DevArgs,
    }

    fn parse(line: &str) -> DevArgs {
        Line::try_parse_from(line.split(' '))
            .map(|line| line.args)
            .unwrap()
    }

    fn stack(line: &str, token: Option<&str>) -> Result<StackOptions, anyhow::Error> {
        parse(line).stack(
            token.map(|token| BotToken::new(token.to_owned())),
            PathBuf::from("penstock"),
        )
    }

    #[test]
    fn a_plain_start_listens_where_the_readme_says_and_keeps_its_state() {
        let options = stack("dev", None).unwrap();
        assert_eq!(options.listen.to_string(), "127.0.0.1:8080");
        assert_eq!(options.state_dir, Some(PathBuf::from(".penstock")));
        assert!(matches!(options.telegram, Telegram::Simulated(_)));
    }

    #[test]
    fn a_run_over_the_samples_leaves_nothing_behind_unless_a_place_is_named() {
        let line = "dev --headless --exit-when-idle --events builtin";
        let options = stack(line, None).unwrap();
        assert_eq!((options.state_dir, options.listen.port()), (None, 0));
        let options = stack(&format!("{line} --state-dir here --port 81"), None).unwrap();
        assert_eq!(
            (options.state_dir, options.listen.port()),
            (Some(PathBuf::from("here")), 81)
        );
    }

    #[test]
    fn parameters_of_the_template_are_passed_on() {
        let options = stack(
            "dev --parameter MaximumConcurrency=2 --parameter LogLevel=DEBUG",
            None,
        )
        .unwrap();
        assert_eq!(options.parameters["MaximumConcurrency"], "2");
        assert_eq!(options.parameters.len(), 2);
        assert!(Line::try_parse_from(["dev", "--parameter", "LogLevel"]).is_err());
    }

    #[test]
    fn a_token_leads_to_the_real_bot() {
        let options = stack("dev --take-over --api-root http://127.0.0.1:9", Some("1:x")).unwrap();
        let Telegram::Real(bridge) = options.telegram else {
            panic!("simulated")
        };
        assert_eq!(
            (bridge.api_root.as_str(), bridge.take_over),
            ("http://127.0.0.1:9", true)
        );
    }

    #[test]
    fn what_needs_a_real_bot_is_refused_without_one_and_samples_are_refused_with_one() {
        let told = stack("dev --take-over", None).unwrap_err().to_string();
        assert!(told.contains("--bot-token"), "{told}");
        let told = stack("dev --events builtin", Some("1:x"))
            .unwrap_err()
            .to_string();
        assert!(told.contains("leave the token away"), "{told}");
    }
}
