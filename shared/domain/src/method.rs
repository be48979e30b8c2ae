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

/// What repeating a call of this method would do. A method that is not known counts as visible; `unpinChatMessage`
/// is safe only with a `message_id`.
#[must_use]
pub fn repeat(method: &str, has_message_id: bool) -> Repeat {
    match method {
        "getAvailableGifts"
        | "getBusinessAccountGifts"
        | "getBusinessAccountStarBalance"
        | "getBusinessConnection"
        | "getChat"
        | "getChatAdministrators"
        | "getChatGifts"
        | "getChatMember"
        | "getChatMemberCount"
        | "getChatMenuButton"
        | "getCustomEmojiStickers"
        | "getFile"
        | "getForumTopicIconStickers"
        | "getGameHighScores"
        | "getManagedBotAccessSettings"
        | "getManagedBotToken"
        | "getMe"
        | "getMyCommands"
        | "getMyDefaultAdministratorRights"
        | "getMyDescription"
        | "getMyName"
        | "getMyShortDescription"
        | "getMyStarBalance"
        | "getStarTransactions"
        | "getStickerSet"
        | "getUserChatBoosts"
        | "getUserGifts"
        | "getUserPersonalChatMessages"
        | "getUserProfileAudios"
        | "getUserProfilePhotos"
        | "getWebhookInfo" => Repeat::Read,
        "banChatMember"
        | "banChatSenderChat"
        | "closeForumTopic"
        | "closeGeneralForumTopic"
        | "deleteAllMessageReactions"
        | "deleteBusinessMessages"
        | "deleteChatPhoto"
        | "deleteChatStickerSet"
        | "deleteMessageReaction"
        | "deleteMessages"
        | "deleteMyCommands"
        | "editChatInviteLink"
        | "editChatSubscriptionInviteLink"
        | "editForumTopic"
        | "editGeneralForumTopic"
        | "editUserStarSubscription"
        | "hideGeneralForumTopic"
        | "leaveChat"
        | "pinChatMessage"
        | "promoteChatMember"
        | "readBusinessMessage"
        | "removeBusinessAccountProfilePhoto"
        | "removeChatVerification"
        | "removeMyProfilePhoto"
        | "removeUserVerification"
        | "reopenForumTopic"
        | "reopenGeneralForumTopic"
        | "restrictChatMember"
        | "sendChatAction"
        | "sendMessageDraft"
        | "sendRichMessageDraft"
        | "setBusinessAccountBio"
        | "setBusinessAccountGiftSettings"
        | "setBusinessAccountName"
        | "setBusinessAccountUsername"
        | "setChatAdministratorCustomTitle"
        | "setChatDescription"
        | "setChatMemberTag"
        | "setChatMenuButton"
        | "setChatPermissions"
        | "setChatStickerSet"
        | "setChatTitle"
        | "setCustomEmojiStickerSetThumbnail"
        | "setManagedBotAccessSettings"
        | "setMessageReaction"
        | "setMyCommands"
        | "setMyDefaultAdministratorRights"
        | "setMyDescription"
        | "setMyName"
        | "setMyShortDescription"
        | "setPassportDataErrors"
        | "setStickerEmojiList"
        | "setStickerKeywords"
        | "setStickerMaskPosition"
        | "setStickerPositionInSet"
        | "setStickerSetThumbnail"
        | "setStickerSetTitle"
        | "setUserEmojiStatus"
        | "unbanChatMember"
        | "unbanChatSenderChat"
        | "unhideGeneralForumTopic"
        | "unpinAllChatMessages"
        | "unpinAllForumTopicMessages"
        | "unpinAllGeneralForumTopicMessages"
        | "verifyChat"
        | "verifyUser" => Repeat::Safe,
        "answerCallbackQuery"
        | "answerChatJoinRequestQuery"
        | "answerGuestQuery"
        | "answerInlineQuery"
        | "answerPreCheckoutQuery"
        | "answerShippingQuery"
        | "answerWebAppQuery"
        | "approveChatJoinRequest"
        | "approveSuggestedPost"
        | "convertGiftToStars"
        | "createNewStickerSet"
        | "declineChatJoinRequest"
        | "declineSuggestedPost"
        | "deleteEphemeralMessage"
        | "deleteForumTopic"
        | "deleteMessage"
        | "deleteStickerFromSet"
        | "deleteStickerSet"
        | "deleteStory"
        | "editEphemeralMessageCaption"
        | "editEphemeralMessageMedia"
        | "editEphemeralMessageReplyMarkup"
        | "editEphemeralMessageText"
        | "editMessageCaption"
        | "editMessageChecklist"
        | "editMessageLiveLocation"
        | "editMessageMedia"
        | "editMessageReplyMarkup"
        | "editMessageText"
        | "editStory"
        | "refundStarPayment"
        | "replaceStickerInSet"
        | "revokeChatInviteLink"
        | "setGameScore"
        | "stopMessageLiveLocation"
        | "stopPoll" => Repeat::SafeBenign,
        "addStickerToSet"
        | "copyMessage"
        | "copyMessages"
        | "createForumTopic"
        | "forwardMessage"
        | "forwardMessages"
        | "postStory"
        | "repostStory"
        | "sendAnimation"
        | "sendAudio"
        | "sendChatJoinRequestWebApp"
        | "sendChecklist"
        | "sendContact"
        | "sendDice"
        | "sendDocument"
        | "sendGame"
        | "sendInvoice"
        | "sendLivePhoto"
        | "sendLocation"
        | "sendMediaGroup"
        | "sendMessage"
        | "sendPaidMedia"
        | "sendPhoto"
        | "sendPoll"
        | "sendRichMessage"
        | "sendSticker"
        | "sendVenue"
        | "sendVideo"
        | "sendVideoNote"
        | "sendVoice" => Repeat::Visible,
        "createChatInviteLink"
        | "createChatSubscriptionInviteLink"
        | "createInvoiceLink"
        | "savePreparedInlineMessage"
        | "savePreparedKeyboardButton"
        | "setBusinessAccountProfilePhoto"
        | "setChatPhoto"
        | "setMyProfilePhoto"
        | "uploadStickerFile" => Repeat::Hidden,
        "giftPremiumSubscription"
        | "sendGift"
        | "transferBusinessAccountStars"
        | "transferGift"
        | "upgradeGift" => Repeat::Money,
        "exportChatInviteLink" | "replaceManagedBotToken" => Repeat::Rotates,
        "close" | "deleteWebhook" | "getUpdates" | "logOut" | "setWebhook" => Repeat::Never,
        "unpinChatMessage" if has_message_id => Repeat::Safe,
        _ => Repeat::Visible,
    }
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
