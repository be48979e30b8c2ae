//! The real bot's token: from a prompt, a file or the environment. Never from the command line, never printed.

use std::io::{BufRead as _, IsTerminal as _};

use anyhow::anyhow;
use penstock_domain::secret::BotToken;

use super::args::DevArgs;
use crate::print;

/// The variable that may hold the token.
const VARIABLE: &str = "PENSTOCK_BOT_TOKEN";

/// The token, if one was asked for or given.
pub(super) fn find(args: &DevArgs) -> Result<Option<BotToken>, anyhow::Error> {
    if let Some(given) = &args.bot_token {
        refuse_value(given)?;
        return prompt().and_then(|line| checked(&line)).map(Some);
    }
    if let Some(path) = &args.bot_token_file {
        let text = std::fs::read_to_string(path).map_err(|error| {
            anyhow!(
                "{} cannot be read: {error}; put the bot's token into it, or use --bot-token",
                path.display()
            )
        })?;
        return checked(&text).map(Some);
    }
    variable().map(|text| of_variable(&text)).transpose()
}

/// The token in the variable. An empty one is a mistake in a script more often than a wish for the simulation.
fn of_variable(text: &str) -> Result<BotToken, anyhow::Error> {
    if text.trim().is_empty() {
        return Err(anyhow!(
            "{VARIABLE} is set but empty: put the bot's token into it, or unset it for simulated telegram"
        ));
    }
    checked(text)
}

/// A token in the command line is in every list of processes and in the shell's history.
fn refuse_value(given: &str) -> Result<(), anyhow::Error> {
    if given.is_empty() {
        return Ok(());
    }
    Err(anyhow!(
        "a token in the command line is seen by everybody on this machine: use --bot-token alone (it asks), \
         --bot-token-file FILE or {VARIABLE}; and revoke that token at @BotFather if others use this machine"
    ))
}

fn prompt() -> Result<String, anyhow::Error> {
    let stdin = std::io::stdin();
    if stdin.is_terminal() {
        print::note(
            "bot token from @BotFather (it is seen as you type; --bot-token-file keeps it off the screen):",
        );
    }
    let mut line = String::new();
    stdin
        .lock()
        .read_line(&mut line)
        .map_err(|error| anyhow!("no token could be read: {error}"))?;
    Ok(line)
}

/// The shape that Telegram gives tokens: an id, a colon, a secret.
fn checked(text: &str) -> Result<BotToken, anyhow::Error> {
    let text = text.trim();
    let is_token = text.split_once(':').is_some_and(|(id, secret)| {
        let is_secret = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-';
        id.parse::<u64>().is_ok() && secret.len() >= 20 && secret.bytes().all(is_secret)
    });
    if !is_token {
        return Err(anyhow!(
            "that is no bot token: one looks like 123456789:AA... and comes from @BotFather (/mybots, API Token)"
        ));
    }
    Ok(BotToken::new(text.to_owned()))
}

#[expect(
    clippy::disallowed_methods,
    reason = "the one variable that this program reads itself: never an argument"
)]
fn variable() -> Option<String> {
    std::env::var(VARIABLE).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_as_a_value_is_refused_with_the_other_ways() {
        let secret = "123456:AAAAAAAAAAAAAAAAAAAAAAAA";
        let told = refuse_value(secret).unwrap_err().to_string();
        assert!(
            told.contains("--bot-token-file") && told.contains(VARIABLE),
            "{told}"
        );
        assert!(!told.contains(secret), "{told}");
        assert!(refuse_value("").is_ok());
    }

    #[test]
    fn an_empty_variable_is_refused_with_the_cure() {
        for empty in ["", " \n"] {
            let told = of_variable(empty).unwrap_err().to_string();
            assert!(told.contains(VARIABLE) && told.contains("unset"), "{told}");
        }
        assert!(of_variable("123456:AAAAAAAAAAAAAAAAAAAAAAAA").is_ok());
    }

    #[test]
    fn only_what_looks_like_a_token_is_taken_and_it_is_never_repeated() {
        assert_eq!(
            checked(" 123456:AAAAAAAAAAAAAAAAAAAAAA_-\n").unwrap().reveal(),
            "123456:AAAAAAAAAAAAAAAAAAAAAA_-"
        );
        for wrong in [
            "",
            "hello",
            "x:AAAAAAAAAAAAAAAAAAAAAAAA",
            "12:short",
            "12:AAAAAAAAAAAAAAAAAAAA AAAA",
        ] {
            let told = checked(wrong).unwrap_err().to_string();
            assert!(
                told.contains("@BotFather") && (wrong.is_empty() || !told.contains(wrong)),
                "{told}"
            );
        }
    }
}
