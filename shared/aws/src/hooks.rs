//! Failpoints: named places before and after each AWS and HTTP call, at which a drill can end the process. Without the
//! `hooks` feature nothing here does anything.

/// Every failpoint there is: the arrows of the pipeline, each once before and once after its call. A test holds this
/// list against the sources, so that no call is without its two points and no name is left over.
pub const POINTS: &[&str] = &[
    "bot_api.call.after",
    "bot_api.call.before",
    "ledger.claim.after",
    "ledger.claim.before",
    "ledger.claim_expired.after",
    "ledger.claim_expired.before",
    "ledger.commit.after",
    "ledger.commit.before",
    "ledger.debit.after",
    "ledger.debit.before",
    "ledger.debit_busy.after",
    "ledger.debit_busy.before",
    "ledger.drop_tries.after",
    "ledger.drop_tries.before",
    "ledger.file_dead.after",
    "ledger.file_dead.before",
    "ledger.get.after",
    "ledger.get.before",
    "ledger.give_up.after",
    "ledger.give_up.before",
    "ledger.hold.after",
    "ledger.hold.before",
    "ledger.hold_behind.after",
    "ledger.hold_behind.before",
    "ledger.hold_bot.after",
    "ledger.hold_bot.before",
    "ledger.keep_for_reuse.after",
    "ledger.keep_for_reuse.before",
    "ledger.leave_attention.after",
    "ledger.leave_attention.before",
    "ledger.pace.after",
    "ledger.pace.before",
    "ledger.raw.after",
    "ledger.raw.before",
    "ledger.settle.after",
    "ledger.settle.before",
    "ledger.settle_intent.after",
    "ledger.settle_intent.before",
    "ledger.shorten_life.after",
    "ledger.shorten_life.before",
    "ledger.start_intent.after",
    "ledger.start_intent.before",
    "ledger.take_over.after",
    "ledger.take_over.before",
    "secrets.get.after",
    "secrets.get.before",
    "sqs.delete.after",
    "sqs.delete.before",
    "sqs.hide.after",
    "sqs.hide.before",
    "sqs.send.after",
    "sqs.send.before",
    "sqs.send_batch.after",
    "sqs.send_batch.before",
];

/// The failpoints of what a person does: none of them is passed by a function.
pub const REPAIR_POINTS: &[&str] = &[
    "ledger.discard.after",
    "ledger.discard.before",
    "ledger.edit.after",
    "ledger.edit.before",
    "ledger.query.after",
    "ledger.query.before",
    "ledger.redrive.after",
    "ledger.redrive.before",
    "ledger.resend.after",
    "ledger.resend.before",
    "ledger.settle_unknown.after",
    "ledger.settle_unknown.before",
];

/// The failpoints of a breaker: passed only where Updates are tried at a backend of the bot's owner.
pub const BACKEND_POINTS: &[&str] = &[
    "ledger.change_breaker.after",
    "ledger.change_breaker.before",
    "ledger.held_back.after",
    "ledger.held_back.before",
];

/// Passes the failpoint of that name, one of [`POINTS`].
///
/// With the `hooks` feature and `PENSTOCK_FAILPOINTS="name=crash@3,..."` the process kills itself (SIGKILL, so that
/// nothing is finished, flushed or said) when it passes the point for the third time. With `PENSTOCK_FAILPOINT_TOKENS`
/// naming a directory it does so at the third pass or a later one, and only if it can take a token of that name there:
/// a file `name.0` to `name.7`, removed by whoever takes it. So a drill limits the crashes of all processes together,
/// those that are started in place of a killed one included, and sees how many there were.
#[inline]
#[cfg_attr(
    not(feature = "hooks"),
    expect(unused_variables, reason = "there is nothing to pass without hooks")
)]
pub fn point(name: &'static str) {
    #[cfg(feature = "hooks")]
    armed::point(name);
}

#[cfg(feature = "hooks")]
pub use armed::{MOST_TOKENS, token};

#[cfg(feature = "hooks")]
mod armed {
    use std::collections::HashMap;
    use std::path::{Path, PathBuf};
    use std::sync::OnceLock;
    use std::sync::atomic::{AtomicU64, Ordering};

    /// Most tokens of one failpoint.
    pub const MOST_TOKENS: u32 = 8;

    static ARMED: OnceLock<Armed> = OnceLock::new();

    pub(super) struct Armed {
        pub(super) points: HashMap<String, Point>,
        pub(super) tokens: Option<PathBuf>,
    }

    pub(super) struct Point {
        pub(super) nth: u64,
        passed: AtomicU64,
    }

    /// The file that is token `index` of the failpoint `name`.
    #[must_use]
    pub fn token(tokens: &Path, name: &str, index: u32) -> PathBuf {
        tokens.join(format!("{name}.{index}"))
    }

    #[expect(
        clippy::disallowed_methods,
        reason = "a drill's own switch, read once; not part of any configuration"
    )]
    fn armed() -> &'static Armed {
        ARMED.get_or_init(|| Armed {
            points: parse(&std::env::var("PENSTOCK_FAILPOINTS").unwrap_or_default()),
            tokens: std::env::var_os("PENSTOCK_FAILPOINT_TOKENS").map(PathBuf::from),
        })
    }

    pub(super) fn parse(text: &str) -> HashMap<String, Point> {
        let point = |nth: &str| {
            Some(Point {
                nth: nth.parse().ok()?,
                passed: AtomicU64::new(0),
            })
        };
        text.split(',')
            .filter_map(|entry| entry.trim().split_once("=crash@"))
            .filter_map(|(name, nth)| Some((name.to_owned(), point(nth)?)))
            .collect()
    }

    impl Armed {
        /// Whether the process ends at this pass.
        pub(super) fn is_due(&self, name: &str) -> bool {
            let Some(point) = self.points.get(name) else {
                return false;
            };
            let passed = point.passed.fetch_add(1, Ordering::Relaxed) + 1;
            match &self.tokens {
                None => passed == point.nth,
                Some(tokens) => passed >= point.nth && take(tokens, name),
            }
        }
    }

    /// Only one process can remove a file, so each token is taken once.
    fn take(tokens: &Path, name: &str) -> bool {
        (0..MOST_TOKENS).any(|index| std::fs::remove_file(token(tokens, name, index)).is_ok())
    }

    pub(super) fn point(name: &str) {
        if armed().is_due(name) {
            die();
        }
    }

    /// The most abrupt end there is.
    fn die() -> ! {
        #[cfg(unix)]
        if let Err(error) =
            rustix::process::kill_process(rustix::process::getpid(), rustix::process::Signal::KILL)
        {
            tracing::error!(%error, "a failpoint could not kill its process");
        }
        std::process::abort()
    }

    #[cfg(test)]
    mod tests {
        use super::*;

        fn armed(points: &str, tokens: Option<PathBuf>) -> Armed {
            Armed {
                points: parse(points),
                tokens,
            }
        }

        #[test]
        fn failpoints_name_a_place_and_a_count() {
            let points = parse("ledger.commit.after=crash@3, sqs.send.before=crash@1,nonsense");
            assert_eq!(points.len(), 2);
            assert_eq!(points["ledger.commit.after"].nth, 3);
        }

        #[test]
        fn without_tokens_a_process_ends_at_exactly_its_nth_pass() {
            let armed = armed("sqs.send.before=crash@2", None);
            let due: Vec<_> = (0..4).map(|_| armed.is_due("sqs.send.before")).collect();
            assert_eq!(due, [false, true, false, false]);
            assert!(!armed.is_due("sqs.send.after"));
        }

        #[test]
        fn with_tokens_all_processes_together_end_as_often_as_there_are_tokens() {
            let tokens = std::env::temp_dir().join(format!("penstock-tokens-{}", std::process::id()));
            std::fs::create_dir_all(&tokens).unwrap();
            for index in [0, 5] {
                std::fs::write(token(&tokens, "sqs.send.before", index), "").unwrap();
            }
            let process = || armed("sqs.send.before=crash@2", Some(tokens.clone()));
            let due = |armed: &Armed, passes: usize| {
                (0..passes).filter(|_| armed.is_due("sqs.send.before")).count()
            };
            assert_eq!(due(&process(), 1), 0, "the first pass of each is free");
            assert_eq!(due(&process(), 2), 1);
            assert_eq!(due(&process(), 9), 1);
            assert_eq!(due(&process(), 9), 0, "no token is left");
            std::fs::remove_dir_all(&tokens).unwrap();
        }
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_points_are_sorted_and_come_in_pairs() {
        assert!(super::POINTS.is_sorted());
        for pair in super::POINTS.chunks(2) {
            let name = pair[0].strip_suffix(".after").unwrap();
            assert_eq!(pair[1], format!("{name}.before"));
        }
    }
}
