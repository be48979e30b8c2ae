//! Which Updates a route takes, and which of two routes is asked first. Never looks beyond what [`Incoming`] read.

use penstock_domain::kind::UpdateKind;
use penstock_domain::retry::UpdateClass;

use crate::incoming::Incoming;

/// What a route takes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Pattern {
    Command(String),
    Callback(String),
    SuccessfulPayment,
    UnknownCommand,
    Text,
    Message,
    Kind(UpdateKind),
    Class(UpdateClass),
    Anything,
}

/// Kinds that are a message to the bot.
fn is_message(kind: UpdateKind) -> bool {
    matches!(kind, UpdateKind::Message | UpdateKind::BusinessMessage)
}

impl Pattern {
    pub(super) fn matches(&self, update: &Incoming) -> bool {
        if !self.may_match(update.kind) {
            return false;
        }
        match self {
            Self::Command(name) => update
                .command()
                .is_some_and(|command| command.eq_ignore_ascii_case(name)),
            Self::Callback(prefix) => update.callback_data().unwrap_or_default().starts_with(prefix),
            Self::SuccessfulPayment => update.successful_payment.is_some(),
            Self::UnknownCommand => update.command().is_some(),
            Self::Text => update.text.is_some(),
            Self::Class(class) => UpdateClass::of(update.kind, update.command().is_some()) == *class,
            Self::Message | Self::Kind(_) | Self::Anything => true,
        }
    }

    /// Whether an Update of that kind can match at all.
    pub(super) fn may_match(&self, kind: UpdateKind) -> bool {
        match self {
            Self::Command(_)
            | Self::SuccessfulPayment
            | Self::UnknownCommand
            | Self::Text
            | Self::Message => is_message(kind),
            Self::Callback(_) => kind == UpdateKind::CallbackQuery,
            Self::Kind(mine) => kind == *mine,
            Self::Class(class) => [false, true]
                .into_iter()
                .any(|is_command| UpdateClass::of(kind, is_command) == *class),
            Self::Anything => true,
        }
    }

    /// Lower is asked first.
    pub(super) fn rank(&self) -> u8 {
        match self {
            Self::Command(_) | Self::Callback(_) | Self::SuccessfulPayment => 1,
            Self::UnknownCommand => 2,
            Self::Text => 3,
            Self::Kind(_) | Self::Message => 4,
            Self::Class(_) => 5,
            Self::Anything => 6,
        }
    }
}
