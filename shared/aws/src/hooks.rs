//! Failpoints: named places before and after each AWS and HTTP call, at which a drill can end the process. Without the
//! `hooks` feature there is nothing here.

/// Passes the failpoint of that name. With the `hooks` feature and `PENSTOCK_FAILPOINTS="name=crash@3,..."` the process
/// ends abruptly when it passes the point for the third time.
#[cfg(not(feature = "hooks"))]
#[inline(always)]
pub fn point(_name: &'static str) {}

/// Passes the failpoint of that name. With the `hooks` feature and `PENSTOCK_FAILPOINTS="name=crash@3,..."` the process
/// ends abruptly when it passes the point for the third time.
#[cfg(feature = "hooks")]
pub fn point(name: &'static str) {
    armed::point(name);
}

#[cfg(feature = "hooks")]
mod armed {
    use std::collections::HashMap;
    use std::sync::OnceLock;
    use std::sync::atomic::{AtomicU64, Ordering};

    /// Exit status of a process that a failpoint ended.
    const CRASHED: i32 = 70;

    static POINTS: OnceLock<HashMap<String, (u64, AtomicU64)>> = OnceLock::new();

    #[expect(
        clippy::disallowed_methods,
        reason = "a drill's own switch, read once; not part of any configuration"
    )]
    fn armed() -> &'static HashMap<String, (u64, AtomicU64)> {
        POINTS.get_or_init(|| parse(&std::env::var("PENSTOCK_FAILPOINTS").unwrap_or_default()))
    }

    pub(super) fn parse(text: &str) -> HashMap<String, (u64, AtomicU64)> {
        text.split(',')
            .filter_map(|entry| entry.trim().split_once("=crash@"))
            .filter_map(|(name, nth)| Some((name.to_owned(), (nth.parse().ok()?, AtomicU64::new(0)))))
            .collect()
    }

    pub(super) fn point(name: &str) {
        if let Some((nth, passed)) = armed().get(name)
            && passed.fetch_add(1, Ordering::Relaxed) + 1 == *nth
        {
            std::process::exit(CRASHED);
        }
    }

    #[cfg(test)]
    mod tests {
        #[test]
        fn failpoints_name_a_place_and_a_count() {
            let points = super::parse("ledger.commit.after=crash@3, sqs.send.before=crash@1,nonsense");
            assert_eq!(points.len(), 2);
            assert_eq!(points["ledger.commit.after"].0, 3);
        }
    }
}
