//! `penstock dead edit`: replaces a letter's body with one from a file, from standard input, or out of an editor, and
//! shows what changes before it writes.

use std::io::{IsTerminal as _, Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, anyhow};
use clap::Args;
use penstock_repair::{Change, changes, edit, editable};
use serde::Serialize;
use serde_json::Value;

use super::{failed, redrive_command};
use crate::failure::{Ended, Failure};
use crate::operator::account::Account;
use crate::operator::place::PlaceArgs;
use crate::print;
use crate::trace::Subject;

/// Which one, and where its new body is.
#[derive(Debug, Args)]
pub(crate) struct EditArgs {
    /// The update's id, or a whole key as `dead list` shows it
    update: Subject,
    /// The new body; `-` for standard input. Otherwise standard input where it is no terminal, else an editor
    #[arg(long, value_name = "FILE")]
    file: Option<PathBuf>,
    /// The editor
    #[arg(long, value_name = "PROGRAM", env = "EDITOR", hide_env_values = true)]
    editor: Option<String>,
    #[command(flatten)]
    account: Account,
    #[command(flatten)]
    place: PlaceArgs,
    /// Answer in JSON
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Serialize)]
struct Told {
    key: String,
    changes: Vec<Place>,
    written: bool,
}

#[derive(Debug, Serialize)]
struct Place {
    place: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    before: Option<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    after: Option<Value>,
}

impl From<Change> for Place {
    fn from(change: Change) -> Self {
        Self {
            place: change.place,
            before: change.before,
            after: change.after,
        }
    }
}

pub(super) async fn run(args: &EditArgs) -> Result<Ended, Failure> {
    let place = args.place.find().await?;
    let key = place.key(&args.update)?;
    let act = args.account.act(place.now())?;
    let letter = editable(&place.ledger, &key, act.at()).await.map_err(failed)?;
    let new = new_body(args, letter.raw()).map_err(Failure::Usage)?;
    // With its causes: they name the byte at which a text stops being JSON.
    letter
        .check(&new)
        .map_err(|error| Failure::Usage(anyhow!("{:#}", anyhow::Error::from(error))))?;
    let told = Told {
        key: key.as_str().to_owned(),
        changes: changes(letter.raw(), &new).into_iter().map(Place::from).collect(),
        written: !args.account.dry_run,
    };
    if !args.json {
        told.changes.iter().for_each(|change| print::note(&change.told()));
    }
    if told.written {
        edit(&place.ledger, &letter, &new, &act).await.map_err(failed)?;
    }
    if args.json {
        print::json(&told);
        return Ok(Ended::Well);
    }
    let verb = if told.written { "edited" } else { "would be edited" };
    print::data(&format!("{key}  {verb}, {} changes", told.changes.len()));
    if told.written {
        print::note(&format!("next: {}", redrive_command(&key, &args.place)));
    }
    Ok(Ended::Well)
}

impl Place {
    fn told(&self) -> String {
        let value = |value: &Option<Value>| {
            value
                .as_ref()
                .map_or_else(|| "(nothing)".to_owned(), Value::to_string)
        };
        format!(
            "{}: {} -> {}",
            self.place,
            value(&self.before),
            value(&self.after)
        )
    }
}

/// What a file holds; the reason is in the message, since only that is shown.
fn from_file(path: &Path) -> Result<String, anyhow::Error> {
    std::fs::read_to_string(path).map_err(|error| anyhow!("{} cannot be read: {error}", path.display()))
}

fn new_body(args: &EditArgs, old: &str) -> Result<String, anyhow::Error> {
    let new = brought(args, old)?;
    // Editors end a file with a newline, which is no change: without this the same body again would be a second edit.
    let new = new.trim();
    if new.is_empty() {
        return Err(anyhow!(
            "the new body is empty; begin with what `dead show KEY --raw` prints, and give it with --file"
        ));
    }
    Ok(new.to_owned())
}

fn brought(args: &EditArgs, old: &str) -> Result<String, anyhow::Error> {
    let from_input = || {
        let mut text = String::new();
        std::io::stdin()
            .lock()
            .read_to_string(&mut text)
            .context("standard input cannot be read as text")?;
        Ok(text)
    };
    match &args.file {
        Some(path) if path.as_os_str() == "-" => from_input(),
        Some(path) => from_file(path),
        None if !std::io::stdin().is_terminal() => from_input(),
        None => edited(args.editor.as_deref(), old),
    }
}

/// The body as the editor leaves it. It is in a file of its own, for its owner only, as long as the editor runs.
fn edited(editor: Option<&str>, old: &str) -> Result<String, anyhow::Error> {
    let mut words = editor.unwrap_or_default().split_whitespace();
    let Some(program) = words.next() else {
        return Err(anyhow!("no editor: set EDITOR, or give the new body with --file"));
    };
    let mut file = tempfile::Builder::new()
        .prefix("penstock-")
        .suffix(".json")
        .tempfile()
        .context("no file for the editor")?;
    file.write_all(old.as_bytes()).context("no file for the editor")?;
    let ended = Command::new(program).args(words).arg(file.path()).status();
    let status = ended.with_context(|| format!("{program} cannot be started"))?;
    if !status.success() {
        return Err(anyhow!("{program} ended with {status}: nothing is changed"));
    }
    std::fs::read_to_string(file.path()).context("what the editor left cannot be read")
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_cannot_be_read_is_named_with_the_reason() {
        let error = from_file(Path::new("/nowhere/mended.json"))
            .unwrap_err()
            .to_string();
        assert!(
            error.starts_with("/nowhere/mended.json cannot be read: No such file"),
            "{error}"
        );
    }

    #[test]
    fn what_the_editor_leaves_is_the_new_body_and_an_editor_that_fails_changes_nothing() {
        let base = tempfile::tempdir().unwrap();
        let mended = base.path().join("mended.json");
        std::fs::write(&mended, r#"{"update_id":1}"#).unwrap();
        // `cp MENDED FILE` leaves the mended body in the file.
        let editor = format!("cp {}", mended.display());
        assert_eq!(edited(Some(&editor), "{}").unwrap(), r#"{"update_id":1}"#);
        assert_eq!(edited(Some("true"), "{}").unwrap(), "{}");
        for broken in [Some("false"), Some("no-such-editor-anywhere"), Some(" "), None] {
            assert!(edited(broken, "{}").is_err(), "{broken:?}");
        }
    }
}
