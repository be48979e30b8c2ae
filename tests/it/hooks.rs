//! The failpoints against the sources: each call of AWS and of the Bot API lies between its two points.

use std::collections::BTreeSet;
use std::path::Path;

use penstock_aws::hooks::{BACKEND_POINTS, POINTS, REPAIR_POINTS};

use crate::repository::root;

/// Where calls are made.
const PLACES: [&str; 2] = ["shared/aws/src", "functions"];
/// What makes a call: an SDK request, the ledger's own conditional write, a person's transaction, a call of the Bot API.
const CALLS: [&str; 4] = [SENDS, "self.write(", "self.repair(", ".api.call("];
const SENDS: &str = ".send()";
/// The requests whose points are around every use of them.
const SHARED_BY_ALL_WRITES: &str = "shared/aws/src/table/expression.rs";
const SHARED_BY_ALL_REPAIRS: &str = "shared/aws/src/table/repair.rs";

/// What matters of a source, in order.
#[derive(Debug, PartialEq)]
enum Token {
    Before(String),
    Call,
    After(String),
}

fn tokens(text: &str, is_repairs: bool) -> Vec<Token> {
    let mut tokens = Vec::new();
    for line in text.lines().map(str::trim) {
        // What follows is the tests of the file.
        if line == "#[cfg(test)]" {
            break;
        }
        if line.starts_with("//") {
            continue;
        }
        let is_shared = is_repairs && line.contains(SENDS);
        if CALLS.iter().any(|call| line.contains(call)) && !is_shared {
            tokens.push(Token::Call);
        }
        let Some((_, rest)) = line.split_once("point(\"") else {
            continue;
        };
        let name = rest.split('"').next().unwrap();
        if let Some(name) = name.strip_suffix(".before") {
            tokens.push(Token::Before(name.to_owned()));
        } else {
            let name = name.strip_suffix(".after").unwrap();
            tokens.push(Token::After(name.to_owned()));
        }
    }
    tokens
}

fn sources(place: &Path, found: &mut Vec<(String, String)>) {
    for entry in std::fs::read_dir(place).unwrap() {
        let path = entry.unwrap().path();
        let name = path
            .strip_prefix(root())
            .unwrap()
            .to_str()
            .unwrap()
            .replace('\\', "/");
        if path.is_dir() {
            sources(&path, found);
        } else if name.ends_with(".rs") && !name.contains("tests") && name != SHARED_BY_ALL_WRITES {
            found.push((name, std::fs::read_to_string(&path).unwrap()));
        }
    }
}

#[test]
fn every_call_lies_between_its_two_failpoints_and_the_list_names_them_all() {
    let mut found = Vec::new();
    for place in PLACES {
        sources(&root().join(place), &mut found);
    }
    let mut used = BTreeSet::new();
    for (name, text) in found.iter().filter(|(name, _)| !name.ends_with("src/hooks.rs")) {
        for triple in tokens(text, name == SHARED_BY_ALL_REPAIRS).chunks(3) {
            let [Token::Before(before), Token::Call, Token::After(after)] = triple else {
                panic!("{name}: a call is not between `x.before` and `x.after`: {triple:?}");
            };
            assert_eq!(before, after, "{name}");
            used.extend([format!("{before}.before"), format!("{after}.after")]);
        }
    }
    let listed: BTreeSet<String> = POINTS
        .iter()
        .chain(BACKEND_POINTS)
        .chain(REPAIR_POINTS)
        .map(|point| (*point).to_owned())
        .collect();
    let missing: Vec<_> = used.difference(&listed).collect();
    let unused: Vec<_> = listed.difference(&used).collect();
    assert!(
        missing.is_empty() && unused.is_empty(),
        "hooks::POINTS: {missing:?} are missing, {unused:?} are nowhere in the sources"
    );
}
