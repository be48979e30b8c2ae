//! docs/requirements.md: every requirement has its row, what is called met names tests that exist, and the number of
//! open ones only falls.

use std::collections::BTreeSet;
use std::process::Command;

use crate::repository::root;

/// Requirements in all: R001 to R221.
const ALL: usize = 221;
/// How many may be open. Whoever closes one lowers this; nobody raises it.
const MOST_OPEN: usize = 84;

struct Row {
    id: String,
    proof: String,
    status: String,
}

fn rows() -> Vec<Row> {
    let text = std::fs::read_to_string(root().join("docs/requirements.md")).unwrap();
    text.lines()
        .filter(|line| line.starts_with("| R"))
        .map(|line| {
            let cells: Vec<_> = line.trim_matches('|').split('|').map(str::trim).collect();
            assert_eq!(cells.len(), 5, "a row has five cells: {line}");
            Row {
                id: cells[0].to_owned(),
                proof: cells[3].to_owned(),
                status: cells[4].to_owned(),
            }
        })
        .collect()
}

#[test]
fn every_requirement_has_its_row_in_order() {
    let ids: Vec<_> = rows().into_iter().map(|row| row.id).collect();
    let expected: Vec<_> = (1..=ALL).map(|number| format!("R{number:03}")).collect();
    assert_eq!(ids, expected);
}

#[test]
fn the_number_of_open_requirements_only_falls() {
    let rows = rows();
    for row in &rows {
        assert!(
            ["met", "open"].contains(&row.status.as_str()),
            "{}: status {}",
            row.id,
            row.status
        );
    }
    let open = rows.iter().filter(|row| row.status == "open").count();
    assert!(open <= MOST_OPEN, "{open} are open, {MOST_OPEN} may be");
    assert!(
        open == MOST_OPEN,
        "{open} are open: lower MOST_OPEN from {MOST_OPEN}, so that it stays so"
    );
}

/// The names in backticks: those that look like test names.
pub(crate) fn named_tests(proof: &str) -> impl Iterator<Item = &str> {
    proof
        .split('`')
        .skip(1)
        .step_by(2)
        .filter(|name| name.contains('_') && !name.contains(['/', '.', ' ', ':']))
}

/// The names of all functions of the repository.
pub(crate) fn functions() -> BTreeSet<String> {
    let searched = Command::new("git")
        .args(["grep", "-hoE", "--untracked", r"fn [a-z0-9_]+[(<]"])
        .current_dir(root())
        .output()
        .unwrap();
    let found = String::from_utf8(searched.stdout).unwrap();
    found
        .lines()
        .map(|line| {
            line.trim_start_matches("fn ")
                .trim_end_matches(['(', '<'])
                .to_owned()
        })
        .collect()
}

#[test]
fn what_is_met_names_a_proof_that_exists() {
    let functions = functions();
    assert!(functions.len() > 100);
    for row in rows().iter().filter(|row| row.status == "met") {
        let tests: Vec<_> = named_tests(&row.proof).collect();
        let linked: Vec<_> = row
            .proof
            .split("](")
            .skip(1)
            .filter_map(|rest| rest.split(')').next())
            .collect();
        assert!(
            !tests.is_empty() || !linked.is_empty(),
            "{} is met but names no proof",
            row.id
        );
        for test in tests {
            assert!(
                functions.contains(test),
                "{} names a test that does not exist: {test}",
                row.id
            );
        }
        for file in linked {
            let file = file.split('#').next().unwrap();
            assert!(
                root().join("docs").join(file).exists(),
                "{} links to {file}, which does not exist",
                row.id
            );
        }
    }
}

/// The READMEs say how many are met; no more than are.
#[test]
fn the_readmes_say_how_many_are_met() {
    let met = rows().iter().filter(|row| row.status == "met").count();
    let english = std::fs::read_to_string(root().join("README.md")).unwrap();
    assert!(english.contains(&format!("{met} are met today")), "{met} are met");
    let chinese = std::fs::read_to_string(root().join("README.zh-CN.md")).unwrap();
    assert!(chinese.contains(&format!("目前满足 {met} 条")), "{met} are met");
}
