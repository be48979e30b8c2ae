//! Rules for a batch as a whole. Breaking one refuses the batch; nothing of it is done.

use std::collections::HashSet;

use super::names;
use crate::error::{Code, Refusal};

/// Entries in a batch (SQS API).
pub(crate) const MAX_ENTRIES: usize = 10;
/// Bytes of all messages of a batch: 1 MiB (SQS quotas, messages).
pub(crate) const MAX_BYTES: usize = 1_048_576;

/// One to ten entries.
pub(crate) fn check_count(entries: usize) -> Result<(), Refusal> {
    match entries {
        0 => Err(Refusal::new(Code::EmptyBatchRequest, "the batch has no entries")),
        1..=MAX_ENTRIES => Ok(()),
        n => {
            let message = format!("the batch has {n} entries, at most {MAX_ENTRIES} are allowed");
            Err(Refusal::new(Code::TooManyEntriesInBatchRequest, message))
        }
    }
}

/// One to ten entries, with well-formed and distinct ids.
pub(crate) fn check_ids<'a>(ids: impl ExactSizeIterator<Item = &'a str>) -> Result<(), Refusal> {
    check_count(ids.len())?;
    let mut seen = HashSet::new();
    for id in ids {
        names::check_entry_id(id)?;
        if !seen.insert(id) {
            return Err(Refusal::new(
                Code::BatchEntryIdsNotDistinct,
                format!("batch entry id `{id}` is repeated"),
            ));
        }
    }
    Ok(())
}

/// All messages together stay within one mebibyte.
pub(crate) fn check_size(bytes: usize) -> Result<(), Refusal> {
    if bytes <= MAX_BYTES {
        return Ok(());
    }
    let message = format!("the batch has {bytes} bytes, at most {MAX_BYTES} are allowed");
    Err(Refusal::new(Code::BatchRequestTooLong, message))
}
