//! An Update as a built-in bot sees it: the members that most handlers look at, and the raw JSON for the rest.
//! Reading it never fails: what is absent or odd is `None`, since a new kind must not become an error.

mod members;
#[cfg(test)]
mod tests;

use penstock_domain::kind::UpdateKind;

use members::Members;

/// A pressed button.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Callback {
    /// Its query's id.
    pub id: String,
    /// The button's data.
    pub data: Option<String>,
    /// The message that the button belongs to.
    pub message_id: Option<i64>,
    /// That message, if it was sent through an inline query.
    pub inline_message_id: Option<String>,
}

/// What somebody is about to pay, or has paid.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Price {
    /// Three-letter currency; `XTR` is Telegram Stars.
    pub currency: Option<String>,
    /// In the currency's smallest unit.
    pub amount: Option<i64>,
    /// What the bot gave the invoice to know it by.
    pub payload: Option<String>,
}

/// A payment that was made. `telegram_charge_id` is what makes it this one: a record of that id, expected absent, books
/// it once.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Payment {
    /// What was paid.
    pub price: Price,
    /// Telegram's id of the charge, needed to refund Stars.
    pub telegram_charge_id: Option<String>,
    /// The provider's id of the charge.
    pub provider_charge_id: Option<String>,
}

/// An Update.
#[derive(Debug, Clone)]
pub struct Incoming {
    /// Its kind.
    pub kind: UpdateKind,
    /// The chat that it belongs to.
    pub chat_id: Option<i64>,
    /// Whether that is a private chat; `false` if it is not known.
    pub is_private: bool,
    /// The message.
    pub message_id: Option<i64>,
    /// The topic of a forum that the message stands in.
    pub thread_id: Option<i64>,
    /// The message that this one answers.
    pub reply_to: Option<i64>,
    /// The business connection that it came through.
    pub business_connection_id: Option<String>,
    /// Who caused it. Rights hang on this number: names can be changed, and taken over.
    pub from_id: Option<i64>,
    /// The language of that person's app, as an IETF tag.
    pub language: Option<String>,
    /// The message's text; unpaired surrogates are replaced.
    pub text: Option<String>,
    /// Whether the message carries something that people send: a photo, a file, a voice, ...
    pub has_media: bool,
    /// The album that the message belongs to.
    pub media_group_id: Option<String>,
    /// The pressed button.
    pub callback: Option<Callback>,
    /// The id of an inline, shipping or pre-checkout query.
    pub query_id: Option<String>,
    /// What a pre-checkout query asks to be allowed to charge.
    pub checkout: Option<Price>,
    /// The payment that a message tells of.
    pub successful_payment: Option<Payment>,
    /// The raw Update.
    pub raw: String,
}

/// What people send, besides text.
const MEDIA: [&str; 8] = [
    "photo", "document", "voice", "video", "audio", "sticker", "location", "contact",
];

fn price(of: &Members<'_>) -> Price {
    Price {
        currency: of.text("currency"),
        amount: of.value("total_amount"),
        payload: of.text("invoice_payload"),
    }
}

impl Incoming {
    /// Reads an Update of that kind.
    #[must_use]
    pub fn read(kind: UpdateKind, raw: &str) -> Self {
        let body = Members::read(raw).object(kind.name());
        // A callback's message; other kinds are their message themselves.
        let within = body.object("message");
        let message = if kind == UpdateKind::CallbackQuery {
            &within
        } else {
            &body
        };
        let chat = body.some_object("chat").unwrap_or_else(|| within.object("chat"));
        let from = body.object("from");
        let query_id: Option<String> = body.value("id");
        let is_in_topic = message.value("is_topic_message").unwrap_or(false);
        Self {
            kind,
            chat_id: chat.value("id"),
            is_private: chat.text("type").as_deref() == Some("private"),
            message_id: message.value("message_id"),
            thread_id: message.value("message_thread_id").filter(|_| is_in_topic),
            reply_to: message.object("reply_to_message").value("message_id"),
            business_connection_id: body
                .value("business_connection_id")
                .or_else(|| within.value("business_connection_id")),
            from_id: from.value("id"),
            language: from.text("language_code"),
            text: body.text("text"),
            has_media: MEDIA.into_iter().any(|name| body.has(name)),
            media_group_id: body.value("media_group_id"),
            callback: (kind == UpdateKind::CallbackQuery).then(|| Callback {
                id: query_id.clone().unwrap_or_default(),
                data: body.text("data"),
                message_id: within.value("message_id"),
                inline_message_id: body.value("inline_message_id"),
            }),
            query_id,
            checkout: (kind == UpdateKind::PreCheckoutQuery).then(|| price(&body)),
            successful_payment: body.some_object("successful_payment").map(|paid| Payment {
                price: price(&paid),
                telegram_charge_id: paid.value("telegram_payment_charge_id"),
                provider_charge_id: paid.value("provider_payment_charge_id"),
            }),
            raw: raw.to_owned(),
        }
    }

    /// The command that the text begins with, without its slash and the bot's name.
    #[must_use]
    pub fn command(&self) -> Option<&str> {
        Some(self.command_parts()?.0)
    }

    /// The user name behind the command (`/start@name`), if it says which bot it is for.
    #[must_use]
    pub fn commanded_bot(&self) -> Option<&str> {
        self.command_parts()?.1
    }

    /// What follows the command, for one the payload of a deep link; `None` if there is nothing or no command.
    #[must_use]
    pub fn argument(&self) -> Option<&str> {
        self.command()?;
        let (_, rest) = self.text.as_deref()?.split_once(char::is_whitespace)?;
        Some(rest.trim()).filter(|rest| !rest.is_empty())
    }

    fn command_parts(&self) -> Option<(&str, Option<&str>)> {
        let text = self.text.as_deref()?.strip_prefix('/')?;
        let first = text.split(char::is_whitespace).next()?;
        let (name, bot) = match first.split_once('@') {
            Some((name, bot)) => (name, Some(bot)),
            None => (first, None),
        };
        (!name.is_empty()).then_some((name, bot))
    }

    /// The data of the pressed button.
    #[must_use]
    pub fn callback_data(&self) -> Option<&str> {
        self.callback.as_ref()?.data.as_deref()
    }
}
