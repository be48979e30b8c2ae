//! Answers to queries. Each has a short life at Telegram: what comes later is dropped and counted, never an error.

use serde_json::{Value, json};

use super::{
    AnswerCallbackQuery, AnswerInlineQuery, AnswerPreCheckoutQuery, AnswerShippingQuery, AnswersInline,
    AnswersPress, Request,
};

/// Stops the pressed button's spinner. With the default instant acknowledgement the ingress has done so already, and
/// Telegram takes one answer a press: use it only where that is off.
#[must_use]
pub fn answer_callback_query(id: &str) -> Request<AnswerCallbackQuery> {
    Request::begin().param("callback_query_id", id)
}

impl<M: AnswersPress> Request<M> {
    /// With a notice over the chat, of at most 200 characters.
    #[must_use]
    pub fn notice(self, text: impl Into<String>) -> Self {
        self.param("text", text.into())
    }

    /// With a notice that has to be closed.
    #[must_use]
    pub fn alert(self, text: impl Into<String>) -> Self {
        self.notice(text).param("show_alert", true)
    }
}

/// Results of an inline query; at most 50.
#[must_use]
pub fn answer_inline_query(id: &str, results: Vec<Value>) -> Request<AnswerInlineQuery> {
    Request::begin()
        .param("inline_query_id", id)
        .param("results", results)
}

impl<M: AnswersInline> Request<M> {
    /// Telegram may give the same results to others for that many seconds; 300 if it is not set.
    #[must_use]
    pub fn cache_secs(self, secs: u32) -> Self {
        self.param("cache_time", secs)
    }

    /// The results are this person's alone.
    #[must_use]
    pub fn personal(self) -> Self {
        self.param("is_personal", true)
    }
}

/// Lets a payment go on. Telegram wants it within 10 s.
#[must_use]
pub fn accept_pre_checkout(id: &str) -> Request<AnswerPreCheckoutQuery> {
    Request::begin()
        .param("pre_checkout_query_id", id)
        .param("ok", true)
}

/// Stops a payment; the person is told why.
#[must_use]
pub fn refuse_pre_checkout(id: &str, why: impl Into<String>) -> Request<AnswerPreCheckoutQuery> {
    Request::begin()
        .param("pre_checkout_query_id", id)
        .param("ok", false)
        .param("error_message", why.into())
}

/// Ways of shipping: `{"id", "title", "prices"}` each.
#[must_use]
pub fn offer_shipping(id: &str, options: Vec<Value>) -> Request<AnswerShippingQuery> {
    Request::begin()
        .param("shipping_query_id", id)
        .param("ok", true)
        .param("shipping_options", json!(options))
}

/// Nothing is shipped there; the person is told why.
#[must_use]
pub fn refuse_shipping(id: &str, why: impl Into<String>) -> Request<AnswerShippingQuery> {
    Request::begin()
        .param("shipping_query_id", id)
        .param("ok", false)
        .param("error_message", why.into())
}
