//! The error texts that the Bot API is known to give, each with its class.
//!
//! Sources: the Bot API server's and TDLib's code, and the error lists of Bot API libraries; not tried against live
//! Telegram. Texts are lower case and without the words of the HTTP code ("Bad Request: "). Never decides by itself:
//! [`mod@crate::classify`] puts parameters before texts, and codes after them.

use penstock_domain::method::{Repeat, repeat};

use Match::{Contains, Exact, Prefix};

/// What a known text says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Class {
    /// Not applied; it may work later.
    Transient,
    /// A part of several messages may have been sent.
    Partial,
    /// The wish had been fulfilled before.
    Done,
    /// The token or the whole account is refused.
    BotRefused,
    /// The chat cannot be reached.
    ChatUnreachable,
    /// The query's time is over.
    Expired,
    /// The topic or the message replied to is gone.
    TargetGone,
    /// This call will never work as it stands.
    Permanent,
}

/// How a text is compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Match {
    /// The whole text.
    Exact,
    /// Its start: details follow.
    Prefix,
    /// Anywhere: it is wrapped in other words.
    Contains,
}

/// Texts that share codes, comparison and class.
pub(crate) struct Group {
    /// HTTP codes under which the texts come; empty: any.
    pub(crate) codes: &'static [u16],
    /// How they are compared.
    pub(crate) how: Match,
    /// Methods for which the class holds; for another method the text says nothing.
    pub(crate) methods: fn(&str) -> bool,
    /// What they say.
    pub(crate) class: Class,
    /// The texts.
    pub(crate) texts: &'static [&'static str],
}

/// The class of the first known text that fits; `text` is lower case and without the words of the code.
pub(crate) fn find(method: &str, code: u16, text: &str) -> Option<Class> {
    let fits = |group: &&Group| {
        (group.codes.is_empty() || group.codes.contains(&code))
            && group.texts.iter().any(|known| match group.how {
                Match::Exact => text == *known,
                Match::Prefix => text.starts_with(known),
                Match::Contains => text.contains(known),
            })
            && (group.methods)(method)
    };
    GROUPS.iter().find(fits).map(|group| group.class)
}

const fn group(
    codes: &'static [u16],
    how: Match,
    methods: fn(&str) -> bool,
    class: Class,
    texts: &'static [&'static str],
) -> Group {
    Group {
        codes,
        how,
        methods,
        class,
        texts,
    }
}

fn any(_: &str) -> bool {
    true
}

/// Methods that put something new into a chat: sends, copies, forwards.
fn posts(method: &str) -> bool {
    method.starts_with("send") && repeat(method, false) != Repeat::Safe
        || method.starts_with("copyMessage")
        || method.starts_with("forwardMessage")
}

fn edits(method: &str) -> bool {
    method.starts_with("edit") || method == "stopMessageLiveLocation"
}

fn deletes_messages(method: &str) -> bool {
    matches!(
        method,
        "deleteMessage" | "deleteMessages" | "deleteEphemeralMessage" | "deleteBusinessMessages"
    )
}

/// Methods that set a state, where "not modified" means that it was so already.
fn sets(method: &str) -> bool {
    matches!(repeat(method, true), Repeat::Safe | Repeat::SafeBenign) || method == "setChatPhoto"
}

fn changes_topics(method: &str) -> bool {
    sets(method) && (method.ends_with("ForumTopic") || method.ends_with("ForumTopicMessages"))
}

fn answers_join_requests(method: &str) -> bool {
    matches!(method, "approveChatJoinRequest" | "declineChatJoinRequest")
}

/// The groups; the first that fits counts, so partial albums come before the texts that they quote.
pub(crate) const GROUPS: &[Group] = &[
    group(
        &[],
        Contains,
        any,
        Class::Partial,
        &["failed to send message #", "group send failed"],
    ),
    group(&[500], Exact, any, Class::Transient, &["restart"]),
    group(
        &[409],
        Exact,
        any,
        Class::Transient,
        &["terminated by other setwebhook"],
    ),
    group(
        &[500],
        Exact,
        any,
        Class::Done,
        &["sent message was immediately deleted and can't be returned"],
    ),
    group(&[400], Prefix, edits, Class::Done, &["message is not modified"]),
    group(
        &[400],
        Exact,
        deletes_messages,
        Class::Done,
        &["message to delete not found"],
    ),
    group(
        &[400],
        Exact,
        sets,
        Class::Done,
        &["chat description is not modified", "chat_not_modified"],
    ),
    group(
        &[400],
        Exact,
        changes_topics,
        Class::Done,
        &["topic_not_modified"],
    ),
    group(
        &[400],
        Exact,
        |method| method == "editStory",
        Class::Done,
        &["story_not_modified"],
    ),
    group(
        &[400],
        Exact,
        |method| method == "stopPoll",
        Class::Done,
        &["poll has already been closed"],
    ),
    // From practice, not seen in the server's code.
    group(
        &[400],
        Exact,
        |method| method == "setGameScore",
        Class::Done,
        &["bot_score_not_modified"],
    ),
    // From practice, not seen in the server's code.
    group(
        &[400],
        Exact,
        answers_join_requests,
        Class::Done,
        &["hide_requester_missing"],
    ),
    // From practice, not seen in the server's code. Of a declined person it would not be the wish fulfilled.
    group(
        &[400],
        Exact,
        |method| method == "approveChatJoinRequest",
        Class::Done,
        &["user_already_participant"],
    ),
    // From practice, not seen in the server's code.
    group(
        &[400],
        Exact,
        |method| method == "refundStarPayment",
        Class::Done,
        &["charge_already_refunded"],
    ),
    // A set's name ends with its bot's name, so the occupant is this bot.
    group(
        &[400],
        Exact,
        |method| method == "createNewStickerSet",
        Class::Done,
        &["sticker set name is already occupied"],
    ),
    group(
        &[400],
        Contains,
        any,
        Class::Expired,
        &["query is too old and response timeout expired or query id is invalid"],
    ),
    group(
        &[400],
        Exact,
        posts,
        Class::TargetGone,
        &["message to be replied not found", "message thread not found"],
    ),
    group(
        &[400, 403, 406],
        Contains,
        any,
        Class::BotRefused,
        &["frozen_method_invalid"],
    ),
    group(&[400], Exact, any, Class::BotRefused, &["logged out"]),
    // Older servers give these with 401, where they must not count against the token.
    group(
        &[401, 403],
        Exact,
        any,
        Class::ChatUnreachable,
        &[
            "bot was blocked by the user",
            "user is deactivated",
            "bot was kicked from the group chat",
            "bot was kicked from the supergroup chat",
            "bot was kicked from the channel chat",
            "bot is not a member of the group chat",
            "bot is not a member of the supergroup chat",
            "bot is not a member of the channel chat",
            "the group chat was deleted",
            "bot can't initiate conversation with a user",
            "bot can't send messages to bots",
        ],
    ),
    // Of an upgraded group this is said only where the new id is missing.
    group(
        &[400],
        Exact,
        any,
        Class::ChatUnreachable,
        &[
            "chat not found",
            "private chat not found",
            "group is deactivated",
            "group chat was upgraded to a supergroup chat",
        ],
    ),
    // Elsewhere they may be about a member, not about the chat.
    group(
        &[400],
        Exact,
        posts,
        Class::ChatUnreachable,
        &["user not found", "peer_id_invalid"],
    ),
    // The target of the call is gone or too old.
    group(
        &[400],
        Exact,
        any,
        Class::Permanent,
        &[
            "message to edit not found",
            "message can't be edited",
            "message can't be deleted",
            "message to copy not found",
            "message to forward not found",
            "message with poll to stop not found",
            "message is not a poll",
            "message_id_invalid",
            "there is no text in the message to edit",
            "topic_closed",
        ],
    ),
    // Its content is wrong.
    group(
        &[400],
        Prefix,
        any,
        Class::Permanent,
        &[
            "can't parse entities",
            "message is too long",
            "message_too_long",
            "message text is empty",
            "text must be non-empty",
            "button_url_invalid",
            "button_data_invalid",
            "reply markup is too long",
            "can't parse inline keyboard button",
            "too much messages to send as an album",
            "results_too_much",
            "wrong file id",
            "invalid file id",
            "wrong remote file id specified",
            "image_process_failed",
            "can't use the media of the specified type in the album",
            "file is too big",
            "chat_id is empty",
            "message identifier is not specified",
            "stickerset_invalid",
            "poll must have at least 2 option",
            "poll options must be non-empty",
            "poll question must be non-empty",
        ],
    ),
    // The bot's rights in the chat don't allow it, until somebody changes them. The chat itself can be reached.
    group(
        &[400, 403],
        Prefix,
        any,
        Class::Permanent,
        &[
            "not enough rights",
            "chat_admin_required",
            "need administrator rights in the channel chat",
            "chat_write_forbidden",
            "method is available only for supergroups",
            "can't demote chat creator",
            "can't restrict self",
            "user is an administrator of the chat",
            "participant_id_invalid",
        ],
    ),
    // Telegram caches the result of a fetch for days: the same URL again gives the same.
    group(
        &[400],
        Exact,
        any,
        Class::Permanent,
        &[
            "failed to get http url content",
            "wrong file identifier/http url specified",
            "wrong http url specified",
            "wrong type of the web page content",
            "can't upload file by url",
        ],
    ),
    // Settings of the webhook.
    group(
        &[400],
        Prefix,
        any,
        Class::Permanent,
        &[
            "bad webhook: an https url must be provided for webhook",
            "bad webhook: webhook can be set up only on ports 80, 88, 443 or 8443",
            "bad webhook: ipv6-only addresses are not allowed",
            "bad webhook: ip address ",
            "bad webhook: failed to resolve host",
            "secret token is too long",
            "secret token contains unallowed characters",
            "invalid webhook url specified",
        ],
    ),
    group(&[404], Exact, any, Class::Permanent, &["method not found"]),
    // Somebody polls this bot.
    group(
        &[409],
        Prefix,
        any,
        Class::Permanent,
        &[
            "can't use getupdates method while webhook is active",
            "terminated by other getupdates request",
        ],
    ),
];
