//! Every method of the Bot API and the shape of its answer. A compact table of our own: names and what comes
//! back, nothing about parameters. It must stay complete: an unknown method is answered with 404.

use std::collections::HashMap;
use std::sync::LazyLock;

/// Methods of Bot API 10.3.
pub const METHOD_COUNT: usize = 185;

/// What a method answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Shape {
    /// `true`.
    True,
    /// The Message that was sent.
    Sent,
    /// The Message that was edited, or the Poll that was stopped.
    Edited,
    /// A string.
    Text,
    /// An empty array.
    List,
    /// A fixed minimal value, as JSON.
    Fixed(&'static str),
    /// The method has code of its own.
    Own,
}

/// A method: its name as Telegram spells it, and its shape.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Method {
    pub(crate) name: &'static str,
    pub(crate) shape: Shape,
}

const SENT: &[&str] = &[
    "forwardMessage",
    "sendAnimation",
    "sendAudio",
    "sendChecklist",
    "sendContact",
    "sendDice",
    "sendDocument",
    "sendGame",
    "sendInvoice",
    "sendLivePhoto",
    "sendLocation",
    "sendMessage",
    "sendPaidMedia",
    "sendPhoto",
    "sendPoll",
    "sendRichMessage",
    "sendSticker",
    "sendVenue",
    "sendVideo",
    "sendVideoNote",
    "sendVoice",
];

const EDITED: &[&str] = &[
    "editMessageCaption",
    "editMessageChecklist",
    "editMessageLiveLocation",
    "editMessageMedia",
    "editMessageReplyMarkup",
    "editMessageText",
    "setGameScore",
    "stopMessageLiveLocation",
    "stopPoll",
];

const OWN: &[&str] = &[
    "answerCallbackQuery",
    "answerInlineQuery",
    "answerPreCheckoutQuery",
    "answerShippingQuery",
    "close",
    "copyMessage",
    "copyMessages",
    "createForumTopic",
    "deleteMessage",
    "deleteMessages",
    "deleteMyCommands",
    "deleteWebhook",
    "forwardMessages",
    "getChat",
    "getChatAdministrators",
    "getChatMember",
    "getChatMenuButton",
    "getFile",
    "getMe",
    "getMyCommands",
    "getMyDefaultAdministratorRights",
    "getMyDescription",
    "getMyName",
    "getMyShortDescription",
    "getUpdates",
    "getWebhookInfo",
    "logOut",
    "sendChatAction",
    "sendMediaGroup",
    "sendMessageDraft",
    "sendRichMessageDraft",
    "setChatDescription",
    "setChatMenuButton",
    "setChatTitle",
    "setMessageReaction",
    "setMyCommands",
    "setMyDefaultAdministratorRights",
    "setMyDescription",
    "setMyName",
    "setMyShortDescription",
    "setWebhook",
    "uploadStickerFile",
];

const TEXT: &[&str] = &[
    "createInvoiceLink",
    "exportChatInviteLink",
    "getManagedBotToken",
    "replaceManagedBotToken",
];

const LIST: &[&str] = &[
    "getCustomEmojiStickers",
    "getForumTopicIconStickers",
    "getGameHighScores",
    "getUserPersonalChatMessages",
];

const TRUE: &[&str] = &[
    "addStickerToSet",
    "answerChatJoinRequestQuery",
    "approveChatJoinRequest",
    "approveSuggestedPost",
    "banChatMember",
    "banChatSenderChat",
    "closeForumTopic",
    "closeGeneralForumTopic",
    "convertGiftToStars",
    "createNewStickerSet",
    "declineChatJoinRequest",
    "declineSuggestedPost",
    "deleteAllMessageReactions",
    "deleteBusinessMessages",
    "deleteChatPhoto",
    "deleteChatStickerSet",
    "deleteEphemeralMessage",
    "deleteForumTopic",
    "deleteMessageReaction",
    "deleteStickerFromSet",
    "deleteStickerSet",
    "deleteStory",
    "editEphemeralMessageCaption",
    "editEphemeralMessageMedia",
    "editEphemeralMessageReplyMarkup",
    "editEphemeralMessageText",
    "editForumTopic",
    "editGeneralForumTopic",
    "editUserStarSubscription",
    "giftPremiumSubscription",
    "hideGeneralForumTopic",
    "leaveChat",
    "pinChatMessage",
    "promoteChatMember",
    "readBusinessMessage",
    "refundStarPayment",
    "removeBusinessAccountProfilePhoto",
    "removeChatVerification",
    "removeMyProfilePhoto",
    "removeUserVerification",
    "reopenForumTopic",
    "reopenGeneralForumTopic",
    "replaceStickerInSet",
    "restrictChatMember",
    "sendChatJoinRequestWebApp",
    "sendGift",
    "setBusinessAccountBio",
    "setBusinessAccountGiftSettings",
    "setBusinessAccountName",
    "setBusinessAccountProfilePhoto",
    "setBusinessAccountUsername",
    "setChatAdministratorCustomTitle",
    "setChatMemberTag",
    "setChatPermissions",
    "setChatPhoto",
    "setChatStickerSet",
    "setCustomEmojiStickerSetThumbnail",
    "setManagedBotAccessSettings",
    "setMyProfilePhoto",
    "setPassportDataErrors",
    "setStickerEmojiList",
    "setStickerKeywords",
    "setStickerMaskPosition",
    "setStickerPositionInSet",
    "setStickerSetThumbnail",
    "setStickerSetTitle",
    "setUserEmojiStatus",
    "transferBusinessAccountStars",
    "transferGift",
    "unbanChatMember",
    "unbanChatSenderChat",
    "unhideGeneralForumTopic",
    "unpinAllChatMessages",
    "unpinAllForumTopicMessages",
    "unpinAllGeneralForumTopicMessages",
    "unpinChatMessage",
    "upgradeGift",
    "verifyChat",
    "verifyUser",
];

const INVITE: &str = r#"{"invite_link":"https://t.me/+simulated","creator":{"id":424242,"is_bot":true,"first_name":"Simulated"},"creates_join_request":false,"is_primary":false,"is_revoked":false}"#;
const NO_GIFTS: &str = r#"{"total_count":0,"gifts":[]}"#;
const STORY: &str = r#"{"chat":{"id":1,"type":"private","first_name":"Ada"},"id":1}"#;

const FIXED: &[(&str, &str)] = &[
    ("getChatMemberCount", "2"),
    ("getUserProfilePhotos", r#"{"total_count":0,"photos":[]}"#),
    ("getUserProfileAudios", r#"{"total_count":0,"audios":[]}"#),
    ("createChatInviteLink", INVITE),
    ("editChatInviteLink", INVITE),
    ("createChatSubscriptionInviteLink", INVITE),
    ("editChatSubscriptionInviteLink", INVITE),
    ("revokeChatInviteLink", INVITE),
    ("answerGuestQuery", r#"{"inline_message_id":"simulated"}"#),
    ("getUserChatBoosts", r#"{"boosts":[]}"#),
    (
        "getBusinessConnection",
        r#"{"id":"simulated","user":{"id":1,"is_bot":false,"first_name":"Ada"},"user_chat_id":1,"date":0,"is_enabled":true}"#,
    ),
    ("getManagedBotAccessSettings", r#"{"is_access_restricted":false}"#),
    ("getAvailableGifts", r#"{"gifts":[]}"#),
    ("getBusinessAccountStarBalance", r#"{"amount":0}"#),
    ("getMyStarBalance", r#"{"amount":0}"#),
    ("getBusinessAccountGifts", NO_GIFTS),
    ("getUserGifts", NO_GIFTS),
    ("getChatGifts", NO_GIFTS),
    ("postStory", STORY),
    ("repostStory", STORY),
    ("editStory", STORY),
    ("answerWebAppQuery", "{}"),
    (
        "savePreparedInlineMessage",
        r#"{"id":"simulated","expiration_date":2000000000}"#,
    ),
    ("savePreparedKeyboardButton", r#"{"id":"simulated"}"#),
    (
        "getStickerSet",
        r#"{"name":"simulated","title":"Simulated","sticker_type":"regular","stickers":[]}"#,
    ),
    ("getStarTransactions", r#"{"transactions":[]}"#),
];

/// By the name in lower case: Telegram does not care about the case of a method.
static METHODS: LazyLock<HashMap<String, Method>> = LazyLock::new(|| {
    let plain = [
        (SENT, Shape::Sent),
        (EDITED, Shape::Edited),
        (OWN, Shape::Own),
        (TEXT, Shape::Text),
        (LIST, Shape::List),
        (TRUE, Shape::True),
    ];
    let plain = plain
        .into_iter()
        .flat_map(|(names, shape)| names.iter().map(move |name| (*name, shape)));
    let fixed = FIXED.iter().map(|(name, json)| (*name, Shape::Fixed(json)));
    plain
        .chain(fixed)
        .map(|(name, shape)| (name.to_ascii_lowercase(), Method { name, shape }))
        .collect()
});

/// Finds a method, whatever the case of its letters.
pub(crate) fn find(name: &str) -> Option<Method> {
    METHODS.get(&name.to_ascii_lowercase()).copied()
}

/// The names of all methods, sorted.
#[must_use]
pub fn method_names() -> Vec<&'static str> {
    let mut names: Vec<_> = METHODS.values().map(|method| method.name).collect();
    names.sort_unstable();
    names
}

impl Method {
    /// Whether the answer to a webhook may carry this method: get*, and what tears the webhook down, may not
    /// (Bot API, "Making requests when getting updates").
    pub(crate) fn may_answer_a_webhook(self) -> bool {
        let refused = ["setWebhook", "deleteWebhook", "close", "logOut"];
        !self.name.starts_with("get") && !refused.contains(&self.name)
    }

    /// Whether the method makes something visible in a chat, and so needs one.
    pub(crate) fn is_send(self) -> bool {
        let other = [
            "sendMediaGroup",
            "copyMessage",
            "copyMessages",
            "forwardMessages",
            "createForumTopic",
        ];
        self.shape == Shape::Sent || other.contains(&self.name)
    }

    /// Typing and drafts: shown for seconds, limited apart.
    pub(crate) fn is_action(self) -> bool {
        ["sendChatAction", "sendMessageDraft", "sendRichMessageDraft"].contains(&self.name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_method_is_in_exactly_one_list() {
        let listed =
            SENT.len() + EDITED.len() + OWN.len() + TEXT.len() + LIST.len() + TRUE.len() + FIXED.len();
        assert_eq!(listed, METHOD_COUNT);
        assert_eq!(method_names().len(), METHOD_COUNT);
    }

    #[test]
    fn the_case_of_a_method_does_not_matter() {
        assert_eq!(find("SENDmessage").map(|method| method.name), Some("sendMessage"));
        assert_eq!(find("sendTelepathy"), None);
    }

    #[test]
    fn every_fixed_answer_is_json() {
        for (name, json) in FIXED {
            assert!(serde_json::from_str::<serde_json::Value>(json).is_ok(), "{name}");
        }
    }

    #[test]
    fn a_webhook_answer_cannot_read_or_remove_the_webhook() {
        for name in [
            "getMe",
            "setWebhook",
            "deleteWebhook",
            "close",
            "logOut",
            "getUpdates",
        ] {
            assert!(!find(name).unwrap().may_answer_a_webhook(), "{name}");
        }
        assert!(find("sendMessage").unwrap().may_answer_a_webhook());
    }
}
