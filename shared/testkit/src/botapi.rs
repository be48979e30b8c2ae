//! The Bot API with scripted answers. Never checks parameters: the simulated Telegram does that.

use std::collections::{HashMap, VecDeque};
use std::sync::{Mutex, MutexGuard, PoisonError};

use penstock_domain::secret::BotToken;
use penstock_ports::{ApiError, ApiReply, BotApi};

/// A call that was made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MadeCall {
    /// With which token.
    pub token: BotToken,
    /// Which method.
    pub method: String,
    /// Its parameters, JSON.
    pub params: String,
}

#[derive(Debug, Default)]
struct Inner {
    scripts: HashMap<String, VecDeque<Result<ApiReply, ApiError>>>,
    calls: Vec<MadeCall>,
    last_message_id: i64,
}

/// A Bot API that answers as it was told, method by method, and confirms everything else with rising message ids.
#[derive(Debug, Default)]
pub struct FakeBotApi(Mutex<Inner>);

impl FakeBotApi {
    /// Adds the answer to a future call of that method; answers are used in the order in which they were added.
    pub fn answer(&self, method: &str, answer: Result<ApiReply, ApiError>) {
        self.inner()
            .scripts
            .entry(method.to_owned())
            .or_default()
            .push_back(answer);
    }

    /// The calls so far, in order.
    #[must_use]
    pub fn calls(&self) -> Vec<MadeCall> {
        self.inner().calls.clone()
    }

    /// The methods and parameters called so far, in order.
    #[must_use]
    pub fn sent(&self) -> Vec<(String, String)> {
        self.inner()
            .calls
            .iter()
            .map(|call| (call.method.clone(), call.params.clone()))
            .collect()
    }

    /// How many scripted answers were not used.
    #[must_use]
    pub fn unused_answers(&self) -> usize {
        self.inner().scripts.values().map(VecDeque::len).sum()
    }

    fn inner(&self) -> MutexGuard<'_, Inner> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl BotApi for FakeBotApi {
    async fn call(&self, token: &BotToken, method: &str, params: &str) -> Result<ApiReply, ApiError> {
        let mut inner = self.inner();
        inner.calls.push(MadeCall {
            token: token.clone(),
            method: method.to_owned(),
            params: params.to_owned(),
        });
        if let Some(answer) = inner.scripts.get_mut(method).and_then(VecDeque::pop_front) {
            return answer;
        }
        inner.last_message_id += 1;
        Ok(ApiReply {
            message_id: Some(inner.last_message_id),
            already_done: false,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn scripted_answers_come_first_and_in_order() {
        let api = FakeBotApi::default();
        let token = BotToken::new("1:synthetic".to_owned());
        let lost = ApiError::NoAnswer {
            method: "sendMessage".to_owned(),
        };
        api.answer("sendMessage", Err(lost.clone()));
        assert_eq!(api.unused_answers(), 1);
        assert_eq!(api.call(&token, "sendMessage", "{}").await, Err(lost));
        assert_eq!(
            api.call(&token, "sendMessage", "{}").await.unwrap().message_id,
            Some(1)
        );
        assert_eq!(
            api.call(&token, "sendPhoto", "{}").await.unwrap().message_id,
            Some(2)
        );
        assert_eq!(api.calls().len(), 3);
        assert_eq!(api.sent()[2], ("sendPhoto".to_owned(), "{}".to_owned()));
    }
}
