//! Injected faults, as a client over HTTP sees them.

use serde_json::{Value, json};

use super::{TOKEN, serve, sim};
use crate::{CallError, Fault, FaultKind};

fn fault(kind: FaultKind) -> Fault {
    Fault {
        method: Some("sendMessage".to_owned()),
        chat: None,
        kind,
        times: 1,
    }
}

#[tokio::test]
async fn a_lost_answer_leaves_the_message_in_the_chat() {
    let (sim, _) = sim();
    let url = format!("{}/bot{TOKEN}/sendMessage?chat_id=1&text=x", serve(&sim).await);
    sim.inject(fault(FaultKind::NoAnswerButDone));
    let error = reqwest::get(&url).await.unwrap_err();
    assert!(error.is_request() && !error.is_connect(), "{error:?}");
    assert_eq!(sim.chat(1).unwrap().messages.len(), 1);
    let call = &sim.calls()[0];
    assert!(call.is_done() && !call.answered);
    assert_eq!(reqwest::get(&url).await.unwrap().status(), 200);
}

#[tokio::test]
async fn a_lost_request_leaves_nothing() {
    let (sim, _) = sim();
    let url = format!("{}/bot{TOKEN}/sendMessage?chat_id=1&text=x", serve(&sim).await);
    sim.inject(fault(FaultKind::NoAnswerNotDone));
    assert!(reqwest::get(&url).await.is_err());
    assert!(sim.chat(1).is_none());
    assert_eq!(sim.calls()[0].outcome, None);
}

#[tokio::test]
async fn a_bad_gateway_is_a_web_page() {
    let (sim, _) = sim();
    let url = format!("{}/bot{TOKEN}/sendMessage?chat_id=1&text=x", serve(&sim).await);
    sim.inject(fault(FaultKind::Html502));
    let response = reqwest::get(&url).await.unwrap();
    assert_eq!(response.status(), 502);
    assert!(response.text().await.unwrap().starts_with("<html>"));
    assert!(sim.chat(1).is_none());
}

#[tokio::test]
async fn an_injected_status_is_answered_as_telegram_shapes_it() {
    let (sim, _) = sim();
    let url = format!("{}/bot{TOKEN}/sendMessage?chat_id=1&text=x", serve(&sim).await);
    sim.inject(fault(FaultKind::Status {
        code: 403,
        description: "Forbidden: bot was blocked by the user".to_owned(),
        parameters: None,
    }));
    let body: Value = reqwest::get(&url).await.unwrap().json().await.unwrap();
    let expected =
        json!({ "ok": false, "error_code": 403, "description": "Forbidden: bot was blocked by the user" });
    assert_eq!(body, expected);
}

#[tokio::test]
async fn a_slow_call_is_executed_after_its_wait() {
    let (sim, _) = sim();
    sim.inject(fault(FaultKind::Slow { ms: 8_000 }));
    let message = sim
        .call("sendMessage", json!({ "chat_id": 1, "text": "x" }))
        .await
        .unwrap();
    let start = crate::clock::test_clock::JumpClock::START_MS;
    assert_eq!(message["date"], (start + 8_000) / 1_000);
}

#[tokio::test]
async fn faults_can_be_taken_back() {
    let (sim, _) = sim();
    sim.inject(Fault {
        times: 9,
        ..fault(FaultKind::NoAnswerNotDone)
    });
    let params = json!({ "chat_id": 1, "text": "x" });
    assert_eq!(
        sim.call("sendMessage", params.clone()).await,
        Err(CallError::NoAnswer)
    );
    sim.clear_faults();
    assert!(sim.call("sendMessage", params).await.is_ok());
}
