//! Which answers come too late to matter. Never touches a queue.

use std::time::Duration;

use crate::kind::UpdateKind;
use crate::time::Timestamp;

/// How long an Update of this kind is worth handling, if it is not always. A pressed button meant something, so
/// callbacks are handled late; an inline query's typist has gone on, and a checkout was answered by a timeout.
#[must_use]
pub fn handling_life(kind: UpdateKind) -> Option<Duration> {
    match kind {
        UpdateKind::InlineQuery | UpdateKind::PreCheckoutQuery | UpdateKind::ShippingQuery => {
            Some(kind.telegram_life())
        }
        UpdateKind::Message
        | UpdateKind::EditedMessage
        | UpdateKind::ChannelPost
        | UpdateKind::EditedChannelPost
        | UpdateKind::BusinessConnection
        | UpdateKind::BusinessMessage
        | UpdateKind::EditedBusinessMessage
        | UpdateKind::DeletedBusinessMessages
        | UpdateKind::GuestMessage
        | UpdateKind::MessageReaction
        | UpdateKind::MessageReactionCount
        | UpdateKind::ChosenInlineResult
        | UpdateKind::CallbackQuery
        | UpdateKind::PurchasedPaidMedia
        | UpdateKind::Poll
        | UpdateKind::PollAnswer
        | UpdateKind::MyChatMember
        | UpdateKind::ChatMember
        | UpdateKind::ChatJoinRequest
        | UpdateKind::ChatBoost
        | UpdateKind::RemovedChatBoost
        | UpdateKind::ManagedBot
        | UpdateKind::Subscription
        | UpdateKind::StoppedMessageGeneration
        | UpdateKind::Unknown => None,
    }
}

/// Whether an Update of this kind, received then, is no longer worth handling.
#[must_use]
pub fn is_expired_at(kind: UpdateKind, received_at: Timestamp, now: Timestamp) -> bool {
    handling_life(kind).is_some_and(|life| now > received_at + life)
}

/// How long the answer of a query is taken by Telegram, by method (Bot API server: 30 s for inline, 150 s else).
#[must_use]
pub fn answer_life(method: &str) -> Option<Duration> {
    match method {
        "answerInlineQuery" => Some(Duration::from_secs(30)),
        "answerCallbackQuery" | "answerPreCheckoutQuery" | "answerShippingQuery" => {
            Some(Duration::from_secs(150))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_late_callback_is_still_handled_and_a_late_inline_query_is_not() {
        let (then, now) = (Timestamp::from_millis(0), Timestamp::from_millis(200_000));
        assert!(is_expired_at(UpdateKind::InlineQuery, then, now));
        assert!(is_expired_at(UpdateKind::PreCheckoutQuery, then, now));
        assert!(!is_expired_at(UpdateKind::CallbackQuery, then, now));
        assert!(!is_expired_at(UpdateKind::Message, then, now));
    }
}
