//! The kinds of Update that the Bot API 10.3 knows, with what routing and expiry need of each.
//! Source: `update_kinds.json` (schema of the Bot API and the queues of the Bot API server). Never reads an Update.

use std::time::Duration;

/// Which member of an Update carries its ordering key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ordering {
    /// `chat.id`.
    Chat,
    /// `chat.id` inside a business connection: `business_connection_id` and `chat.id`, since that chat id may equal
    /// an unrelated chat of the bot.
    Business,
    /// `chat.id` of a guest chat, which may coincide with another chat of the bot.
    Guest,
    /// `from.id`.
    From,
    /// `message.chat.id` (with its business connection), else `from.id`: inline messages have no `message`.
    Callback,
    /// `user_chat_id`, else `user.id`.
    UserChat,
    /// The poll's own `id`.
    Poll,
    /// `poll_id`, so that answers stay in the poll's group, else `user.id`, else `voter_chat.id`.
    PollAnswer,
    /// `user.id`, else `bot.id`.
    User,
    /// A kind that did not exist when this was written: the first of `chat.id`, `message.chat.id`, `user_chat_id`,
    /// `from.id`, `user.id`, `poll_id`, `id`.
    Probe,
}

macro_rules! kinds {
    ($($name:ident $text:literal $ordering:ident $life:literal;)*) => {
        /// A kind of Update. `Unknown` is one that this version has not heard of; it is carried all the same.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        #[expect(missing_docs, reason = "the variants are the Bot API's own names")]
        pub enum UpdateKind { $($name,)* Unknown }

        impl UpdateKind {
            /// Every known kind.
            pub const ALL: &'static [UpdateKind] = &[$(UpdateKind::$name,)*];

            /// The kind of that name in an Update, if it is known.
            #[must_use]
            pub fn from_name(name: &str) -> Option<Self> {
                match name { $($text => Some(Self::$name),)* _ => None }
            }

            /// Its name in an Update.
            #[must_use]
            pub fn name(self) -> &'static str {
                match self { $(Self::$name => $text,)* Self::Unknown => "unknown" }
            }

            /// Where its ordering key is.
            #[must_use]
            pub fn ordering(self) -> Ordering {
                match self { $(Self::$name => Ordering::$ordering,)* Self::Unknown => Ordering::Probe }
            }

            /// How long Telegram itself keeps an Update of this kind (Bot API server, `Client.cpp`).
            #[must_use]
            pub fn telegram_life(self) -> Duration {
                Duration::from_secs(match self { $(Self::$name => $life,)* Self::Unknown => 86_400 })
            }
        }
    };
}

kinds! {
    Message "message" Chat 86_400;
    EditedMessage "edited_message" Chat 86_400;
    ChannelPost "channel_post" Chat 86_400;
    EditedChannelPost "edited_channel_post" Chat 86_400;
    BusinessConnection "business_connection" UserChat 86_400;
    BusinessMessage "business_message" Business 86_400;
    EditedBusinessMessage "edited_business_message" Business 86_400;
    DeletedBusinessMessages "deleted_business_messages" Business 86_400;
    GuestMessage "guest_message" Guest 86_400;
    MessageReaction "message_reaction" Chat 86_400;
    MessageReactionCount "message_reaction_count" Chat 86_400;
    InlineQuery "inline_query" From 30;
    ChosenInlineResult "chosen_inline_result" From 600;
    CallbackQuery "callback_query" Callback 150;
    ShippingQuery "shipping_query" From 150;
    PreCheckoutQuery "pre_checkout_query" From 150;
    PurchasedPaidMedia "purchased_paid_media" From 86_400;
    Poll "poll" Poll 86_400;
    PollAnswer "poll_answer" PollAnswer 86_400;
    MyChatMember "my_chat_member" Chat 86_400;
    ChatMember "chat_member" Chat 86_400;
    ChatJoinRequest "chat_join_request" Chat 86_400;
    ChatBoost "chat_boost" Chat 86_400;
    RemovedChatBoost "removed_chat_boost" Chat 86_400;
    ManagedBot "managed_bot" User 86_400;
    Subscription "subscription" User 86_400;
    StoppedMessageGeneration "stopped_message_generation" Chat 86_400;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_is_found_by_its_own_name() {
        assert_eq!(UpdateKind::ALL.len(), 27);
        for kind in UpdateKind::ALL {
            assert_eq!(UpdateKind::from_name(kind.name()), Some(*kind));
        }
        assert_eq!(UpdateKind::from_name("hologram"), None);
        assert_eq!(UpdateKind::from_name("unknown"), None);
    }
}
