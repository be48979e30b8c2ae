//! How raw bodies are cut into rows. Never compresses: that is the adapter's part.

/// Bodies over this many bytes are compressed (design section 2).
pub const COMPRESS_OVER: usize = 8 * 1024;
/// What is over this many bytes even then goes into rows of its own.
pub const ROWS_OVER: usize = 256 * 1024;
/// Most bytes in one such row: DynamoDB refuses items over 400 KB, names included.
pub const ROW_BYTES: usize = 350_000;

/// Where a body of that many (compressed) bytes is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Placement {
    /// In the ledger record itself.
    Inline,
    /// In this many `RAW#` rows, written before the transition that needs them.
    Rows(usize),
}

/// Decides it.
#[must_use]
pub fn placement(stored_bytes: usize) -> Placement {
    if stored_bytes <= ROWS_OVER {
        Placement::Inline
    } else {
        Placement::Rows(stored_bytes.div_ceil(ROW_BYTES))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_body_goes_into_rows_only_when_it_would_not_fit() {
        assert_eq!(placement(ROWS_OVER), Placement::Inline);
        assert_eq!(placement(ROWS_OVER + 1), Placement::Rows(1));
        assert_eq!(placement(700_001), Placement::Rows(3));
    }
}
