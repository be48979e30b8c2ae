//! The log lines of the test that runs. One subscriber serves the whole test program: one that a single test sets for
//! itself misses lines, since where a line comes from is registered once for all threads.

use std::cell::RefCell;
use std::io::{Result, Write};
use std::sync::Once;

use tracing::level_filters::LevelFilter;

thread_local! {
    static HEARD: RefCell<Option<Vec<u8>>> = const { RefCell::new(None) };
}

struct ThisThread;

impl Write for ThisThread {
    fn write(&mut self, bytes: &[u8]) -> Result<usize> {
        HEARD.with_borrow_mut(|heard| heard.iter_mut().for_each(|heard| heard.extend_from_slice(bytes)));
        Ok(bytes.len())
    }
    fn flush(&mut self) -> Result<()> {
        Ok(())
    }
}

/// Begins to collect every line of this thread, at every level.
///
/// # Panics
/// If the test program has set a subscriber of its own.
pub fn listen() {
    static SUBSCRIBED: Once = Once::new();
    SUBSCRIBED.call_once(|| {
        let format = tracing_subscriber::fmt()
            .json()
            .with_max_level(LevelFilter::TRACE);
        tracing::subscriber::set_global_default(format.with_writer(|| ThisThread).finish())
            .expect("no other subscriber is set in a test program");
    });
    HEARD.set(Some(Vec::new()));
}

/// Ends it, and gives back what was collected.
#[must_use]
pub fn heard() -> String {
    String::from_utf8_lossy(&HEARD.take().unwrap_or_default()).into_owned()
}
