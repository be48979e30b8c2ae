//! What is fed: the catalogue of samples, or the files of a directory matched with it by name.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use anyhow::anyhow;
use penstock_domain::route::route;
use penstock_events::{Expect, Sample, Secret, samples, with_update_id};

use crate::failure::Failure;

/// The name that stands for the samples built into this program.
const BUILT_IN: &str = "builtin";
/// Ids are drawn between these: far above the samples' own, and below 2^31 as Telegram's are.
const FRESH_IDS: std::ops::Range<i64> = 1_000_000_000..2_000_000_000;

/// Where cases come from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Source {
    /// This program.
    BuiltIn,
    /// A directory of files, or one with a folder `raw` of them.
    Dir(PathBuf),
}

impl FromStr for Source {
    type Err = std::convert::Infallible;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Ok(if text == BUILT_IN {
            Self::BuiltIn
        } else {
            Self::Dir(PathBuf::from(text))
        })
    }
}

/// One request, and what has to come of it.
#[derive(Debug, Clone)]
pub(crate) struct Case {
    pub(crate) name: String,
    /// The Update's kind; empty for what is no Update.
    pub(crate) kind: String,
    pub(crate) body: Vec<u8>,
    pub(crate) secret: Secret,
    pub(crate) expected: Expected,
}

/// What has to come of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Expected {
    /// What the catalogue says.
    Sample(Expect),
    /// A file that the catalogue does not know: accepted, and ended, done or dead.
    AnyEnd,
}

/// An id that no other Update of this stack is likely to have.
pub(crate) fn fresh_update_id() -> i64 {
    fastrand::i64(FRESH_IDS)
}

impl Case {
    fn of_sample(sample: &Sample, body: Vec<u8>) -> Self {
        Self {
            name: sample.name.to_owned(),
            kind: sample.kind.to_owned(),
            body,
            secret: sample.secret,
            expected: Expected::Sample(sample.expect),
        }
    }

    fn of_file(name: String, body: Vec<u8>) -> Self {
        let kind = route(&body).map(|route| route.kind_name).unwrap_or_default();
        Self {
            name,
            kind,
            body,
            secret: Secret::Right,
            expected: Expected::AnyEnd,
        }
    }

    /// The cases of a source, in the order in which they are fed: the catalogue's, then other files by name.
    pub(crate) fn all_of(source: &Source) -> Result<Vec<Self>, Failure> {
        match source {
            Source::BuiltIn => Ok(samples()
                .iter()
                .map(|sample| Self::of_sample(sample, sample.raw().into_owned()))
                .collect()),
            Source::Dir(directory) => in_directory(directory).map_err(Failure::Usage),
        }
    }

    /// The same with an `update_id` of its own, where it has one, so that a stack that has seen it takes it as new.
    pub(crate) fn renumbered(self, update_id: i64) -> Self {
        let body = with_update_id(&self.body, update_id).unwrap_or_else(|| self.body.clone());
        Self { body, ..self }
    }
}

fn in_directory(directory: &Path) -> Result<Vec<Case>, anyhow::Error> {
    let raw = directory.join("raw");
    let has_raw = raw.is_dir();
    let folder = if has_raw { raw } else { directory.to_owned() };
    let unreadable = |path: &Path, error: std::io::Error| {
        anyhow!(
            "{} cannot be read: {error}; name a directory of updates as Telegram sends them, or `{BUILT_IN}`",
            path.display()
        )
    };
    let mut names = BTreeSet::new();
    for entry in std::fs::read_dir(&folder).map_err(|error| unreadable(&folder, error))? {
        let name = entry.map_err(|error| unreadable(&folder, error))?.file_name();
        names.extend(
            name.to_str()
                .and_then(|name| name.strip_suffix(".json"))
                .map(str::to_owned),
        );
    }
    if names.is_empty() {
        return Err(anyhow!(
            "no *.json in {}: name a directory of updates as Telegram sends them, or `{BUILT_IN}`",
            folder.display()
        ));
    }
    // Only beside the rest of the catalogue: somebody's own files are fed alone.
    let is_catalogue = has_raw
        || samples()
            .iter()
            .all(|sample| sample.is_made() || names.contains(sample.name));
    let read = |name: &str| {
        let path = folder.join(format!("{name}.json"));
        std::fs::read(&path).map_err(|error| unreadable(&path, error))
    };
    let mut cases = Vec::new();
    for sample in samples() {
        // The big ones are made, whether or not somebody has written them to a file.
        let is_there = names.remove(sample.name);
        if sample.is_made() && is_catalogue {
            cases.push(Case::of_sample(sample, sample.raw().into_owned()));
        } else if is_there {
            cases.push(Case::of_sample(sample, read(sample.name)?));
        }
    }
    for name in names {
        cases.push(Case::of_file(name.clone(), read(&name)?));
    }
    Ok(cases)
}

#[cfg(test)]
mod tests {
    use penstock_events::find;

    use super::*;

    #[test]
    fn the_built_in_cases_are_the_whole_catalogue_in_order() {
        let cases = Case::all_of(&Source::BuiltIn).unwrap();
        let names: Vec<&str> = cases.iter().map(|case| case.name.as_str()).collect();
        assert_eq!(
            names,
            samples().iter().map(|sample| sample.name).collect::<Vec<_>>()
        );
    }

    #[test]
    fn the_directory_of_this_repository_gives_the_same_cases() {
        let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../events");
        let found = Case::all_of(&Source::Dir(directory)).unwrap();
        let built_in = Case::all_of(&Source::BuiltIn).unwrap();
        let bodies = |cases: &[Case]| {
            cases
                .iter()
                .map(|case| (case.name.clone(), case.body.clone()))
                .collect::<Vec<_>>()
        };
        assert!(
            bodies(&found) == bodies(&built_in),
            "events/raw differs from what this program was built with"
        );
    }

    #[test]
    fn a_file_that_the_catalogue_does_not_know_comes_last_and_may_end_either_way() {
        let base = tempfile::tempdir().unwrap();
        std::fs::write(base.path().join("text.json"), find("text").unwrap().raw()).unwrap();
        std::fs::write(
            base.path().join("mine.json"),
            r#"{"update_id":5,"poll":{"id":"1"}}"#,
        )
        .unwrap();
        std::fs::write(base.path().join("notes.txt"), "no update").unwrap();
        let cases = Case::all_of(&Source::Dir(base.path().to_owned())).unwrap();
        let last = cases.last().unwrap();
        assert_eq!(
            (last.name.as_str(), last.kind.as_str(), last.expected),
            ("mine", "poll", Expected::AnyEnd)
        );
        let names: Vec<&str> = cases.iter().map(|case| case.name.as_str()).collect();
        assert_eq!(names, ["text", "mine"]);
    }

    #[test]
    fn a_directory_without_a_file_to_feed_is_refused() {
        let base = tempfile::tempdir().unwrap();
        std::fs::write(base.path().join("notes.txt"), "no update").unwrap();
        let failure = Case::all_of(&Source::Dir(base.path().to_owned())).unwrap_err();
        assert!(matches!(failure, Failure::Usage(_)));
        assert!(failure.to_string().contains("no *.json in"), "{failure}");
    }

    #[test]
    fn a_directory_that_is_not_there_names_the_cure() {
        let failure = Case::all_of(&Source::Dir(PathBuf::from("no/such/place"))).unwrap_err();
        assert!(failure.to_string().contains("`builtin`"), "{failure}");
    }

    #[test]
    fn a_case_without_an_update_id_stays_as_it_is() {
        let case = Case::of_file("x".to_owned(), b"nonsense".to_vec());
        assert_eq!(case.clone().renumbered(7).body, case.body);
        assert!(FRESH_IDS.contains(&fresh_update_id()));
    }
}
