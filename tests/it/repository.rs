//! Rules of the repository: which crate may use which, how long a file may be, what must not be in one.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;

/// The workspace's root.
pub(crate) fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .parent()
        .unwrap()
        .to_path_buf()
}

/// Every tracked or new file of the repository that is not ignored.
fn files() -> Vec<PathBuf> {
    let listed = Command::new("git")
        .args(["ls-files", "--cached", "--others", "--exclude-standard"])
        .current_dir(root())
        .output()
        .unwrap();
    assert!(listed.status.success(), "git ls-files failed");
    let names = String::from_utf8(listed.stdout).unwrap();
    let files: Vec<_> = names
        .lines()
        .map(|name| root().join(name))
        .filter(|path| path.is_file())
        .collect();
    assert!(files.len() > 100, "only {} files were found", files.len());
    files
}

fn rust_files() -> impl Iterator<Item = (PathBuf, String)> {
    files()
        .into_iter()
        .filter(|path| path.extension().is_some_and(|extension| extension == "rs"))
        .map(|path| (path.clone(), std::fs::read_to_string(path).unwrap()))
}

/// Our crates and the crates of ours that each uses in production.
fn dependencies() -> BTreeMap<String, BTreeSet<String>> {
    let output = Command::new(env!("CARGO"))
        .args(["metadata", "--format-version", "1", "--no-deps", "--offline"])
        .current_dir(root())
        .output()
        .unwrap();
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    let metadata: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let packages = metadata["packages"].as_array().unwrap();
    let name = |package: &serde_json::Value| package["name"].as_str().unwrap().to_owned();
    let ours: BTreeSet<_> = packages.iter().map(name).collect();
    packages
        .iter()
        .map(|package| {
            let uses = package["dependencies"]
                .as_array()
                .unwrap()
                .iter()
                .filter(|used| used["kind"].is_null());
            (
                name(package),
                uses.map(name).filter(|used| ours.contains(used)).collect(),
            )
        })
        .collect()
}

/// What each crate of the pipeline may use of ours. Tools may use anything but each other's secrets: see below.
const MAY_USE: &[(&str, &[&str])] = &[
    ("penstock-domain", &[]),
    ("penstock-formats", &["penstock-domain"]),
    ("penstock-ports", &["penstock-domain"]),
    ("penstock-bot", &["penstock-domain"]),
    ("penstock-batch", &["penstock-ports"]),
    ("penstock-outage", &["penstock-domain", "penstock-ports"]),
    (
        "penstock-aws",
        &["penstock-domain", "penstock-formats", "penstock-ports"],
    ),
    ("penstock-telegram", &["penstock-domain", "penstock-ports"]),
    ("penstock-backend", &["penstock-domain", "penstock-ports"]),
    (
        "penstock-repair",
        &["penstock-domain", "penstock-formats", "penstock-ports"],
    ),
    (
        "penstock-testkit",
        &["penstock-domain", "penstock-formats", "penstock-ports"],
    ),
    (
        "ingress",
        &[
            "penstock-aws",
            "penstock-domain",
            "penstock-formats",
            "penstock-ports",
        ],
    ),
    (
        "processor",
        &[
            "penstock-aws",
            "penstock-backend",
            "penstock-batch",
            "penstock-bot",
            "penstock-domain",
            "penstock-formats",
            "penstock-outage",
            "penstock-ports",
        ],
    ),
    (
        "sender",
        &[
            "penstock-aws",
            "penstock-batch",
            "penstock-domain",
            "penstock-formats",
            "penstock-ports",
            "penstock-telegram",
        ],
    ),
    (
        "dead_letter",
        &[
            "penstock-aws",
            "penstock-batch",
            "penstock-domain",
            "penstock-formats",
            "penstock-ports",
        ],
    ),
    ("fifo-queue", &[]),
    ("telegram-sim", &[]),
];

#[test]
fn crates_depend_only_in_the_direction_of_the_architecture() {
    let dependencies = dependencies();
    for (name, allowed) in MAY_USE {
        let uses = dependencies
            .get(*name)
            .unwrap_or_else(|| panic!("there is no crate {name}"));
        let wrong: Vec<_> = uses
            .iter()
            .filter(|used| !allowed.contains(&used.as_str()))
            .collect();
        assert!(wrong.is_empty(), "{name} must not use {wrong:?}");
    }
}

#[test]
fn the_testkit_and_the_hooks_are_in_nothing_that_is_deployed() {
    for function in ["ingress", "processor", "sender", "dead_letter"] {
        let manifest =
            std::fs::read_to_string(root().join("functions").join(function).join("Cargo.toml")).unwrap();
        let production = manifest.split("[dev-dependencies]").next().unwrap();
        assert!(
            !production.contains("testkit") && !production.contains("hooks"),
            "{function}: {production}"
        );
    }
}

#[test]
fn no_file_is_longer_than_six_hundred_lines_and_each_says_what_it_is() {
    for (path, text) in rust_files() {
        let lines = text.lines().count();
        assert!(lines <= 600, "{} has {lines} lines", path.display());
        assert!(
            text.starts_with("//!") || text.starts_with("#!["),
            "{} has no `//!` head",
            path.display()
        );
    }
}

#[test]
fn mains_stay_thin() {
    for (path, text) in rust_files().filter(|(path, _)| path.ends_with("src/main.rs")) {
        let lines = text.lines().count();
        assert!(lines <= 45, "{} has {lines} lines", path.display());
    }
}

#[test]
fn no_test_is_ignored_and_nothing_is_left_to_do() {
    // In pieces, so that this file does not find itself.
    let smells = [
        ["#[ign", "ore"],
        ["#[should_", "panic"],
        ["todo", "!("],
        ["unimpl", "emented!("],
        ["assert!(tr", "ue)"],
    ];
    for (path, text) in rust_files() {
        for smell in smells.map(|pieces| pieces.concat()) {
            assert!(!text.contains(&smell), "{} contains {smell}", path.display());
        }
    }
}

#[test]
fn the_domain_reads_no_clock_no_chance_and_no_environment() {
    let domain = root().join("shared/domain");
    for (path, text) in rust_files().filter(|(path, _)| path.starts_with(&domain)) {
        for smell in [
            "SystemTime",
            "Instant::now",
            "fastrand",
            "rand::",
            "env::var",
            "async fn",
            "tokio::",
        ] {
            assert!(!text.contains(smell), "{} contains {smell}", path.display());
        }
    }
}
