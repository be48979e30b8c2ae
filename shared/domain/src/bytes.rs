//! How raw bodies are cut into rows. Never compresses: that is the adapter's part.

/// Bodies over this many bytes are compressed (design section 2).
pub const COMPRESS_OVER: usize = 8 * 1024;
/// What is over this many bytes even then goes into rows of its own.
pub const ROWS_OVER: usize = 256 * 1024;
/// Most bytes in one such row: DynamoDB refuses items over 400 KB, names included.
pub const ROW_BYTES: usize = 350_000;

/// The parameters of an intent that are over this many bytes even then go into a row of their own.
pub const INTENT_ROW_OVER: usize = 64 * 1024;
/// Most bytes of parameters that the record itself holds, so that it stays under DynamoDB's 400 KB.
pub const INTENTS_INLINE: usize = 192 * 1024;

/// Which intents' parameters go into rows of their own, by their stored sizes in order.
#[must_use]
pub fn goes_into_a_row(sizes: &[usize]) -> Vec<bool> {
    let mut inline = 0;
    sizes
        .iter()
        .map(|size| {
            let in_row = *size > INTENT_ROW_OVER || inline + size > INTENTS_INLINE;
            inline += if in_row { 0 } else { *size };
            in_row
        })
        .collect()
}

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
    fn intents_go_into_rows_when_one_is_big_or_all_together_are() {
        let kib = 1024;
        assert_eq!(goes_into_a_row(&[kib, 65 * kib, kib]), [false, true, false]);
        let many = [60 * kib; 5];
        assert_eq!(goes_into_a_row(&many), [false, false, false, true, true]);
    }

    #[test]
    fn a_body_goes_into_rows_only_when_it_would_not_fit() {
        assert_eq!(placement(ROWS_OVER), Placement::Inline);
        assert_eq!(placement(ROWS_OVER + 1), Placement::Rows(1));
        assert_eq!(placement(700_001), Placement::Rows(3));
    }
}
