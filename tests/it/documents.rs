//! Documents that promise something are held to the code: tests that they name exist, codes that the code has they name.

use std::collections::BTreeSet;
use std::path::Path;

use crate::repository::root;
use crate::requirements::{functions, named_tests};

/// What comes before a failure's code in the sources.
const MARKS: [&str; 6] = [
    "Failure::new(",
    "RunFailure::permanent(",
    "code: ",
    "invalid(",
    "parked(",
    "park(",
];
/// Codes that stand in constants.
const CONSTANTS: [&str; 2] = ["const EXPIRED: &str = ", "const REDROVE: &str = "];

fn read(path: &str) -> String {
    std::fs::read_to_string(root().join(path)).unwrap()
}

fn sources(folder: &Path, found: &mut Vec<String>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.to_string_lossy().into_owned();
        if name.contains("tests") {
            continue;
        }
        if path.is_dir() {
            sources(&path, found);
        } else if name.ends_with(".rs") {
            let text = std::fs::read_to_string(&path).unwrap();
            found.push(text.split("#[cfg(test)]").next().unwrap().to_owned());
        }
    }
}

/// The codes in a source: each a literal after one of the marks.
fn codes(source: &str) -> impl Iterator<Item = &str> {
    let marks = MARKS.into_iter().chain(CONSTANTS);
    marks
        .flat_map(|mark| source.split(mark).skip(1))
        .filter_map(|rest| {
            let literal = rest.trim_start().strip_prefix('"')?;
            let code = literal.split('"').next()?;
            let is_code = code.contains(|c: char| c.is_ascii_lowercase())
                && code.chars().all(|c| c.is_ascii_lowercase() || c == '_');
            is_code.then_some(code)
        })
}

#[test]
fn every_code_that_a_failure_can_have_stands_in_the_failure_matrix() {
    let mut found = Vec::new();
    for folder in ["functions/processor", "functions/sender", "functions/dead_letter"] {
        sources(&root().join(folder).join("src"), &mut found);
    }
    let mut all: BTreeSet<_> = found.iter().flat_map(|source| codes(source)).collect();
    let reasons = read("shared/formats/src/quarantine.rs");
    all.extend(
        reasons
            .split("=> \"")
            .skip(1)
            .filter_map(|rest| rest.split('"').next()),
    );
    assert!(all.len() >= 18, "the marks find too little: {all:?}");
    let matrix = read("docs/failure-matrix.md");
    for code in all {
        assert!(matrix.contains(&format!("`{code}`")), "{code} has no row");
    }
}

#[test]
fn every_test_that_a_document_names_exists() {
    let functions = functions();
    for document in ["docs/failure-matrix.md", "docs/field-reports.md"] {
        let text = read(document);
        let rows = text.lines().filter(|line| line.starts_with("| "));
        let mut named = 0;
        for row in rows {
            let proof = row.trim_end_matches(['|', ' ']).rsplit('|').next().unwrap();
            for test in named_tests(proof) {
                named += 1;
                assert!(
                    functions.contains(test),
                    "{document} names {test}, which does not exist"
                );
            }
        }
        assert!(named > 20, "{document}: {named}");
    }
}
