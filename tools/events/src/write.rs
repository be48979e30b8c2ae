//! Writing the event files that are made of `events/raw/`, and telling which are out of date.

use std::io::Write as _;
use std::path::{Path, PathBuf};

use penstock_events::{EventFile, files, samples};

pub(crate) type Failure = Box<dyn std::error::Error>;

pub(crate) fn generate(dir: &Path, check: bool) -> Result<(), Failure> {
    if !dir.join("raw").is_dir() {
        return Err(format!(
            "no folder {}: run it in the repository, or name the folder by --dir",
            dir.join("raw").display()
        )
        .into());
    }
    let mut stale = Vec::new();
    let files = files()?;
    for EventFile {
        path,
        content,
        is_committed,
    } in &files
    {
        let target = dir.join(path);
        let is_current = std::fs::read(&target).is_ok_and(|there| there == *content);
        match (is_current, check) {
            (true, _) => {}
            (false, true) if *is_committed => stale.push(target),
            (false, true) => {}
            (false, false) => write(&target, content)?,
        }
    }
    if stale.is_empty() {
        writeln!(
            std::io::stdout(),
            "{} event files of {} samples are current",
            files.len(),
            samples().len()
        )?;
        return Ok(());
    }
    let names: Vec<String> = stale.iter().map(|path| path.display().to_string()).collect();
    Err(format!(
        "out of date, run `penstock-events generate`: {}",
        names.join(", ")
    )
    .into())
}

fn write(target: &PathBuf, content: &[u8]) -> Result<(), Failure> {
    if let Some(folder) = target.parent() {
        std::fs::create_dir_all(folder)?;
    }
    std::fs::write(target, content)
        .map_err(|error| format!("cannot write {}: {error}", target.display()).into())
}

pub(crate) fn list() -> Result<(), Failure> {
    let mut out = std::io::stdout().lock();
    for sample in samples() {
        let expect = sample.expect;
        writeln!(
            out,
            "{:<28}{:<28}{} {:<12}sends {}..={}",
            sample.name,
            sample.kind,
            expect.http_status,
            expect.outcome.name(),
            expect.sends.min,
            expect.sends.max
        )?;
    }
    Ok(())
}
