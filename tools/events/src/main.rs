//! `penstock-events`: writes the event files that are made of `events/raw/`, or says which are out of date.

mod write;

use std::path::Path;
use std::process::ExitCode;

use write::{generate, list};

const USAGE: &str = "usage: penstock-events generate [--check] [--dir EVENTS] | list
  generate   write events/{http,sqs,dead}/*.json and the big raw files
  --check    write nothing; exit 1 if a committed file is out of date
  --dir      the folder to write to (default: events)
  list       print name, kind and expectation of each sample";

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = args.iter().map(String::as_str).collect();
    let done = match words[..] {
        ["generate"] => generate(Path::new("events"), false),
        ["generate", "--check"] => generate(Path::new("events"), true),
        ["generate", "--dir", dir] => generate(Path::new(dir), false),
        ["generate", "--check", "--dir", dir] | ["generate", "--dir", dir, "--check"] => {
            generate(Path::new(dir), true)
        }
        ["list"] => list(),
        _ => Err(USAGE.into()),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}
