//! How a command ends: the exit codes that `--help` documents.

use std::fmt;
use std::process::ExitCode;

use crate::print;

/// Exit code of a run that did not end as it should.
const NOT_AS_EXPECTED: u8 = 1;
/// Exit code for what the person or the machine has to put right first. `clap` uses the same for a wrong command line.
const USAGE: u8 = 2;
/// Exit code of a question about something that is not there.
const NOT_FOUND: u8 = 3;

/// A command that ran to its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ended {
    /// All is well.
    Well,
    /// What it tried did not come out as expected; it has said so.
    Badly,
}

impl Ended {
    pub(crate) fn well_if(is_well: bool) -> Self {
        if is_well { Self::Well } else { Self::Badly }
    }
}

impl From<Ended> for ExitCode {
    fn from(ended: Ended) -> Self {
        match ended {
            Ended::Well => Self::SUCCESS,
            Ended::Badly => Self::from(NOT_AS_EXPECTED),
        }
    }
}

/// A command that could not run to its end. Its message is one line and names the cure.
#[derive(Debug)]
pub(crate) enum Failure {
    /// Something has to be put right first.
    Usage(anyhow::Error),
    /// Something broke on the way.
    Broken(anyhow::Error),
    /// What was asked for is not there.
    NotFound(anyhow::Error),
}

impl Failure {
    pub(crate) fn usage(error: impl Into<anyhow::Error>) -> Self {
        Self::Usage(error.into())
    }

    /// Says what is wrong, and gives the exit code.
    pub(crate) fn tell(&self) -> ExitCode {
        print::note(&format!("error: {self}"));
        self.exit_code()
    }

    fn exit_code(&self) -> ExitCode {
        ExitCode::from(match self {
            Self::Usage(_) => USAGE,
            Self::Broken(_) => NOT_AS_EXPECTED,
            Self::NotFound(_) => NOT_FOUND,
        })
    }
}

impl From<anyhow::Error> for Failure {
    fn from(error: anyhow::Error) -> Self {
        Self::Broken(error)
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Usage(error) | Self::Broken(error) | Self::NotFound(error) => error.fmt(formatter),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_kind_of_failure_has_its_own_exit_code() {
        let code = |failure: Failure| format!("{:?}", failure.exit_code());
        let why = || anyhow::anyhow!("why");
        let codes = [
            Failure::Broken(why()),
            Failure::Usage(why()),
            Failure::NotFound(why()),
        ]
        .map(code);
        let wanted = [1, 2, 3].map(|code: u8| format!("{:?}", ExitCode::from(code)));
        assert_eq!(codes, wanted);
    }
}
