//! One request: check, route, enqueue, answer.

use constant_time_eq::constant_time_eq;
use lambda_http::http::Method;
use lambda_http::{Body, Request, RequestExt as _, Response};
use penstock_domain::ids::{BotId, LedgerKey, quarantine_group, trace_id};
use penstock_domain::route::{RouteError, route};
use penstock_domain::secret::BotSecret;
use penstock_formats::envelope::enclose;
use penstock_formats::quarantine::{Quarantined, Reason};
use penstock_ports::{Clock, Enqueue, PortError, QueueSender, SecretSource};

use crate::answer::{Answer, instant_ack};

/// Largest body that is taken: 700 KiB. Telegram's largest Update has 512 KiB (Bot API server, `TQueue`), SQS takes
/// 1 MiB.
const MAX_BODY: usize = 700 * 1024;
/// Largest queue body, in bytes (SQS: 1 MiB), with room for the message's own attributes.
const MAX_MESSAGE: usize = 1024 * 1024 - 1024;
/// Codes with which SQS refuses a message for its content or size (SQS API reference, SendMessage).
const REFUSED_FOR_CONTENT: &[&str] = &["InvalidMessageContents", "InvalidParameterValue"];
/// Where Telegram puts the secret.
const SECRET_HEADER: &str = "x-telegram-bot-api-secret-token";

/// What the ingress works with.
pub struct Deps<S, Q, C> {
    /// Bot secrets.
    pub secrets: S,
    /// The updates queue.
    pub updates: Q,
    /// Its dead-letter queue, for what is no Update.
    pub quarantine: Q,
    /// The clock.
    pub clock: C,
}

/// Answers a request. Whatever goes wrong is an answer: Telegram keeps what was not accepted.
pub async fn handle<S: SecretSource, Q: QueueSender, C: Clock>(
    deps: &Deps<S, Q, C>,
    request: Request,
) -> Response<Body> {
    let (bot, answer) = match path(request.raw_http_path()) {
        None => (None, Answer::NotFound),
        Some((bot, path_key)) => (Some(bot), receive(deps, bot, path_key, &request).await),
    };
    let status = answer.status().as_u16();
    match answer {
        Answer::Accepted(_) => {}
        Answer::Unavailable => tracing::error!(bot.id = bot.map(|b| b.0), status, "update not accepted"),
        _ => tracing::warn!(bot.id = bot.map(|b| b.0), status, "request turned away"),
    }
    answer.into_response()
}

/// `/telegram/{bot_id}/{path_key}`.
fn path(path: &str) -> Option<(BotId, &str)> {
    let (bot, path_key) = path.strip_prefix("/telegram/")?.split_once('/')?;
    let digits = !bot.is_empty() && bot.bytes().all(|b| b.is_ascii_digit());
    (digits && !path_key.is_empty() && !path_key.contains('/'))
        .then(|| Some((BotId(bot.parse().ok()?), path_key)))?
}

async fn receive<S: SecretSource, Q: QueueSender, C: Clock>(
    deps: &Deps<S, Q, C>,
    bot: BotId,
    path_key: &str,
    request: &Request,
) -> Answer {
    let mut secret = match deps.secrets.bot_secret(bot).await {
        Ok(Some(secret)) => secret,
        Ok(None) => return Answer::NotFound,
        Err(error) => return unavailable(bot, &error),
    };
    if !has_path(&secret, path_key) {
        // It may have been changed since it was read.
        match deps.secrets.refreshed(bot).await {
            Ok(Some(fresh)) if has_path(&fresh, path_key) => secret = fresh,
            Ok(_) => return Answer::NotFound,
            Err(error) => return unavailable(bot, &error),
        }
    }
    if request.method() != Method::POST {
        return Answer::NotPost;
    }
    let given = given_secret(request);
    if !has_secret(&secret, given) {
        // It may have been rotated since it was read.
        match deps.secrets.refreshed(bot).await {
            Ok(Some(fresh)) if has_secret(&fresh, given) => {}
            Ok(_) => return Answer::Forbidden,
            Err(error) => return unavailable(bot, &error),
        }
    }
    let body = request.body().as_ref();
    if body.len() > MAX_BODY {
        return Answer::TooLarge;
    }
    enqueue(deps, bot, &secret, body).await
}

fn has_path(secret: &BotSecret, given: &str) -> bool {
    secret
        .path_key
        .as_ref()
        .is_some_and(|key| constant_time_eq(key.reveal().as_bytes(), given.as_bytes()))
}

/// The secret of a request; empty if there is none, or more than one.
fn given_secret(request: &Request) -> &[u8] {
    let mut given = request.headers().get_all(SECRET_HEADER).iter();
    match (given.next(), given.next()) {
        (Some(value), None) => value.as_bytes(),
        _ => b"",
    }
}

/// Fails closed: without a configured secret, or with an empty one, nothing passes.
fn has_secret(secret: &BotSecret, given: &[u8]) -> bool {
    let configured = secret
        .webhook_secret
        .as_ref()
        .map(|secret| secret.reveal())
        .filter(|secret| !secret.is_empty());
    configured.is_some_and(|configured| constant_time_eq(configured.as_bytes(), given))
}

async fn enqueue<S, Q: QueueSender, C: Clock>(
    deps: &Deps<S, Q, C>,
    bot: BotId,
    secret: &BotSecret,
    body: &[u8],
) -> Answer {
    let now = deps.clock.now();
    let route = match (route(body), std::str::from_utf8(body)) {
        (Ok(route), Ok(text)) => (route, text),
        (Err(RouteError::BadUpdateId), _) => {
            return quarantine(deps, bot, Reason::BadUpdateId, body, Answer::BadUpdateId).await;
        }
        (Err(RouteError::Unparseable(_)), _) | (Ok(_), Err(_)) => {
            return quarantine(deps, bot, Reason::Unparseable, body, Answer::Quarantined).await;
        }
    };
    let (route, text) = route;
    let trace = trace_id(bot, route.update_id);
    let message = enclose(bot, &route, &trace, text, now);
    if message.len() > MAX_MESSAGE {
        return quarantine(deps, bot, Reason::TooLarge, body, Answer::Quarantined).await;
    }
    let enqueued = Enqueue {
        group: route.group(bot),
        deduplication: LedgerKey::new(bot, route.update_id).deduplication_id(0),
        body: message,
    };
    match deps.updates.enqueue(enqueued).await {
        Ok(()) => {
            tracing::info!(
                bot.id = bot.0,
                update.id = route.update_id.0,
                kind = route.kind_name,
                trace_id = trace,
                bytes = body.len(),
                "accepted"
            );
            Answer::Accepted(instant_ack(secret.instant_ack, &route))
        }
        // Refused for what it is: every repeat would be, and block its chat for a day.
        Err(PortError::Rejected { code, .. }) if REFUSED_FOR_CONTENT.contains(&code.as_str()) => {
            quarantine(deps, bot, Reason::RefusedByQueue, body, Answer::Quarantined).await
        }
        Err(error) => unavailable(bot, &error),
    }
}

async fn quarantine<S, Q: QueueSender, C: Clock>(
    deps: &Deps<S, Q, C>,
    bot: BotId,
    reason: Reason,
    body: &[u8],
    answer: Answer,
) -> Answer {
    let quarantined = Quarantined::new(bot, reason, deps.clock.now(), body);
    let Ok(message) = quarantined.write() else {
        return Answer::Unavailable;
    };
    let enqueued = Enqueue {
        group: quarantine_group(bot, body),
        deduplication: quarantined.key.deduplication_id(0),
        body: message,
    };
    match deps.quarantine.enqueue(enqueued).await {
        Ok(()) => {
            tracing::warn!(
                bot.id = bot.0,
                reason = reason.code(),
                bytes = body.len(),
                "quarantined"
            );
            answer
        }
        Err(error) => unavailable(bot, &error),
    }
}

fn unavailable(bot: BotId, error: &PortError) -> Answer {
    tracing::error!(bot.id = bot.0, error = %error, "a service that the ingress needs is away");
    Answer::Unavailable
}

#[cfg(test)]
#[path = "handler_tests.rs"]
mod tests;
