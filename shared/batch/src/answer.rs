//! Answering for a batch: the visibility of what failed is set, then it is named.

use std::time::Duration;

use aws_lambda_events::event::sqs::SqsBatchResponse;
use penstock_ports::{Deliveries, VisibilityChange};

use crate::record::response;
use crate::run::{Hide, Report};

/// Longest wait that is asked for. SQS refuses what would end later than 12 hours after the receive, and up to the
/// queue's own visibility (120 s) and a function's run (20 s) have passed since; a longer wait is waited out in several
/// receives.
const LONGEST_HIDDEN: Duration = Duration::from_secs(12 * 3600 - 180);

/// Hides deliveries; whether the queue could be asked. A visibility that cannot be set is no loss: the delivery comes
/// back when the queue's own visibility ends.
pub(crate) async fn hide(hides: &[Hide], queue: &impl Deliveries) -> bool {
    if hides.is_empty() {
        return true;
    }
    let changes = hides.iter().map(|hide| VisibilityChange {
        receipt: hide.receipt.clone(),
        hidden_for: hide.hidden_for.min(LONGEST_HIDDEN),
    });
    match queue.hide(changes.collect()).await {
        Ok(0) => true,
        Ok(refused) => {
            tracing::warn!(
                refused,
                "deliveries whose visibility could not be set come back by themselves"
            );
            true
        }
        Err(error) => {
            tracing::warn!(error = %error, "visibility not set: deliveries come back when theirs ends");
            false
        }
    }
}

/// Hides what was not handled for as long as it asked, and makes the partial response.
pub async fn answer(report: &Report, queue: &impl Deliveries) -> SqsBatchResponse {
    hide(&report.hide, queue).await;
    response(report)
}
