//! Which route gets an Update, what it reads and how often it is tried.

use std::collections::BTreeMap;
use std::sync::Arc;

use penstock_domain::data::DataKey;
use penstock_domain::ids::{BotId, LedgerKey, UpdateId};
use penstock_domain::retry::Preset;
use penstock_domain::time::Timestamp;
use serde_json::{Value, json};

use super::*;

fn context() -> Context {
    Context::first_try(LedgerKey::new(BotId(1), UpdateId(2)), Timestamp::from_millis(0))
}

fn update(kind: UpdateKind, body: &Value) -> Incoming {
    Incoming::read(kind, &json!({kind.name(): body}).to_string())
}

fn text(text: &str) -> Incoming {
    update(
        UpdateKind::Message,
        &json!({"chat": {"id": 5, "type": "group"}, "text": text}),
    )
}

fn press(data: &str) -> Incoming {
    update(UpdateKind::CallbackQuery, &json!({"id": "7", "data": data}))
}

fn says(result: &'static str) -> impl Fn(&Context, &Incoming) -> Outcome {
    move |_: &Context, _: &Incoming| Outcome::of(result)
}

async fn taken_by(router: &Router, update: &Incoming) -> &'static str {
    router.handle(&context(), update).await.unwrap().result
}

/// Every kind of route, the least specific added first.
fn all() -> Router {
    Router::new()
        .fallback(says("fallback"))
        .on_class(UpdateClass::Message, says("class"))
        .message(says("message"))
        .on(UpdateKind::EditedMessage, says("kind"))
        .text(says("text"))
        .unknown_command(says("unknown"))
        .successful_payment(says("paid"))
        .callback("pay:", says("pay"))
        .callback("", says("press"))
        .command("/start", says("start"))
}

#[tokio::test]
async fn the_most_specific_route_takes_an_update_whatever_the_order_of_adding() {
    let router = all();
    let paid = json!({"chat": {"id": 5}, "successful_payment": {}});
    let bare = json!({"chat": {"id": 5}});
    let table = [
        (text("/start x"), "start"),
        (text("/START"), "start"),
        (text("/started"), "unknown"),
        (text("start"), "text"),
        (press("pay:1"), "pay"),
        (press("payment"), "press"),
        (update(UpdateKind::CallbackQuery, &json!({"id": "7"})), "press"),
        (update(UpdateKind::Message, &paid), "paid"),
        (update(UpdateKind::Message, &bare), "message"),
        (update(UpdateKind::BusinessMessage, &bare), "message"),
        (update(UpdateKind::EditedMessage, &bare), "kind"),
        (update(UpdateKind::ChannelPost, &bare), "class"),
        (update(UpdateKind::PollAnswer, &bare), "fallback"),
        (update(UpdateKind::Unknown, &bare), "fallback"),
    ];
    for (update, expected) in table {
        assert_eq!(taken_by(&router, &update).await, expected, "{}", update.raw);
    }
}

#[tokio::test]
async fn of_equally_specific_routes_the_first_takes_it() {
    let router = Router::new()
        .callback("pay:", says("first"))
        .callback("pay:1", says("second"))
        .message(says("message"))
        .on(UpdateKind::Message, says("kind"));
    assert_eq!(taken_by(&router, &press("pay:1")).await, "first");
    let bare = update(UpdateKind::Message, &json!({}));
    assert_eq!(taken_by(&router, &bare).await, "message");
}

#[tokio::test]
async fn what_no_route_takes_is_ignored_and_reads_nothing() {
    let router = Router::new().command("start", Route::new(says("start")).reads(|_| Reads::state()));
    assert_eq!(
        router.handle(&context(), &text("hello")).await,
        Ok(Outcome::ignored())
    );
    assert_eq!(router.reads(&text("hello")), Reads::nothing());
    // An edit of a command is not the command.
    let edited = update(UpdateKind::EditedMessage, &json!({"text": "/start"}));
    assert_eq!(taken_by(&router, &edited).await, "ignored");
}

#[tokio::test]
async fn a_command_for_another_bot_of_the_group_is_left_alone() {
    let named = all().username("@Own_Bot");
    assert_eq!(taken_by(&named, &text("/start@other_bot")).await, "ignored");
    assert_eq!(named.reads(&text("/start@other_bot")), Reads::nothing());
    assert_eq!(taken_by(&named, &text("/start@own_bot")).await, "start");
    assert_eq!(taken_by(&named, &text("/start")).await, "start");
    assert_eq!(taken_by(&named, &text("hello @other_bot")).await, "text");
    let private = json!({"chat": {"id": 5, "type": "private"}, "text": "/start@other_bot"});
    assert_eq!(
        taken_by(&named, &update(UpdateKind::Message, &private)).await,
        "start"
    );
    assert_eq!(taken_by(&all(), &text("/start@other_bot")).await, "start");
}

#[test]
fn a_route_reads_what_it_says_for_each_update() {
    let key = |update: &Incoming| DataKey::new("order", update.callback_data().unwrap_or_default());
    let router = Router::new()
        .callback(
            "pay:",
            Route::new(says("pay")).reads(move |update| Reads::nothing().and(key(update))),
        )
        .text(says("text"));
    let expected = Reads::nothing().and(DataKey::new("order", "pay:1"));
    assert_eq!(router.reads(&press("pay:1")), expected);
    assert_eq!(router.reads(&text("hello")), Reads::nothing());
}

#[test]
fn a_policy_is_the_routes_own_else_the_classs_as_chosen_else_the_classs_preset() {
    let patient = Preset::Outage24h.policy();
    let short = RetryPolicy {
        max_attempts: 2,
        ..RetryPolicy::default()
    };
    let router = Router::new()
        .command("pay", Route::new(says("pay")).policy(patient))
        .command("start", says("start"))
        .policy_for(UpdateClass::Command, patient)
        .policy_for(UpdateClass::Command, short);
    assert_eq!(router.policy(&text("/pay")), patient);
    assert_eq!(router.policy(&text("/start")), short);
    assert_eq!(router.policy(&text("/other")), short);
    assert_eq!(router.policy(&text("hello")), Preset::Seed.policy());
    let checkout = update(UpdateKind::PreCheckoutQuery, &json!({}));
    assert_eq!(router.policy(&checkout), Preset::Payments.policy());
}

#[test]
fn a_webhook_needs_the_kinds_that_some_route_may_take() {
    let router = Router::new()
        .command("start", says("start"))
        .callback("", says("press"));
    let expected = [
        UpdateKind::Message,
        UpdateKind::BusinessMessage,
        UpdateKind::CallbackQuery,
    ];
    assert_eq!(router.allowed_updates(), expected);
    let money = Router::new().on_class(UpdateClass::Payment, says("money"));
    assert!(money.allowed_updates().contains(&UpdateKind::PreCheckoutQuery));
    assert!(!money.allowed_updates().contains(&UpdateKind::Message));
    let commands = Router::new().on_class(UpdateClass::Command, says("command"));
    assert!(commands.allowed_updates().contains(&UpdateKind::ChannelPost));
    assert_eq!(
        Router::new().fallback(says("all")).allowed_updates(),
        UpdateKind::ALL
    );
    assert_eq!(Router::new().allowed_updates(), []);
}

async fn borrowing(context: &Context, update: &Incoming) -> Result<Outcome, BotError> {
    tokio::task::yield_now().await;
    if update.text.as_deref() == Some("fail") {
        return Err(BotError::Unclassified {
            message: context.key.to_string(),
        });
    }
    Ok(Outcome::send(update.reply("later")))
}

fn at_once(_: &Context, _: &Incoming) -> Result<Outcome, BotError> {
    Ok(Outcome::of("at_once"))
}

#[tokio::test]
async fn functions_async_functions_and_closures_are_handlers() {
    let prices: Arc<BTreeMap<&str, &str>> = Arc::new(BTreeMap::from([("tea", "cheap")]));
    let owned = Arc::clone(&prices);
    let router = Router::new()
        .command("once", at_once)
        .command("borrow", async |_: &Context, update: &Incoming| {
            tokio::task::yield_now().await;
            Outcome::send(update.reply("borrowed"))
        })
        .command("own", move |_: &Context, update: &Incoming| {
            let (prices, reply) = (Arc::clone(&owned), update.reply(""));
            async move {
                tokio::task::yield_now().await;
                Outcome::of(prices["tea"]).then(reply)
            }
        })
        .command("capture", move |_: &Context, _: &Incoming| {
            Outcome::of(prices["tea"])
        })
        .text(borrowing);
    for (said, result) in [
        ("/once", "at_once"),
        ("/borrow", "sent"),
        ("/own", "cheap"),
        ("/capture", "cheap"),
        ("hello", "sent"),
    ] {
        assert_eq!(taken_by(&router, &text(said)).await, result, "{said}");
    }
    let failed = router.handle(&context(), &text("fail")).await;
    assert!(matches!(failed, Err(BotError::Unclassified { message }) if message == "1:2"));
}

#[test]
fn a_router_can_be_shared_and_its_future_sent() {
    fn is_sent<T: Send>(_: &T) {}
    fn is_shared<T: Send + Sync + 'static>(_: &T) {}
    let (router, context, update) = (all(), context(), text("hello"));
    is_shared(&router);
    is_sent(&router.handle(&context, &update));
}
