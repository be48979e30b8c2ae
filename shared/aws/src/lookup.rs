//! Configuration by name. All problems are told at once, each with the variable and what it should be.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use penstock_domain::ledger::Retention;

const DAY: Duration = Duration::from_secs(86_400);

/// Looks a variable up. `std::env::var` in production, a map in tests.
pub type Lookup<'a> = dyn Fn(&str) -> Option<String> + Send + Sync + 'a;

/// Everything that is wrong with a configuration.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConfigError(Vec<String>);

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the configuration is incomplete: {}", self.0.join("; "))
    }
}

impl std::error::Error for ConfigError {}

/// Reads variables and collects what is wrong with them.
pub struct Settings<'a> {
    lookup: &'a Lookup<'a>,
    problems: Vec<String>,
}

impl<'a> Settings<'a> {
    /// Begins to read.
    #[must_use]
    pub fn new(lookup: &'a Lookup<'a>) -> Self {
        Self {
            lookup,
            problems: Vec::new(),
        }
    }

    /// A variable that must be there and not empty.
    pub fn text(&mut self, name: &str, meaning: &str) -> String {
        match (self.lookup)(name) {
            Some(text) if !text.trim().is_empty() => text,
            Some(_) | None => {
                self.problems.push(format!("{name} is not set ({meaning})"));
                String::new()
            }
        }
    }

    /// A number with a default; one that is there and no number in that range is a problem.
    pub fn number<T>(&mut self, name: &str, default: T, least: T, most: T) -> T
    where
        T: FromStr + PartialOrd + fmt::Display + Copy,
    {
        let Some(text) = (self.lookup)(name) else {
            return default;
        };
        match text.trim().parse::<T>() {
            Ok(number) if number >= least && number <= most => number,
            Ok(_) | Err(_) => {
                self.problems
                    .push(format!("{name} is `{text}`, not a number from {least} to {most}"));
                default
            }
        }
    }

    /// Numbers, separated by commas; none if it is not set or empty.
    pub fn numbers<T: FromStr>(&mut self, name: &str) -> Vec<T> {
        let listed = (self.lookup)(name).unwrap_or_default();
        let parts = listed.split(',').map(str::trim).filter(|part| !part.is_empty());
        parts
            .map(str::parse)
            .collect::<Result<_, _>>()
            .unwrap_or_else(|_| {
                self.problems
                    .push(format!("{name} is `{listed}`, not numbers separated by commas"));
                Vec::new()
            })
    }

    /// How long records live: `DEDUP_WINDOW_DAYS` (7, at least 1) and `DEAD_RETENTION_DAYS` (90, at least the 14 days
    /// that a queue keeps a message).
    pub fn retention(&mut self) -> Retention {
        Retention {
            dedup_window: DAY * self.number("DEDUP_WINDOW_DAYS", 7, 1, 90),
            dead: DAY * self.number("DEAD_RETENTION_DAYS", 90, 14, 3650),
        }
    }

    /// The configuration, if nothing was wrong.
    ///
    /// # Errors
    /// All problems that were met.
    pub fn finish<T>(self, config: T) -> Result<T, ConfigError> {
        if self.problems.is_empty() {
            Ok(config)
        } else {
            Err(ConfigError(self.problems))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_problems_are_told_at_once() {
        let lookup = |name: &str| (name == "COUNT").then(|| "many".to_owned());
        let mut settings = Settings::new(&lookup);
        settings.text("TABLE_NAME", "the table");
        assert_eq!(settings.number("COUNT", 3, 1, 9), 3);
        let told = settings.finish(()).unwrap_err().to_string();
        assert!(
            told.contains("TABLE_NAME is not set (the table)") && told.contains("COUNT is `many`"),
            "{told}"
        );
    }
}
