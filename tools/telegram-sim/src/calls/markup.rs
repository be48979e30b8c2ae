//! Checks of `reply_markup` that real bots trip over. Pure.

use serde_json::Value;

use crate::api::ApiError;

/// Bytes of callback data (Bot API, InlineKeyboardButton).
const CALLBACK_DATA_BYTES: std::ops::RangeInclusive<usize> = 1..=64;
/// What makes an inline button do something (Bot API 10.3, InlineKeyboardButton).
const ACTIONS: &[&str] = &[
    "url",
    "callback_data",
    "web_app",
    "login_url",
    "switch_inline_query",
    "switch_inline_query_current_chat",
    "switch_inline_query_chosen_chat",
    "copy_text",
    "callback_game",
    "pay",
];

/// All buttons of an inline keyboard.
pub(crate) fn inline_buttons(markup: &Value) -> impl Iterator<Item = &Value> {
    let rows = markup.get("inline_keyboard").and_then(Value::as_array);
    rows.into_iter().flatten().filter_map(Value::as_array).flatten()
}

/// Refuses a keyboard that Telegram would refuse. The markup that the message keeps is only an inline one.
pub(super) fn check(markup: Option<Value>) -> Result<Option<Value>, ApiError> {
    let Some(markup) = markup else { return Ok(None) };
    for button in inline_buttons(&markup) {
        if !ACTIONS.iter().any(|action| button.get(action).is_some()) {
            let text =
                "can't parse inline keyboard button: Text buttons are unallowed in the inline keyboard";
            return Err(ApiError::bad_request(text));
        }
        if button
            .get("callback_data")
            .and_then(Value::as_str)
            .is_some_and(|data| !CALLBACK_DATA_BYTES.contains(&data.len()))
        {
            return Err(ApiError::bad_request("BUTTON_DATA_INVALID"));
        }
    }
    Ok(markup.get("inline_keyboard").is_some().then_some(markup))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn keyboard(button: &Value) -> Option<Value> {
        Some(json!({ "inline_keyboard": [[button]] }))
    }

    #[test]
    fn a_button_that_does_nothing_is_refused() {
        let error = check(keyboard(&json!({ "text": "x" }))).unwrap_err();
        assert!(
            error.description.contains("Text buttons are unallowed"),
            "{error}"
        );
    }

    #[test]
    fn callback_data_has_one_to_sixty_four_bytes() {
        let with = |data: &str| check(keyboard(&json!({ "text": "x", "callback_data": data })));
        assert!(with(&"a".repeat(64)).is_ok());
        assert_eq!(
            with(&"é".repeat(33)).unwrap_err().description,
            "Bad Request: BUTTON_DATA_INVALID"
        );
        assert!(with("").is_err());
    }

    #[test]
    fn a_reply_keyboard_is_accepted_and_not_kept_with_the_message() {
        assert_eq!(check(Some(json!({ "keyboard": [["yes"]] }))), Ok(None));
    }
}
