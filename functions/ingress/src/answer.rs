//! What Telegram is answered. Never a redirect and never 410: Telegram follows none, and 23 hours of 410 delete the
//! webhook.

use lambda_http::http::{StatusCode, header};
use lambda_http::{Body, Response};
use penstock_domain::ids::Scope;
use penstock_domain::kind::UpdateKind;
use penstock_domain::route::Route;
use penstock_domain::secret::InstantAck;
use serde_json::json;

/// Seconds after which Telegram shall come again when the queue is away. Telegram obeys whole seconds up to 3,600;
/// short, since what it holds back blocks its own queue of that chat.
const RETRY_AFTER_SECS: &str = "3";

/// An answer to a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Answer {
    /// Accepted; perhaps with one harmless method that Telegram executes at once.
    Accepted(Option<String>),
    /// Kept, but no Update: a 4xx would be repeated for a day and block that chat.
    Quarantined,
    /// Kept, and told: Telegram never sends this.
    BadUpdateId,
    /// Wrong or missing secret, or none configured.
    Forbidden,
    /// No such path.
    NotFound,
    /// Not a POST.
    NotPost,
    /// Larger than any Update.
    TooLarge,
    /// The queue did not take it: nothing was lost, Telegram still has it.
    Unavailable,
}

impl Answer {
    pub(crate) fn status(&self) -> StatusCode {
        match self {
            Self::Accepted(_) | Self::Quarantined => StatusCode::OK,
            Self::BadUpdateId => StatusCode::BAD_REQUEST,
            Self::Forbidden => StatusCode::FORBIDDEN,
            Self::NotFound => StatusCode::NOT_FOUND,
            Self::NotPost => StatusCode::METHOD_NOT_ALLOWED,
            Self::TooLarge => StatusCode::PAYLOAD_TOO_LARGE,
            Self::Unavailable => StatusCode::SERVICE_UNAVAILABLE,
        }
    }

    pub(crate) fn into_response(self) -> Response<Body> {
        let mut response = Response::new(Body::Empty);
        *response.status_mut() = self.status();
        let headers = response.headers_mut();
        match self {
            Self::Accepted(Some(method)) => {
                headers.insert(
                    header::CONTENT_TYPE,
                    header::HeaderValue::from_static("application/json"),
                );
                *response.body_mut() = Body::Text(method);
            }
            Self::Unavailable => {
                headers.insert(
                    header::RETRY_AFTER,
                    header::HeaderValue::from_static(RETRY_AFTER_SECS),
                );
            }
            Self::NotPost => {
                headers.insert(header::ALLOW, header::HeaderValue::from_static("POST"));
            }
            _ => {}
        }
        response
    }
}

/// The method that Telegram shall execute with the 200, if this bot wants one.
pub(crate) fn instant_ack(choice: InstantAck, route: &Route) -> Option<String> {
    match (choice, route.kind, &route.scope, &route.own_id) {
        (InstantAck::Callbacks | InstantAck::All, UpdateKind::CallbackQuery, _, Some(id)) => {
            Some(json!({"method": "answerCallbackQuery", "callback_query_id": id}).to_string())
        }
        (InstantAck::All, UpdateKind::Message, Scope::Chat(chat), _) => {
            let chat: i64 = chat.parse().ok()?;
            Some(json!({"method": "sendChatAction", "chat_id": chat, "action": "typing"}).to_string())
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use penstock_domain::route::route;

    #[test]
    fn only_what_the_bot_wants_is_executed_with_the_200() {
        let callback = route(br#"{"update_id":1,"callback_query":{"id":"77","from":{"id":9}}}"#).unwrap();
        let message = route(br#"{"update_id":1,"message":{"chat":{"id":5}}}"#).unwrap();
        assert_eq!(instant_ack(InstantAck::Off, &callback), None);
        assert!(instant_ack(InstantAck::Callbacks, &callback).is_some_and(|ack| ack.contains("\"77\"")));
        assert_eq!(instant_ack(InstantAck::Callbacks, &message), None);
        assert!(instant_ack(InstantAck::All, &message).is_some_and(|ack| ack.contains("typing")));
    }

    #[test]
    fn an_unavailable_queue_says_in_whole_seconds_when_to_come_again() {
        let response = Answer::Unavailable.into_response();
        let after = response.headers()["retry-after"]
            .to_str()
            .unwrap()
            .parse::<u32>()
            .unwrap();
        assert!((1..=3600).contains(&after));
    }
}
