//! What is kept of a panic. Alone in its program, since the hook is the whole program's.

use std::io::{Result, Write};
use std::sync::{Mutex, PoisonError};

static LINES: Mutex<Vec<u8>> = Mutex::new(Vec::new());

struct Lines;

impl Write for Lines {
    fn write(&mut self, bytes: &[u8]) -> Result<usize> {
        LINES.lock().unwrap_or_else(PoisonError::into_inner).write(bytes)
    }
    fn flush(&mut self) -> Result<()> {
        Ok(())
    }
}

#[test]
fn a_panic_is_logged_with_its_place_and_without_its_message() {
    let subscriber = tracing_subscriber::fmt().json().with_writer(|| Lines).finish();
    tracing::subscriber::set_global_default(subscriber).unwrap();
    penstock_aws::log_panics_without_their_messages();
    let panicked = std::panic::catch_unwind(|| panic!("a private text"));
    let place = penstock_aws::last_panic_place().unwrap_or_default();
    // From here on the test itself may panic as usual.
    drop(std::panic::take_hook());
    assert!(panicked.is_err());
    assert!(place.contains("tests/panics.rs:"), "{place}");
    assert_eq!(penstock_aws::last_panic_place(), None);
    let logged = String::from_utf8(LINES.lock().unwrap().clone()).unwrap();
    assert!(
        logged.contains("panics.rs") && logged.contains("panicked"),
        "{logged}"
    );
    assert!(!logged.contains("a private text"), "{logged}");
}
