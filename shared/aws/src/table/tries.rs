//! The history of failed tries in a record: appended to, and cut to the latest.

use aws_sdk_dynamodb::types::{AttributeValue, ReturnValue};
use penstock_domain::failure::Failure;
use penstock_domain::ids::LedgerKey;
use penstock_domain::ledger::MAX_TRIES_KEPT;
use penstock_ports::PortError;

use super::expression::Write;
use super::record::write_failure;
use super::{Item, Ledger, item, update_pk};
use crate::hooks::point;

/// Appends the failure of [`Write::with_try`].
pub(crate) const TRY: &str = "#tries = list_append(if_not_exists(#tries, :none), :try)";

/// Begins the history anew with it.
pub(crate) const FIRST_TRY: &str = "#tries = list_append(:none, :try)";

impl Write {
    /// The values of [`TRY`].
    pub(crate) fn with_try(self, failure: &Failure) -> Self {
        self.value("none", AttributeValue::L(Vec::new()))
            .value("try", AttributeValue::L(vec![write_failure(failure)]))
    }
}

impl Ledger {
    /// Cuts the history to the latest tries, once it is longer than what is kept.
    pub(crate) async fn drop_old_tries(&self, key: &LedgerKey, updated: &Item) -> Result<(), PortError> {
        let stored = item::list(updated, "tries").len();
        if stored <= MAX_TRIES_KEPT {
            return Ok(());
        }
        let oldest: Vec<_> = (0..stored - MAX_TRIES_KEPT)
            .map(|index| format!("#tries[{index}]"))
            .collect();
        let write = Write::to(update_pk(key), "LEDGER")
            .number("stored", stored)
            .update(&format!("REMOVE {}", oldest.join(", ")))
            .condition("size(#tries) = :stored");
        point("ledger.drop_tries.before");
        // Refused: another try was added in between, and its own write cuts.
        self.write("ledger.drop_tries", write, ReturnValue::None).await?;
        point("ledger.drop_tries.after");
        Ok(())
    }
}
