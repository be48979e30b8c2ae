//! What is logged of a panic: where it was. Never its message, which may hold somebody's text.

/// From now on a panic in this process is logged with its place only.
pub fn log_panics_without_their_messages() {
    std::panic::set_hook(Box::new(|panic| {
        let place = panic.location();
        let file = place.map_or("", |place| place.file());
        let line = place.map_or(0, |place| place.line());
        tracing::error!(file, line, "panicked");
    }));
}
