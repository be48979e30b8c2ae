//! Answering for a batch: the visibility of what failed is set, then it is named.

use aws_lambda_events::event::sqs::SqsBatchResponse;
use penstock_ports::{Deliveries, VisibilityChange};

use crate::record::response;
use crate::run::Report;

/// Hides what was not handled for as long as it asked, and makes the partial response. A visibility that cannot be set
/// is no loss: the delivery comes back when the queue's own visibility ends.
pub async fn answer(report: &Report, queue: &impl Deliveries) -> SqsBatchResponse {
    let hide = |hide: &crate::run::Hide| VisibilityChange { receipt: hide.receipt.clone(), hidden_for: hide.hidden_for };
    let changes: Vec<_> = report.hide.iter().map(hide).collect();
    if !changes.is_empty() {
        match queue.hide(changes).await {
            Ok(0) => {}
            Ok(refused) => tracing::warn!(refused, "deliveries whose visibility could not be set come back by themselves"),
            Err(error) => tracing::warn!(error = %error, "visibility not set: deliveries come back when theirs ends"),
        }
    }
    response(report)
}
