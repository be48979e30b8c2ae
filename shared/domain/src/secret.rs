//! Values that must never be printed. Never reveals one but by the method that says so.

use std::fmt;

macro_rules! redacted {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, PartialEq, Eq)]
        pub struct $name(String);

        impl $name {
            /// Wraps the value.
            #[must_use]
            pub fn new(value: String) -> Self {
                Self(value)
            }

            /// The value itself: for the one call that needs it, never for a log or an error.
            #[must_use]
            pub fn reveal(&self) -> &str {
                &self.0
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("[redacted]")
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("[redacted]")
            }
        }
    };
}

redacted! {
    /// A bot's token. It is part of every Bot API URL, so URLs are as secret as the token.
    BotToken
}
redacted! {
    /// What Telegram sends in `X-Telegram-Bot-Api-Secret-Token`.
    WebhookSecret
}
redacted! {
    /// The part of the webhook's path that is hard to guess.
    PathKey
}

/// What the ingress may answer in the body of its 200, for Telegram to execute at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum InstantAck {
    /// An empty body.
    Off,
    /// `answerCallbackQuery` for a callback, so that its button stops spinning.
    #[default]
    Callbacks,
    /// That, and `sendChatAction` "typing" for a message.
    All,
}

/// What is secret of a bot's backend.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct BackendSecret {
    /// What it finds in `X-Telegram-Bot-Api-Secret-Token`, as if Telegram had called it; absent: no such header.
    pub token: Option<WebhookSecret>,
    /// Certificates of authorities that are trusted beside the system's, PEM. Not secret, but kept here with the rest.
    pub authority: Option<String>,
}

/// All that is secret of one bot.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BotSecret {
    /// The bot's token.
    pub token: BotToken,
    /// The webhook's secret; absent: every request is refused.
    pub webhook_secret: Option<WebhookSecret>,
    /// The webhook's path key; absent: every path is unknown.
    pub path_key: Option<PathKey>,
    /// What a 200 may carry.
    pub instant_ack: InstantAck,
    /// Of its backend, if it has one.
    pub backend: BackendSecret,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_is_never_printed() {
        let token = BotToken::new("123:abc".to_owned());
        assert_eq!(format!("{token} {token:?}"), "[redacted] [redacted]");
        assert_eq!(token.reveal(), "123:abc");
    }
}
