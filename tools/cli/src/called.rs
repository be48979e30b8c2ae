//! How a person calls this program, for the commands that it prints: through cargo, or by its name. Decides nothing else.

use std::sync::LazyLock;

/// What cargo sets for a program that it runs (The Cargo Book, "Environment Variables").
const CARGO: &str = "CARGO";
/// Where the changes of dead letters take their actor from.
pub(crate) const USER: &str = "USER";

/// `cargo run --` when cargo started this program, else `penstock`.
pub(crate) fn program() -> &'static str {
    static PROGRAM: LazyLock<&'static str> = LazyLock::new(|| words(is_run_by_cargo()));
    *PROGRAM
}

/// A command as the person can type it, for example `penstock trace 5`.
pub(crate) fn command(arguments: &str) -> String {
    format!("{} {arguments}", program())
}

/// The option that names who acts, where the environment does not: for changes of dead letters.
pub(crate) fn actor() -> &'static str {
    actor_words(has_user())
}

fn actor_words(has_user: bool) -> &'static str {
    if has_user { "" } else { " --actor NAME" }
}

fn words(is_run_by_cargo: bool) -> &'static str {
    if is_run_by_cargo {
        "cargo run --"
    } else {
        "penstock"
    }
}

#[expect(
    clippy::disallowed_methods,
    reason = "tells only how this program was started"
)]
fn is_run_by_cargo() -> bool {
    std::env::var(CARGO).is_ok()
}

#[expect(
    clippy::disallowed_methods,
    reason = "tells only what a printed command lacks"
)]
fn has_user() -> bool {
    std::env::var(USER).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_can_be_typed_as_it_is_printed() {
        assert_eq!([true, false].map(words), ["cargo run --", "penstock"]);
        assert_eq!(command("trace 5"), format!("{} trace 5", program()));
        assert_eq!([true, false].map(actor_words), ["", " --actor NAME"]);
    }
}
