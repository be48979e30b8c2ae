//! What each Bot API method does when it is repeated. Source: `methods.json` (Bot API 10.2 and 10.3: documented
//! semantics and the Bot API server's source; not tested live). Never calls one.

/// What repeating a call would do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Repeat {
    /// It only reads.
    Read,
    /// It sets a state: repeating gives the same.
    Safe,
    /// The same, but the second call may answer with an error that means "done".
    SafeBenign,
    /// People would see it twice.
    Visible,
    /// It would make a second thing that nobody sees.
    Hidden,
    /// It would cost twice.
    Money,
    /// It would replace what the first call gave.
    Rotates,
    /// Only a person calls it.
    Never,
}

/// The methods by class. One that is not here counts as visible.
const METHODS: &[(Repeat, &[&str])] = &[
    (
        Repeat::Read,
        &[
            "getAvailableGifts",
            "getBusinessAccountGifts",
            "getBusinessAccountStarBalance",
            "getBusinessConnection",
            "getChat",
            "getChatAdministrators",
            "getChatGifts",
            "getChatMember",
            "getChatMemberCount",
            "getChatMenuButton",
            "getCustomEmojiStickers",
            "getFile",
            "getForumTopicIconStickers",
            "getGameHighScores",
            "getManagedBotAccessSettings",
            "getManagedBotToken",
            "getMe",
            "getMyCommands",
            "getMyDefaultAdministratorRights",
            "getMyDescription",
            "getMyName",
            "getMyShortDescription",
            "getMyStarBalance",
            "getStarTransactions",
            "getStickerSet",
            "getUserChatBoosts",
            "getUserGifts",
            "getUserPersonalChatMessages",
            "getUserProfileAudios",
            "getUserProfilePhotos",
            "getWebhookInfo",
        ],
    ),
    (
        Repeat::Safe,
        &[
            "banChatMember",
            "banChatSenderChat",
            "closeForumTopic",
            "closeGeneralForumTopic",
            "deleteAllMessageReactions",
            "deleteBusinessMessages",
            "deleteChatPhoto",
            "deleteChatStickerSet",
            "deleteMessageReaction",
            "deleteMessages",
            "deleteMyCommands",
            "editChatInviteLink",
            "editChatSubscriptionInviteLink",
            "editForumTopic",
            "editGeneralForumTopic",
            "editUserStarSubscription",
            "hideGeneralForumTopic",
            "leaveChat",
            "pinChatMessage",
            "promoteChatMember",
            "readBusinessMessage",
            "removeBusinessAccountProfilePhoto",
            "removeChatVerification",
            "removeMyProfilePhoto",
            "removeUserVerification",
            "reopenForumTopic",
            "reopenGeneralForumTopic",
            "restrictChatMember",
            "sendChatAction",
            "sendMessageDraft",
            "sendRichMessageDraft",
            "setBusinessAccountBio",
            "setBusinessAccountGiftSettings",
            "setBusinessAccountName",
            "setBusinessAccountUsername",
            "setChatAdministratorCustomTitle",
            "setChatDescription",
            "setChatMemberTag",
            "setChatMenuButton",
            "setChatPermissions",
            "setChatStickerSet",
            "setChatTitle",
            "setCustomEmojiStickerSetThumbnail",
            "setManagedBotAccessSettings",
            "setMessageReaction",
            "setMyCommands",
            "setMyDefaultAdministratorRights",
            "setMyDescription",
            "setMyName",
            "setMyShortDescription",
            "setPassportDataErrors",
            "setStickerEmojiList",
            "setStickerKeywords",
            "setStickerMaskPosition",
            "setStickerPositionInSet",
            "setStickerSetThumbnail",
            "setStickerSetTitle",
            "setUserEmojiStatus",
            "unbanChatMember",
            "unbanChatSenderChat",
            "unhideGeneralForumTopic",
            "unpinAllChatMessages",
            "unpinAllForumTopicMessages",
            "unpinAllGeneralForumTopicMessages",
            "verifyChat",
            "verifyUser",
        ],
    ),
    (
        Repeat::SafeBenign,
        &[
            "answerCallbackQuery",
            "answerChatJoinRequestQuery",
            "answerGuestQuery",
            "answerInlineQuery",
            "answerPreCheckoutQuery",
            "answerShippingQuery",
            "answerWebAppQuery",
            "approveChatJoinRequest",
            "approveSuggestedPost",
            "convertGiftToStars",
            "createNewStickerSet",
            "declineChatJoinRequest",
            "declineSuggestedPost",
            "deleteEphemeralMessage",
            "deleteForumTopic",
            "deleteMessage",
            "deleteStickerFromSet",
            "deleteStickerSet",
            "deleteStory",
            "editEphemeralMessageCaption",
            "editEphemeralMessageMedia",
            "editEphemeralMessageReplyMarkup",
            "editEphemeralMessageText",
            "editMessageCaption",
            "editMessageChecklist",
            "editMessageLiveLocation",
            "editMessageMedia",
            "editMessageReplyMarkup",
            "editMessageText",
            "editStory",
            "refundStarPayment",
            "replaceStickerInSet",
            "revokeChatInviteLink",
            "setGameScore",
            "stopMessageLiveLocation",
            "stopPoll",
        ],
    ),
    (
        Repeat::Visible,
        &[
            "addStickerToSet",
            "copyMessage",
            "copyMessages",
            "createForumTopic",
            "forwardMessage",
            "forwardMessages",
            "postStory",
            "repostStory",
            "sendAnimation",
            "sendAudio",
            "sendChatJoinRequestWebApp",
            "sendChecklist",
            "sendContact",
            "sendDice",
            "sendDocument",
            "sendGame",
            "sendInvoice",
            "sendLivePhoto",
            "sendLocation",
            "sendMediaGroup",
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
        ],
    ),
    (
        Repeat::Hidden,
        &[
            "createChatInviteLink",
            "createChatSubscriptionInviteLink",
            "createInvoiceLink",
            "savePreparedInlineMessage",
            "savePreparedKeyboardButton",
            "setBusinessAccountProfilePhoto",
            "setChatPhoto",
            "setMyProfilePhoto",
            "uploadStickerFile",
        ],
    ),
    (
        Repeat::Money,
        &[
            "giftPremiumSubscription",
            "sendGift",
            "transferBusinessAccountStars",
            "transferGift",
            "upgradeGift",
        ],
    ),
    (
        Repeat::Rotates,
        &["exportChatInviteLink", "replaceManagedBotToken"],
    ),
    (
        Repeat::Never,
        &["close", "deleteWebhook", "getUpdates", "logOut", "setWebhook"],
    ),
];

/// Known, and safe only with a `message_id`.
const UNPIN: &str = "unpinChatMessage";

/// What repeating a call of this method would do. A method that is not known counts as visible; `unpinChatMessage`
/// is safe only with a `message_id`.
#[must_use]
pub fn repeat(method: &str, has_message_id: bool) -> Repeat {
    if method == UNPIN && has_message_id {
        return Repeat::Safe;
    }
    METHODS
        .iter()
        .find(|(_, names)| names.contains(&method))
        .map_or(Repeat::Visible, |(class, _)| *class)
}

/// The name of a known method as the Bot API writes it; Telegram itself takes it in any case.
#[must_use]
pub fn canonical(method: &str) -> Option<&'static str> {
    METHODS
        .iter()
        .flat_map(|(_, names)| names.iter().copied())
        .chain([UNPIN])
        .find(|name| name.eq_ignore_ascii_case(method))
}

/// The parameter that names the query which a method answers; `None` for methods that answer none.
#[must_use]
pub fn answers_query(method: &str) -> Option<&'static str> {
    match method {
        "answerCallbackQuery" => Some("callback_query_id"),
        "answerInlineQuery" => Some("inline_query_id"),
        "answerPreCheckoutQuery" => Some("pre_checkout_query_id"),
        "answerShippingQuery" => Some("shipping_query_id"),
        "answerWebAppQuery" => Some("web_app_query_id"),
        "answerGuestQuery" => Some("guest_query_id"),
        _ => None,
    }
}

/// Whether a call only decorates the moment (typing, drafts): it is dropped rather than delayed.
#[must_use]
pub fn is_cosmetic(method: &str) -> bool {
    matches!(
        method,
        "sendChatAction" | "sendMessageDraft" | "sendRichMessageDraft"
    )
}

/// Whether Telegram counts the call against a chat's send budget: sends, copies, forwards and (by default) edits.
#[must_use]
pub fn spends_send_budget(method: &str) -> bool {
    !is_cosmetic(method)
        && (method.starts_with("send")
            || method.starts_with("copyMessage")
            || method.starts_with("forwardMessage")
            || method.starts_with("editMessage"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_method_that_is_not_known_is_never_repeated_blindly() {
        assert_eq!(repeat("sendHologram", false), Repeat::Visible);
        assert_eq!(repeat("sendMessage", false), Repeat::Visible);
        assert_eq!(repeat("sendGift", false), Repeat::Money);
        assert_eq!(repeat("getMe", false), Repeat::Read);
        assert_eq!(repeat("answerCallbackQuery", false), Repeat::SafeBenign);
    }

    #[test]
    fn no_method_is_in_two_classes() {
        let mut names: Vec<_> = METHODS.iter().flat_map(|(_, names)| names.iter()).collect();
        let count = names.len();
        names.sort();
        names.dedup();
        assert_eq!(names.len(), count);
    }

    #[test]
    fn a_known_method_gets_its_own_spelling_whatever_its_case() {
        assert_eq!(canonical("SENDMESSAGE"), Some("sendMessage"));
        assert_eq!(canonical("answercallbackquery"), Some("answerCallbackQuery"));
        assert_eq!(canonical("unpinchatmessage"), Some("unpinChatMessage"));
        assert_eq!(canonical("sendHologram"), None);
    }

    #[test]
    fn unpinning_is_safe_only_for_a_named_message() {
        assert_eq!(repeat("unpinChatMessage", true), Repeat::Safe);
        assert_eq!(repeat("unpinChatMessage", false), Repeat::Visible);
    }

    #[test]
    fn typing_spends_no_send_budget() {
        assert!(spends_send_budget("sendMessage") && spends_send_budget("editMessageText"));
        assert!(!spends_send_budget("sendChatAction") && !spends_send_budget("answerCallbackQuery"));
    }
}
