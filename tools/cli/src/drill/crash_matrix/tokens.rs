//! The tokens that let a failpoint kill its process: so many times in a run, whichever process it is.

use std::path::Path;

use anyhow::Context as _;
use penstock_aws::hooks::{MOST_TOKENS, token};
use tempfile::TempDir;

/// A directory of tokens.
pub(super) struct Tokens(TempDir);

impl Tokens {
    pub(super) fn new() -> Result<Self, anyhow::Error> {
        Ok(Self(tempfile::tempdir().context("no directory for tokens")?))
    }

    pub(super) fn dir(&self) -> &Path {
        self.0.path()
    }

    /// Lets the failpoint kill so many times, at most [`MOST_TOKENS`].
    pub(super) fn arm(&self, point: &str, crashes: u32) -> Result<(), anyhow::Error> {
        for index in 0..crashes.min(MOST_TOKENS) {
            std::fs::write(token(self.dir(), point, index), "").context("a token cannot be written")?;
        }
        Ok(())
    }

    /// Takes back what is left; gives back how many there were.
    pub(super) fn disarm(&self, point: &str) -> u32 {
        let taken_back = (0..MOST_TOKENS)
            .filter(|index| std::fs::remove_file(token(self.dir(), point, *index)).is_ok())
            .count();
        u32::try_from(taken_back).unwrap_or(MOST_TOKENS)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_taken_back_is_what_no_process_has_taken() {
        let tokens = Tokens::new().unwrap();
        tokens.arm("sqs.send.before", 3).unwrap();
        std::fs::remove_file(token(tokens.dir(), "sqs.send.before", 1)).unwrap();
        assert_eq!(tokens.disarm("sqs.send.before"), 2);
        assert_eq!(tokens.disarm("sqs.send.before"), 0);
    }
}
