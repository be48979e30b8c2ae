//! A fresh embedded stack for each test: free ports, a folder of its own, the functions as processes.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use penstock_aws::Ledger;
use penstock_domain::ids::{BotId, LedgerKey, UpdateId};
use penstock_domain::ledger::{Record, Retention};
use penstock_local::{SimulatedTelegram, Stack, StackOptions, Telegram};
use penstock_ports::Inbox as _;
use telegram_sim::{Profile, Sim};

/// Longest wait for a stack to come to rest, on the wall; never reached by a stack that works.
const REST_LIMIT: Duration = Duration::from_secs(120);
/// Stack seconds in one second, where a test waits for backoffs or leases.
pub(crate) const FAST: f64 = 20.0;

pub(crate) struct TestStack {
    pub(crate) stack: Stack,
    http: reqwest::Client,
}

pub(crate) async fn start(change: impl FnOnce(&mut StackOptions)) -> TestStack {
    let mut options = StackOptions::new(PathBuf::from(env!("CARGO_BIN_EXE_penstock-test-functions")));
    options.telegram = Telegram::Simulated(SimulatedTelegram {
        profile: Profile::Strict,
        seed: Some(7),
        ..SimulatedTelegram::default()
    });
    change(&mut options);
    let stack = Stack::start(options).await.expect("the stack starts");
    TestStack {
        stack,
        http: reqwest::Client::new(),
    }
}

impl TestStack {
    pub(crate) fn sim(&self) -> &Sim {
        self.stack.sim().expect("Telegram is simulated")
    }

    /// Posts a body to the webhook as Telegram does, which comes again when it is not accepted; gives back the last
    /// HTTP status.
    pub(crate) async fn post(&self, body: String) -> u16 {
        let mut status = 0;
        for _ in 0..5 {
            status = self.request(body.clone()).await.status().as_u16();
            if status < 500 {
                break;
            }
        }
        status
    }

    /// Posts a body to the webhook once.
    pub(crate) async fn request(&self, body: String) -> reqwest::Response {
        let request = self
            .http
            .post(self.stack.webhook_url())
            .header("X-Telegram-Bot-Api-Secret-Token", self.stack.webhook_secret())
            .header("Content-Type", "application/json")
            .body(body);
        request.send().await.expect("the front answers")
    }

    pub(crate) async fn rest(&self) {
        assert!(
            self.stack.idle(REST_LIMIT).await,
            "the stack did not come to rest: {:?}",
            self.stack.view().queues().await
        );
    }

    pub(crate) fn ledger(&self) -> Ledger {
        let table = &self.stack.resources().tables[0].name;
        let day = Duration::from_secs(86_400);
        let retention = Retention {
            dedup_window: 7 * day,
            dead: 90 * day,
        };
        Ledger::new(self.stack.clients().dynamodb.clone(), table, retention)
    }

    /// The ledger record of an Update.
    pub(crate) async fn record(&self, update_id: i64) -> Option<Record> {
        let key = LedgerKey::new(BotId(self.stack.bot_id()), UpdateId(update_id));
        self.ledger().read(&key).await.expect("the ledger can be read")
    }

    /// Puts an Update of that chat into the queue as a newer release of ours would have.
    pub(crate) async fn enqueue_newer(&self, update_id: i64, chat: i64) {
        let sqs = &self.stack.clients().sqs;
        let bot = self.stack.bot_id();
        let queue = sqs
            .get_queue_url()
            .queue_name("penstock-updates.fifo")
            .send()
            .await;
        let body = serde_json::json!({"schema_version": 2, "bot_id": bot, "what": "nobody knows yet"});
        sqs.send_message()
            .queue_url(queue.unwrap().queue_url.unwrap())
            .message_group_id(format!("{bot}:c:{chat}"))
            .message_deduplication_id(format!("{bot}:{update_id}"))
            .message_body(body.to_string())
            .send()
            .await
            .unwrap();
    }

    /// How many lines of the functions' logs hold that text.
    pub(crate) fn logged(&self, text: &str) -> usize {
        let lines = self.stack.view().logs().recent();
        lines.iter().filter(|line| line.text.contains(text)).count()
    }

    /// The texts that the bot sent to a chat and Telegram took, in order.
    pub(crate) fn replies(&self, chat: i64) -> Vec<String> {
        texts_sent(self.sim(), chat)
    }
}

/// The texts that the bot sent to a chat and Telegram took, in order.
pub(crate) fn texts_sent(sim: &Sim, chat: i64) -> Vec<String> {
    let sent = |call: &telegram_sim::SentCall| {
        call.method == "sendMessage" && call.is_done() && call.chat_id == Some(chat)
    };
    let text = |call: telegram_sim::SentCall| call.params["text"].as_str().unwrap_or_default().to_owned();
    sim.calls().into_iter().filter(sent).map(text).collect()
}

/// An Update with a text message.
pub(crate) fn text(update_id: i64, chat: i64, text: &str) -> String {
    serde_json::json!({
        "update_id": update_id,
        "message": {
            "message_id": update_id, "date": 1_790_000_000, "text": text,
            "chat": {"id": chat, "type": "private", "first_name": "Ada"},
            "from": {"id": chat, "is_bot": false, "first_name": "Ada"},
        }
    })
    .to_string()
}

/// Environment that arms a failpoint in every function.
pub(crate) fn failpoint(point: &str) -> BTreeMap<String, String> {
    BTreeMap::from([("PENSTOCK_FAILPOINTS".to_owned(), point.to_owned())])
}
