//! The bots that are killed: those of `examples/`, each on its framework, and one that is built in. Knows how each is
//! installed and started; starts nothing.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, anyhow};
use clap::ValueEnum;
use tokio::process::Command;

/// How the built-in bot is called: `penstock drill ...`.
pub(crate) const BUILT_IN: &str = "built-in-backend";
/// All that a bot gets of this program's environment.
const KEPT: [&str; 2] = ["PATH", "HOME"];

/// A bot.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Framework {
    /// A small one inside this program: nothing has to be installed
    BuiltIn,
    /// grammY, on Node
    Grammy,
    /// Telegraf, on Node
    Telegraf,
    /// python-telegram-bot
    PythonTelegramBot,
    /// aiogram, on Python
    Aiogram,
    /// teloxide, on Rust
    Teloxide,
    /// Plain PHP
    Php,
}

impl Framework {
    /// As it is asked for, and as its folder is called.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::BuiltIn => "built-in",
            Self::Grammy => "grammy",
            Self::Telegraf => "telegraf",
            Self::PythonTelegramBot => "python-telegram-bot",
            Self::Aiogram => "aiogram",
            Self::Teloxide => "teloxide",
            Self::Php => "php",
        }
    }

    fn folder(self, examples: &Path) -> Result<Option<PathBuf>, anyhow::Error> {
        if self == Self::BuiltIn {
            return Ok(None);
        }
        let folder = examples.join(self.name());
        let folder = folder.canonicalize().map_err(|error| {
            anyhow!(
                "{} cannot be used: {error}; name its parent with --examples",
                folder.display()
            )
        })?;
        Ok(Some(folder))
    }

    /// Installs it into its folder, if it is not there yet.
    pub(super) async fn install(self, examples: &Path) -> Result<(), anyhow::Error> {
        let Some(folder) = self.folder(examples)? else {
            return Ok(());
        };
        let mut install = Command::new(folder.join("install"));
        // What it prints is no data.
        install.stdout(std::io::stderr()).kill_on_drop(true);
        let ended = install
            .status()
            .await
            .with_context(|| format!("{} cannot be installed", self.name()))?;
        if ended.success() {
            return Ok(());
        }
        Err(anyhow!(
            "{} could not be installed ({ended}): what it said is above",
            self.name()
        ))
    }

    /// Its start, with an environment of its own.
    pub(super) fn command(self, examples: &Path) -> Result<Command, anyhow::Error> {
        let mut command = match self.folder(examples)? {
            Some(folder) => Command::new(folder.join("run")),
            None => {
                let exe = std::env::current_exe().context("this program's own file is not found")?;
                let mut command = Command::new(exe);
                command.args(["drill", BUILT_IN]);
                command
            }
        };
        let kept = |(name, _): &(OsString, OsString)| KEPT.iter().any(|kept| name == kept);
        command.env_clear().envs(std::env::vars_os().filter(kept));
        Ok(command)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_is_asked_for_by_the_name_of_its_folder() {
        for framework in Framework::value_variants() {
            let asked = framework.to_possible_value().unwrap();
            assert_eq!(asked.get_name(), framework.name());
        }
    }

    #[test]
    fn a_folder_that_is_not_there_names_the_cure() {
        let base = tempfile::tempdir().unwrap();
        let error = Framework::Grammy.command(base.path()).unwrap_err().to_string();
        assert!(error.contains("--examples"), "{error}");
        assert!(Framework::BuiltIn.command(base.path()).is_ok());
    }
}
