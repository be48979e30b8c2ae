//! Buttons below a message. Never keeps what they mean: a press brings back their data.

use serde_json::{Value, json};

/// Longest data of a button, in bytes (Bot API, `InlineKeyboardButton`); Telegram refuses the message otherwise.
pub const MAX_CALLBACK_DATA: usize = 64;

/// A button.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Button {
    text: String,
    does: Does,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Does {
    Callback(String),
    Url(String),
}

impl Button {
    /// A button whose press comes back as a callback query with that data, of 1 to [`MAX_CALLBACK_DATA`] bytes. People
    /// can see and change it: it names things, and gives no rights.
    #[must_use]
    pub fn callback(text: impl Into<String>, data: impl Into<String>) -> Self {
        Self {
            text: text.into(),
            does: Does::Callback(data.into()),
        }
    }

    /// A button that opens a page.
    #[must_use]
    pub fn url(text: impl Into<String>, url: impl Into<String>) -> Self {
        Self {
            text: text.into(),
            does: Does::Url(url.into()),
        }
    }

    fn to_json(&self) -> Value {
        match &self.does {
            Does::Callback(data) => json!({"text": self.text, "callback_data": data}),
            Does::Url(url) => json!({"text": self.text, "url": url}),
        }
    }
}

/// Rows of buttons.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Keyboard {
    rows: Vec<Vec<Button>>,
}

impl Keyboard {
    /// One row; no row without buttons.
    #[must_use]
    pub fn of(row: impl IntoIterator<Item = Button>) -> Self {
        Self::default().row(row)
    }

    /// And this row below.
    #[must_use]
    pub fn row(mut self, row: impl IntoIterator<Item = Button>) -> Self {
        self.rows.push(row.into_iter().collect());
        self
    }
}

impl From<Keyboard> for Value {
    fn from(keyboard: Keyboard) -> Self {
        let rows: Vec<Value> = keyboard
            .rows
            .iter()
            .filter(|row| !row.is_empty())
            .map(|row| row.iter().map(Button::to_json).collect())
            .collect();
        json!({"inline_keyboard": rows})
    }
}
