//! The error texts as the server sends them, with code, a method that may meet them, and the class they should get.
//! Written apart from the table that classifies, so that the two can disagree.

use super::*;

pub(super) const DONE: Classed = Classed::AlreadyDone;
pub(super) const LATER: Classed = Classed::Failed(Disposition::Transient, Meaning::Plain);
pub(super) const MAYBE: Classed = Classed::Failed(Disposition::Ambiguous, Meaning::Plain);
pub(super) const NEVER: Classed = Classed::Failed(Disposition::Permanent, Meaning::Plain);
pub(super) const BOT: Classed = Classed::Failed(Disposition::Permanent, Meaning::BotRefused);
pub(super) const CHAT: Classed = Classed::Failed(Disposition::Permanent, Meaning::ChatUnreachable);
pub(super) const EXPIRED: Classed = Classed::Failed(Disposition::Permanent, Meaning::Expired);
pub(super) const TARGET: Classed = Classed::Failed(Disposition::Permanent, Meaning::TargetGone);
pub(super) const AFTER_35: Classed = Classed::Failed(
    Disposition::Throttled {
        retry_after: Duration::from_secs(35),
    },
    Meaning::Plain,
);

/// Class, code, method, texts.
pub(super) const GROUPS: &[(Classed, u16, &str, &[&str])] = &[
    (
        AFTER_35,
        429,
        "sendMessage",
        &["Too Many Requests: retry after 35"],
    ),
    (
        MAYBE,
        400,
        "sendMediaGroup",
        &[
            "Bad Request: failed to send message #3 with the error message \"Too Many Requests: retry after 35\"",
            "Bad Request: Group send failed",
        ],
    ),
    (LATER, 500, "sendMessage", &["Internal Server Error: restart"]),
    (
        DONE,
        500,
        "sendMessage",
        &["Internal Server Error: sent message was immediately deleted and can't be returned"],
    ),
    (
        MAYBE,
        500,
        "sendMessage",
        &["Internal Server Error: something else"],
    ),
    (MAYBE, 502, "sendMessage", &["Bad Gateway"]),
    (
        BOT,
        401,
        "sendMessage",
        &[
            "Unauthorized",
            "Unauthorized: invalid token specified",
            "Unauthorized: invalid api-id/api-hash",
        ],
    ),
    (BOT, 404, "sendMessage", &["Not Found"]),
    (NEVER, 404, "sendMessage", &["Not Found: method not found"]),
    (
        BOT,
        421,
        "sendMessage",
        &["Misdirected Request: unallowed token specified"],
    ),
    (
        BOT,
        400,
        "sendMessage",
        &["Logged out", "Bad Request: FROZEN_METHOD_INVALID"],
    ),
    (
        NEVER,
        409,
        "setWebhook",
        &[
            "Conflict: can't use getUpdates method while webhook is active; use deleteWebhook to delete the webhook first",
        ],
    ),
    (
        LATER,
        409,
        "sendMessage",
        &["Conflict: terminated by other setWebhook"],
    ),
    (
        NEVER,
        409,
        "getUpdates",
        &[
            "Conflict: terminated by other getUpdates request; make sure that only one bot instance is running",
        ],
    ),
    (
        CHAT,
        403,
        "sendMessage",
        &[
            "Forbidden: bot was blocked by the user",
            "Forbidden: user is deactivated",
            "Forbidden: bot was kicked from the group chat",
            "Forbidden: bot was kicked from the supergroup chat",
            "Forbidden: bot was kicked from the channel chat",
            "Forbidden: bot is not a member of the group chat",
            "Forbidden: bot is not a member of the supergroup chat",
            "Forbidden: bot is not a member of the channel chat",
            "Forbidden: the group chat was deleted",
            "Forbidden: bot can't initiate conversation with a user",
            "Forbidden: bot can't send messages to bots",
        ],
    ),
    (
        CHAT,
        400,
        "sendMessage",
        &[
            "Bad Request: chat not found",
            "Bad Request: private chat not found",
            "Bad Request: user not found",
            "Bad Request: group is deactivated",
            "Bad Request: PEER_ID_INVALID",
            "Bad Request: group chat was upgraded to a supergroup chat",
        ],
    ),
    (
        DONE,
        400,
        "editMessageText",
        &[
            "Bad Request: message is not modified: specified new message content and reply markup are exactly the same as a current content and reply markup of the message",
        ],
    ),
    (
        DONE,
        400,
        "deleteMessage",
        &["Bad Request: message to delete not found"],
    ),
    (
        DONE,
        400,
        "setChatDescription",
        &["Bad Request: chat description is not modified"],
    ),
    (DONE, 400, "setChatTitle", &["Bad Request: CHAT_NOT_MODIFIED"]),
    (DONE, 400, "closeForumTopic", &["Bad Request: TOPIC_NOT_MODIFIED"]),
    (DONE, 400, "editStory", &["Bad Request: STORY_NOT_MODIFIED"]),
    (
        DONE,
        400,
        "stopPoll",
        &["Bad Request: poll has already been closed"],
    ),
    (
        DONE,
        400,
        "setGameScore",
        &["Bad Request: BOT_SCORE_NOT_MODIFIED"],
    ),
    (
        DONE,
        400,
        "declineChatJoinRequest",
        &["Bad Request: HIDE_REQUESTER_MISSING"],
    ),
    (
        DONE,
        400,
        "approveChatJoinRequest",
        &["Bad Request: USER_ALREADY_PARTICIPANT"],
    ),
    (
        DONE,
        400,
        "refundStarPayment",
        &["Bad Request: CHARGE_ALREADY_REFUNDED"],
    ),
    (
        DONE,
        400,
        "createNewStickerSet",
        &["Bad Request: sticker set name is already occupied"],
    ),
    (
        EXPIRED,
        400,
        "answerCallbackQuery",
        &["Bad Request: query is too old and response timeout expired or query ID is invalid"],
    ),
    (
        NEVER,
        400,
        "sendMessage",
        &[
            "Bad Request: message to edit not found",
            "Bad Request: message can't be edited",
            "Bad Request: message can't be deleted",
            "Bad Request: message to copy not found",
            "Bad Request: message to forward not found",
            "Bad Request: message with poll to stop not found",
            "Bad Request: message is not a poll",
            "Bad Request: MESSAGE_ID_INVALID",
            "Bad Request: there is no text in the message to edit",
            "Bad Request: TOPIC_CLOSED",
            "Bad Request: can't parse entities: unsupported start tag at byte offset 7",
            "Bad Request: message is too long",
            "Bad Request: MESSAGE_TOO_LONG",
            "Bad Request: message text is empty",
            "Bad Request: text must be non-empty",
            "Bad Request: BUTTON_URL_INVALID",
            "Bad Request: BUTTON_DATA_INVALID",
            "Bad Request: reply markup is too long",
            "Bad Request: can't parse inline keyboard button: Text buttons are unallowed in the inline keyboard",
            "Bad Request: Too much messages to send as an album",
            "Bad Request: RESULTS_TOO_MUCH",
            "Bad Request: wrong file id",
            "Bad Request: invalid file id",
            "Bad Request: wrong remote file id specified",
            "Bad Request: IMAGE_PROCESS_FAILED",
            "Bad Request: Can't use the media of the specified type in the album",
            "Bad Request: file is too big",
            "Bad Request: chat_id is empty",
            "Bad Request: message identifier is not specified",
            "Bad Request: STICKERSET_INVALID",
            "Bad Request: poll must have at least 2 option",
            "Bad Request: poll options must be non-empty",
            "Bad Request: poll question must be non-empty",
            "Bad Request: not enough rights to send text messages to the chat",
            "Bad Request: CHAT_ADMIN_REQUIRED",
            "Bad Request: need administrator rights in the channel chat",
            "Bad Request: CHAT_WRITE_FORBIDDEN",
            "Bad Request: method is available only for supergroups",
            "Bad Request: can't demote chat creator",
            "Bad Request: can't restrict self",
            "Bad Request: user is an administrator of the chat",
            "Bad Request: PARTICIPANT_ID_INVALID",
            "Bad Request: failed to get HTTP URL content",
            "Bad Request: wrong file identifier/HTTP URL specified",
            "Bad Request: wrong HTTP URL specified",
            "Bad Request: wrong type of the web page content",
            "Bad Request: can't upload file by URL",
            "Bad Request: bad webhook: An HTTPS URL must be provided for webhook",
            "Bad Request: bad webhook: Webhook can be set up only on ports 80, 88, 443 or 8443",
            "Bad Request: bad webhook: IPv6-only addresses are not allowed",
            "Bad Request: bad webhook: IP address 192.0.2.7 is reserved",
            "Bad Request: bad webhook: Failed to resolve host: host.invalid",
            "Bad Request: secret token is too long",
            "Bad Request: secret token contains unallowed characters",
            "Bad Request: invalid webhook URL specified",
            "Bad Request: a text of tomorrow",
        ],
    ),
    (
        TARGET,
        400,
        "sendMessage",
        &[
            "Bad Request: message to be replied not found",
            "Bad Request: message thread not found",
        ],
    ),
    (NEVER, 413, "sendMessage", &["Request Entity Too Large"]),
];
