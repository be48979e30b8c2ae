//! The ingress, case by case: requests come in as API Gateway hands them over. This file has what all cases need and
//! the requests that are turned away.

use lambda_http::http::StatusCode;
use lambda_http::{Body, Request, Response};
use penstock_domain::ids::BotId;
use penstock_domain::secret::{BotSecret, BotToken, InstantAck, PathKey, WebhookSecret};
use penstock_domain::time::Timestamp;
use penstock_events::{HttpWrap, http_event};
use penstock_ports::{PortError, SecretSource};
use penstock_testkit::{FakeQueue, FakeSecrets, Fault, ManualClock};
use serde_json::Value;

use crate::handler::{Deps, handle};

#[path = "handler_tests/accepted.rs"]
mod accepted;
#[path = "handler_tests/logs.rs"]
mod logs;
#[path = "handler_tests/quarantined.rs"]
mod quarantined;

const BOT: BotId = BotId(7_000_001);
const PATH_KEY: &str = "path-key-of-the-tests";
const SECRET: &str = "secret-of-the-tests";
const NOW: Timestamp = Timestamp::from_millis(1_790_000_000_000);
const HELLO: &[u8] = br#"{"update_id":810000001,"message":{"message_id":11,"date":1790000000,"chat":{"id":700000001,"type":"private"},"text":"hello"}}"#;

fn secret(webhook_secret: Option<&str>, instant_ack: InstantAck) -> BotSecret {
    BotSecret {
        token: BotToken::new("7000001:token-of-the-tests".to_owned()),
        webhook_secret: webhook_secret.map(|secret| WebhookSecret::new(secret.to_owned())),
        path_key: Some(PathKey::new(PATH_KEY.to_owned())),
        instant_ack,
        backend: penstock_domain::secret::BackendSecret::default(),
    }
}

type World = Deps<FakeSecrets, FakeQueue, ManualClock>;

fn world_with(bot: BotSecret) -> World {
    Deps {
        secrets: FakeSecrets::with(BOT, bot),
        updates: FakeQueue::default(),
        quarantine: FakeQueue::default(),
        clock: ManualClock::at(NOW),
    }
}

fn world() -> World {
    world_with(secret(Some(SECRET), InstantAck::Off))
}

fn right() -> HttpWrap<'static> {
    HttpWrap {
        bot_id: BOT.0,
        path_key: PATH_KEY,
        secret: Some(SECRET),
        ..HttpWrap::default()
    }
}

fn request(event: &Value) -> Request {
    lambda_http::request::from_str(&event.to_string()).unwrap()
}

async fn send(world: &World, wrap: &HttpWrap<'_>, body: &[u8]) -> Response<Body> {
    handle(world, request(&http_event(body, wrap))).await
}

/// The status of a request, of which nothing may have been kept.
async fn turned_away(world: &World, wrap: &HttpWrap<'_>, body: &[u8]) -> u16 {
    let response = send(world, wrap, body).await;
    assert_eq!(
        world.updates.messages(),
        [],
        "something of a refused request was queued"
    );
    assert_eq!(
        world.quarantine.messages(),
        [],
        "something of a refused request was quarantined"
    );
    assert!(matches!(response.body(), Body::Empty), "a refusal tells nothing");
    response.status().as_u16()
}

#[tokio::test]
async fn a_wrong_or_missing_secret_is_forbidden_and_nothing_is_kept() {
    let world = world();
    let prefix = &SECRET[..SECRET.len() - 1];
    let longer = format!("{SECRET}x");
    for given in [
        None,
        Some(""),
        Some("wrong"),
        Some(prefix),
        Some(longer.as_str()),
        Some("SECRET-OF-THE-TESTS"),
    ] {
        assert_eq!(
            turned_away(
                &world,
                &HttpWrap {
                    secret: given,
                    ..right()
                },
                HELLO
            )
            .await,
            403,
            "{given:?}"
        );
        let not_an_update = HttpWrap {
            secret: given,
            ..right()
        };
        assert_eq!(
            turned_away(&world, &not_an_update, b"not json").await,
            403,
            "{given:?}"
        );
    }
}

#[tokio::test]
async fn without_a_configured_secret_nothing_passes() {
    for configured in [None, Some("")] {
        let world = world_with(secret(configured, InstantAck::Off));
        for given in [None, Some(""), Some(SECRET)] {
            let wrap = HttpWrap {
                secret: given,
                ..right()
            };
            assert_eq!(
                turned_away(&world, &wrap, HELLO).await,
                403,
                "{configured:?} {given:?}"
            );
        }
    }
}

#[tokio::test]
async fn a_secret_that_is_given_twice_is_no_secret() {
    let world = world();
    let mut request = request(&http_event(HELLO, &right()));
    request
        .headers_mut()
        .append("x-telegram-bot-api-secret-token", "wrong".parse().unwrap());
    assert_eq!(handle(&world, request).await.status(), StatusCode::FORBIDDEN);
    // API Gateway joins headers of one name.
    let joined = format!("{SECRET},{SECRET}");
    assert_eq!(
        turned_away(
            &world,
            &HttpWrap {
                secret: Some(&joined),
                ..right()
            },
            HELLO
        )
        .await,
        403
    );
}

#[tokio::test]
async fn an_unknown_path_key_or_bot_is_not_found() {
    let world = world();
    assert_eq!(
        turned_away(
            &world,
            &HttpWrap {
                path_key: "wrong",
                ..right()
            },
            HELLO
        )
        .await,
        404
    );
    assert_eq!(
        turned_away(
            &world,
            &HttpWrap {
                path_key: "",
                ..right()
            },
            HELLO
        )
        .await,
        404
    );
    assert_eq!(
        turned_away(&world, &HttpWrap { bot_id: 8, ..right() }, HELLO).await,
        404
    );
    let keyless = BotSecret {
        path_key: None,
        ..secret(Some(SECRET), InstantAck::Off)
    };
    assert_eq!(turned_away(&world_with(keyless), &right(), HELLO).await, 404);
}

#[tokio::test]
async fn a_path_of_another_form_is_not_found() {
    let world = world();
    for path in [
        "/".to_owned(),
        "/telegram".to_owned(),
        format!("/telegram/{BOT}"),
        format!("/telegram/{BOT}/{PATH_KEY}/"),
        format!("/telegram/{BOT}/{PATH_KEY}/more"),
        format!("/telegram/+{BOT}/{PATH_KEY}"),
        format!("/telegram/{BOT}{}/{PATH_KEY}", "0".repeat(30)),
        format!("/other/{BOT}/{PATH_KEY}"),
        format!("/telegram//{PATH_KEY}"),
    ] {
        let mut event = http_event(HELLO, &right());
        event["rawPath"] = path.as_str().into();
        event["requestContext"]["http"]["path"] = path.as_str().into();
        assert_eq!(
            handle(&world, request(&event)).await.status(),
            StatusCode::NOT_FOUND,
            "{path}"
        );
    }
    assert_eq!(world.updates.calls() + world.quarantine.calls(), 0);
}

#[tokio::test]
async fn only_a_post_is_taken() {
    let world = world();
    for method in ["GET", "PUT", "DELETE", "HEAD", "OPTIONS"] {
        let response = send(&world, &HttpWrap { method, ..right() }, HELLO).await;
        assert_eq!(response.status(), StatusCode::METHOD_NOT_ALLOWED, "{method}");
        assert_eq!(response.headers()["allow"], "POST");
    }
    assert_eq!(world.updates.calls() + world.quarantine.calls(), 0);
}

/// Larger than anything that Telegram sends: not kept, not even in quarantine.
#[tokio::test]
async fn a_body_of_701_kib_is_too_large_and_one_of_700_is_not() {
    let world = world();
    let body = |bytes: usize| {
        let head = r#"{"update_id":1,"message":{"chat":{"id":5},"text":""#;
        format!("{head}{}\"}}}}", "a".repeat(bytes - head.len() - 3)).into_bytes()
    };
    assert_eq!(turned_away(&world, &right(), &body(701 * 1024)).await, 413);
    assert_eq!(turned_away(&world, &right(), &body(700 * 1024 + 1)).await, 413);
    assert_eq!(
        send(&world, &right(), &body(700 * 1024)).await.status(),
        StatusCode::OK
    );
    assert_eq!(world.updates.messages().len(), 1);
}

#[tokio::test]
async fn nothing_is_ever_answered_with_a_redirect_or_with_gone() {
    let world = world();
    let wraps = [
        right(),
        HttpWrap {
            secret: None,
            ..right()
        },
        HttpWrap {
            path_key: "wrong",
            ..right()
        },
        HttpWrap {
            method: "GET",
            ..right()
        },
    ];
    for wrap in wraps {
        for body in [HELLO, b"nonsense", b"{}", b"", b"\xff"] {
            let status = send(&world, &wrap, body).await.status();
            assert!(!status.is_redirection() && status != StatusCode::GONE, "{status}");
        }
    }
}

#[tokio::test]
async fn a_rotated_secret_is_picked_up_by_one_refresh() {
    let world = world();
    assert_eq!(send(&world, &right(), HELLO).await.status(), StatusCode::OK);
    assert_eq!(
        world.secrets.refreshes(),
        0,
        "a secret that matches is not read again"
    );
    world.secrets.store(BOT, secret(Some("rotated"), InstantAck::Off));
    let rotated = HttpWrap {
        secret: Some("rotated"),
        ..right()
    };
    for _ in 0..3 {
        assert_eq!(send(&world, &rotated, HELLO).await.status(), StatusCode::OK);
    }
    assert_eq!(world.secrets.refreshes(), 1);
    assert_eq!(
        send(&world, &right(), HELLO).await.status(),
        StatusCode::FORBIDDEN,
        "the old one has ended"
    );
}

#[tokio::test]
async fn secrets_that_cannot_be_read_turn_an_update_away_only_for_now() {
    let world = world();
    world.secrets.fail_next(1, Fault::Unavailable);
    assert_eq!(turned_away(&world, &right(), HELLO).await, 503);
    assert_eq!(send(&world, &right(), HELLO).await.status(), StatusCode::OK);
}

/// It may have been rotated, so that only a refresh could tell right from wrong: Telegram shall come again.
#[tokio::test]
async fn a_secret_that_cannot_be_refreshed_is_neither_right_nor_wrong() {
    struct CannotRefresh(FakeSecrets);
    impl SecretSource for CannotRefresh {
        async fn bot_secret(&self, bot: BotId) -> Result<Option<BotSecret>, PortError> {
            self.0.bot_secret(bot).await
        }
        async fn refreshed(&self, _bot: BotId) -> Result<Option<BotSecret>, PortError> {
            Err(Fault::NeverArrived.error("secrets.refreshed"))
        }
    }
    let World {
        secrets,
        updates,
        quarantine,
        clock,
    } = world();
    let deps = Deps {
        secrets: CannotRefresh(secrets),
        updates,
        quarantine,
        clock,
    };
    let rotated = HttpWrap {
        secret: Some("rotated"),
        ..right()
    };
    let response = handle(&deps, request(&http_event(HELLO, &rotated))).await;
    assert_eq!(response.status(), StatusCode::SERVICE_UNAVAILABLE);
    assert_eq!(deps.updates.calls(), 0);
}
