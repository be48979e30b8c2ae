//! What is kept of a panic: where it was. Never its message, which may hold somebody's text.

use std::cell::RefCell;

thread_local! {
    static LAST_PLACE: RefCell<Option<String>> = const { RefCell::new(None) };
}

/// From now on a panic in this process is logged with its place only, and [`last_panic_place`] knows the place.
pub fn log_panics_without_their_messages() {
    std::panic::set_hook(Box::new(|panic| {
        let place = panic.location();
        let file = place.map_or("", |place| place.file());
        let line = place.map_or(0, |place| place.line());
        LAST_PLACE.set(place.map(|place| format!("{}:{}", place.file(), place.line())));
        tracing::error!(file, line, "panicked");
    }));
}

/// Where this thread panicked last, as `file:line`, once: asked again, it is `None` until the next panic. `None` also
/// before [`log_panics_without_their_messages`]. To be asked right after a panic was caught, on the same thread.
#[must_use]
pub fn last_panic_place() -> Option<String> {
    LAST_PLACE.take()
}
