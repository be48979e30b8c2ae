//! Posts updates to the webhook of a bot, one task per bot. It does what the pure parts decide: which update
//! (`lanes`), over how many connections (`connections`), and what then (`policy`). It never follows a
//! redirect and never gives up on its own.

use std::sync::{Arc, Weak};

use axum::extract::Request;
use http::header::{CONTENT_ENCODING, CONTENT_TYPE, RETRY_AFTER};
use reqwest::Client;
use tokio::sync::Notify;

use super::connections::Start;
use super::lanes::{Delivery, Take};
use super::policy::{self, Answer, Next};
use crate::body;
use crate::methods;
use crate::params::Params;
use crate::record::{SimEvent, Via};
use crate::sim::Inner;
use crate::world::{Bot, World};

/// An answer has to be complete within this (server source: 60 seconds).
const TIMEOUT_MS: u64 = 60_000;
/// Bytes of an answer whose method is executed (server source: 1 MiB).
const MAX_ANSWER_BYTES: usize = 1 << 20;
/// Where the secret goes (Bot API, setWebhook).
const SECRET_HEADER: &str = "X-Telegram-Bot-Api-Secret-Token";

/// Where to deliver, as of one moment.
struct Target {
    generation: u64,
    url: String,
    secret: Option<String>,
}

enum Step {
    Deliver(Target, Delivery),
    WaitUntil(i64),
    Idle,
}

/// Starts the pusher of a bot unless it runs.
pub(crate) fn ensure(inner: &Arc<Inner>, bot: i64) {
    let wake = inner.with(|world| {
        let bot = world.bots.get_mut(&bot)?;
        let starts = bot.webhook.is_some() && !std::mem::replace(&mut bot.pusher_runs, bot.webhook.is_some());
        starts.then(|| bot.pusher.0.clone())
    });
    if let Some(wake) = wake {
        tokio::spawn(run(Arc::downgrade(inner), bot, wake));
    }
}

/// Ends when the webhook is deleted or the simulation is gone.
async fn run(inner: Weak<Inner>, bot: i64, wake: Arc<Notify>) {
    loop {
        let Some(strong) = inner.upgrade() else { return };
        let now = strong.clock.now_ms();
        let Some(step) = strong.with(|world| next_step(world, bot, now)) else {
            return;
        };
        match step {
            Step::Deliver(target, delivery) => {
                tokio::spawn(deliver(strong, bot, target, delivery));
            }
            Step::WaitUntil(at) => {
                let sleep = strong.clock.sleep((at - now).max(1).unsigned_abs());
                drop(strong);
                tokio::select! {
                    () = wake.notified() => {}
                    () = sleep => {}
                }
            }
            Step::Idle => {
                drop(strong);
                wake.notified().await;
            }
        }
    }
}

/// `None` ends the pusher.
fn next_step(world: &mut World, id: i64, now: i64) -> Option<Step> {
    let bot = world.bots.get_mut(&id)?;
    let Some(webhook) = &mut bot.webhook else {
        bot.pusher_runs = false;
        return None;
    };
    // A connection is asked for only when there is something to send over it.
    match bot.lanes.peek(now) {
        Take::Idle => return Some(Step::Idle),
        Take::WaitUntil(at) => return Some(Step::WaitUntil(at)),
        Take::Deliver(_) => {}
    }
    match webhook.connections.take(now, bot.lanes.in_flight()) {
        Start::Reuse | Start::Open => {}
        Start::At(at) => return Some(Step::WaitUntil(at)),
        Start::Full => return Some(Step::Idle),
    }
    let target = Target {
        generation: bot.webhook_generation,
        url: webhook.url.clone(),
        secret: webhook.secret.clone(),
    };
    match bot.lanes.take(now) {
        Take::Deliver(delivery) => Some(Step::Deliver(target, delivery)),
        Take::WaitUntil(at) => Some(Step::WaitUntil(at)),
        Take::Idle => Some(Step::Idle),
    }
}

async fn deliver(inner: Arc<Inner>, bot: i64, target: Target, delivery: Delivery) {
    let client = inner.client.get_or_init(|| {
        Client::builder()
            .redirect(reqwest::redirect::Policy::none())
            .no_proxy()
            .http1_only()
            .build()
            .ok()
    });
    let (answer, method) = match client {
        Some(client) => {
            let limit = inner.clock.real_duration(TIMEOUT_MS);
            let posted = tokio::time::timeout(limit, post(client, &target, &delivery)).await;
            posted.unwrap_or_else(|_| (Answer::Failed("Read timeout expired".to_owned()), None))
        }
        None => (Answer::Failed("Can't create an SSL connection".to_owned()), None),
    };
    let now = inner.clock.now_ms();
    inner.with(|world| {
        let draw = world.rng.f64();
        let Some(bot) = world.bots.get_mut(&bot) else {
            return;
        };
        if bot.webhook_generation == target.generation {
            let event = settle(bot, now, draw, &delivery, &answer);
            world.events.extend(event);
        }
    });
    if let Some((method, params)) = method {
        inner.execute(bot, &method, params, Via::WebhookAnswer).await;
    }
}

/// Applies the decision about a delivery that ended.
fn settle(bot: &mut Bot, now: i64, draw: f64, delivery: &Delivery, answer: &Answer) -> Option<SimEvent> {
    let Delivery {
        update_id, attempt, ..
    } = *delivery;
    let (failures, expires_at) = bot.lanes.standing(update_id)?;
    let next = policy::next(failures, now, expires_at, answer, draw);
    bot.lanes.settle(update_id, next);
    bot.pusher.0.notify_one();
    let webhook = bot.webhook.as_mut()?;
    webhook
        .connections
        .ended(now, answer.is_success(), matches!(answer, Answer::Status { .. }));
    let (gone_since, close) = policy::gone(webhook.gone_since, now, answer);
    webhook.gone_since = gone_since;
    if next == Next::Delivered {
        return Some(SimEvent::WebhookDelivered { update_id, attempt });
    }
    let reason = answer.error_message();
    webhook.last_error = Some((now, reason.clone()));
    if close {
        bot.webhook = None;
        bot.webhook_generation += 1;
        bot.lanes.restart(1);
    }
    let next_at_ms = if let Next::RetryAt(at) = next {
        Some(at)
    } else {
        None
    };
    Some(SimEvent::WebhookFailed {
        update_id,
        attempt,
        reason,
        next_at_ms,
    })
}

/// One request. Also returns the method that a successful answer asks to execute.
async fn post(client: &Client, target: &Target, delivery: &Delivery) -> (Answer, Option<(String, Params)>) {
    let mut request = client
        .post(&target.url)
        .header(CONTENT_TYPE, "application/json")
        .header(http::header::ACCEPT_ENCODING, "gzip, deflate")
        .body(delivery.body.clone());
    if let Some(secret) = &target.secret {
        request = request.header(SECRET_HEADER, secret);
    }
    let failed = |text: &str| (Answer::Failed(text.to_owned()), None);
    let response = match request.send().await {
        Ok(response) => response,
        Err(error) if error.is_connect() => return failed("Can't connect to the webhook"),
        Err(_) => return failed("Connection closed"),
    };
    let status = response.status();
    let header = |name| {
        response
            .headers()
            .get(name)
            .and_then(|value| value.to_str().ok())
            .map(ToOwned::to_owned)
    };
    let (retry_after, kind, encoding) = (
        header(RETRY_AFTER),
        header(CONTENT_TYPE),
        header(CONTENT_ENCODING),
    );
    let Ok(bytes) = response.bytes().await else {
        return failed("Connection closed");
    };
    let encoding = encoding.unwrap_or_else(|| "identity".to_owned());
    if !["identity", "gzip", "deflate"].contains(&encoding.as_str()) {
        return failed("Unsupported Content-Encoding in the response");
    }
    let reason = status.canonical_reason().unwrap_or_default().to_owned();
    let answer = Answer::Status {
        code: status.as_u16(),
        reason,
        retry_after,
    };
    let method = match kind {
        Some(kind) if status.is_success() && encoding == "identity" => method_of(&kind, bytes).await,
        _ => None,
    };
    (answer, method)
}

/// The method in the body of an answer, if it may be executed that way.
async fn method_of(kind: &str, bytes: bytes::Bytes) -> Option<(String, Params)> {
    if bytes.is_empty() || bytes.len() > MAX_ANSWER_BYTES {
        return None;
    }
    let request = Request::builder()
        .method("POST")
        .header(CONTENT_TYPE, kind)
        .body(bytes.into())
        .ok()?;
    let params = body::read(request).await.ok()?;
    let method = methods::find(&params.text("method")?)?;
    method
        .may_answer_a_webhook()
        .then(|| (method.name.to_owned(), params))
}
