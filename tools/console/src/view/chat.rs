//! The chat: bubbles as Telegram has them, plain text only. Messages come as the Bot API shapes them.

use maud::{Markup, html};
use serde_json::Value;
use telegram_sim::{ChatInfo, Sim, User};

use crate::chat::{GROUP_ID, PEOPLE, chats};
use crate::model::Snapshot;

/// Fields that a message shows as a note, because there is nothing to see in a simulation.
const MEDIA: &[(&str, &str)] = &[
    ("photo", "photo"),
    ("live_photo", "live photo"),
    ("video", "video"),
    ("animation", "animation"),
    ("audio", "audio"),
    ("document", "file"),
    ("voice", "voice message"),
    ("video_note", "video message"),
    ("sticker", "sticker"),
    ("paid_media", "paid media"),
    ("location", "location"),
    ("venue", "venue"),
    ("contact", "contact"),
    ("invoice", "invoice"),
    ("game", "game"),
    ("checklist", "checklist"),
    ("rich_message", "rich message"),
    ("forum_topic_created", "new topic"),
    ("migrate_to_chat_id", "this group became a supergroup"),
    ("migrate_from_chat_id", "this supergroup was a group"),
];

/// The panel on the left: the chat, or where to find the bot.
pub(crate) fn panel(snapshot: &Snapshot, sim: Option<&Sim>) -> Markup {
    let bot = &snapshot.bot;
    html! {
        section #chat.panel aria-labelledby="chat-title" {
            @match sim {
                Some(sim) => (simulated(snapshot, sim)),
                None => {
                    h2 #chat-title { "Chat" }
                    div.real {
                        p { "This stack serves the real bot " strong { "@" (bot.username) } "." }
                        p {
                            a.button href={ "https://t.me/" (bot.username) } target="_blank" rel="noopener noreferrer" {
                                "Talk to it in Telegram"
                            }
                        }
                        p { "What you write there appears on this page as it passes." }
                    }
                }
            }
        }
    }
}

fn simulated(snapshot: &Snapshot, sim: &Sim) -> Markup {
    let first = sim.chat(PEOPLE[0]).map(|chat| chat.messages).unwrap_or_default();
    html! {
        div.bar {
            h2 #chat-title { "@" (snapshot.bot.username) }
            span {
                label for="room" { "simulated chat" }
                select #room {
                    @for info in chats(sim) {
                        option value=(info.id) { (label(&info)) }
                    }
                }
            }
            span #speaker-part hidden {
                label for="speaker" { "as" }
                select #speaker {
                    @for id in PEOPLE { option value=(id) { (User::synthetic(id).first_name) } }
                }
            }
        }
        ol #messages.messages tabindex="0" role="log" aria-label="Messages" { (messages(&first)) }
        div #nothing.nothing {
            @if snapshot.is_resumed {
                p { "Nothing said since this start. The bot still knows its earlier state." }
            } @else {
                p { "Nothing said yet." }
            }
            p { "Type " code { "/start" } " below and press Enter, or:" }
            p { button type="button" class="button" data-say="/start" { "Send /start" } }
        }
        p #typing.typing role="status" aria-live="polite" {}
        form #say.say {
            label.unseen for="text" { "Message to the bot" }
            textarea #text name="text" rows="1" maxlength="4096" placeholder="Message, for example /start"
                autocomplete="off" enterkeyhint="send" {}
            button.button type="submit" { "Send" }
        }
    }
}

/// How a chat is called in the list.
pub(crate) fn label(info: &ChatInfo) -> String {
    match info.kind.as_str() {
        _ if PEOPLE.contains(&info.id) || info.id == GROUP_ID => info.title.clone(),
        "private" => format!("{} (chat {})", info.title, info.id),
        kind => format!("{} ({kind})", info.title),
    }
}

/// All messages of a chat.
pub(crate) fn messages(messages: &[Value]) -> Markup {
    html! { @for one in messages { (message(one)) } }
}

/// One bubble.
pub(crate) fn message(message: &Value) -> Markup {
    let text_of = |path: &str| message.pointer(path).and_then(Value::as_str);
    let from_bot = message
        .pointer("/from/is_bot")
        .and_then(Value::as_bool)
        .unwrap_or(false);
    let id = message.get("message_id").and_then(Value::as_i64).unwrap_or(0);
    let author = text_of("/from/first_name")
        .or_else(|| text_of("/sender_chat/title"))
        .unwrap_or_default();
    let date = message.get("date").and_then(Value::as_i64).unwrap_or(0);
    let body = message
        .get("text")
        .or_else(|| message.get("caption"))
        .and_then(Value::as_str);
    html! {
        li data-id=(id) class={ "message " (if from_bot { "bot" } else { "person" }) } {
            div.bubble {
                p.author { (author) }
                @if message.get("forward_origin").is_some() { p.note { "forwarded" } }
                @if let Some(reply) = message.get("reply_to_message") {
                    blockquote { (reply.get("text").and_then(Value::as_str).unwrap_or("a message")) }
                }
                @for note in notes(message) { p.note { (note) } }
                @if let Some(body) = body { p.text { (with_commands(body)) } }
                p.meta {
                    @if message.get("edit_date").is_some() { "edited " }
                    time data-ms=(date * 1_000) data-short="" { (format!("{:02}:{:02}", date / 3_600 % 24, date / 60 % 60)) }
                }
            }
            (buttons(message))
        }
    }
}

/// What else a message has.
fn notes(message: &Value) -> Vec<String> {
    let mut notes: Vec<String> = MEDIA
        .iter()
        .filter_map(|(field, name)| {
            let value = message.get(*field)?;
            let detail = value
                .get("file_name")
                .or_else(|| value.get("title"))
                .or_else(|| value.get("name"));
            Some(match detail.and_then(Value::as_str) {
                Some(detail) => format!("{name}: {detail}"),
                None => (*name).to_owned(),
            })
        })
        .collect();
    if let Some(dice) = message.get("dice") {
        let emoji = dice.get("emoji").and_then(Value::as_str).unwrap_or("dice");
        notes.push(format!(
            "{emoji} shows {}",
            dice.get("value").unwrap_or(&Value::Null)
        ));
    }
    if let Some(poll) = message.get("poll") {
        notes.push(format!(
            "poll: {}",
            poll.get("question").and_then(Value::as_str).unwrap_or_default()
        ));
        let options = poll
            .get("options")
            .and_then(Value::as_array)
            .into_iter()
            .flatten();
        notes.extend(options.filter_map(|option| Some(format!("○ {}", option.get("text")?.as_str()?))));
    }
    notes
}

/// A text in which commands can be pressed, as in Telegram.
fn with_commands(text: &str) -> Markup {
    html! {
        @for word in text.split_inclusive(char::is_whitespace) {
            @let name = word.trim_end_matches(|c: char| c.is_whitespace() || ".,;:!?)".contains(c));
            @if is_command(name) {
                button type="button" class="command" data-say=(name) { (name) } (&word[name.len()..])
            } @else { (word) }
        }
    }
}

fn is_command(word: &str) -> bool {
    word.len() > 1
        && word
            .strip_prefix('/')
            .is_some_and(|name| name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_'))
}

fn buttons(message: &Value) -> Markup {
    let rows = message
        .pointer("/reply_markup/inline_keyboard")
        .and_then(Value::as_array);
    html! {
        @if let Some(rows) = rows {
            div.keyboard {
                @for row in rows {
                    div.keys {
                        @for button in row.as_array().into_iter().flatten() {
                            @let text = button.get("text").and_then(Value::as_str).unwrap_or_default();
                            @match button.get("callback_data").and_then(Value::as_str) {
                                Some(data) => button type="button" data-press=(data) { (text) },
                                None => button type="button" disabled title=(other_action(button)) { (text) },
                            }
                        }
                    }
                }
            }
        }
    }
}

/// Buttons that need a real client say what they would do.
fn other_action(button: &Value) -> String {
    match button.get("url").and_then(Value::as_str) {
        Some(url) => format!("would open {url}"),
        None => "works only in Telegram".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_text_is_escaped() {
        let html = message(&json!({ "message_id": 1, "text": "<b>&\"" })).into_string();
        assert!(html.contains("&lt;b&gt;&amp;&quot;"), "{html}");
    }

    #[test]
    fn a_command_in_a_text_can_be_pressed() {
        let html = with_commands("Try /help, or 1/2 and /start\nnow").into_string();
        assert!(
            html.contains(r#"data-say="/help">/help</button>, or 1/2 and "#),
            "{html}"
        );
        assert!(html.contains(r#"data-say="/start">/start</button>"#), "{html}");
    }

    #[test]
    fn a_button_carries_its_data_and_a_link_says_where_it_leads() {
        let keyboard = json!([[{ "text": "Yes", "callback_data": "y\"es" }, { "text": "Site", "url": "https://weir.example" }]]);
        let html = message(&json!({ "message_id": 1, "reply_markup": { "inline_keyboard": keyboard } }))
            .into_string();
        assert!(html.contains(r#"data-press="y&quot;es""#), "{html}");
        assert!(html.contains("would open https://weir.example"), "{html}");
    }

    #[test]
    fn media_is_named() {
        let html =
            message(&json!({ "document": { "file_name": "plan.pdf" }, "caption": "see" })).into_string();
        assert!(html.contains("file: plan.pdf") && html.contains("see"), "{html}");
    }
}
