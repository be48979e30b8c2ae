//! The Bot API over HTTP: tokens, parameters in every form, uploads, long polling.

use serde_json::{Value, json};

use super::{TOKEN, serve, sim};

async fn body(response: reqwest::Response) -> Value {
    response.json().await.unwrap()
}

#[tokio::test]
async fn an_unknown_token_is_unauthorized_and_a_malformed_one_not_found() {
    let (sim, _) = sim();
    let root = serve(&sim).await;
    let response = reqwest::get(format!("{root}/bot1:other/getMe")).await.unwrap();
    assert_eq!(response.status(), 401);
    let unauthorized = json!({ "ok": false, "error_code": 401, "description": "Unauthorized" });
    assert_eq!(body(response).await, unauthorized);
    for path in ["/botnonsense/getMe", "/bot424242/getMe", "/", "/bot"] {
        let response = reqwest::get(format!("{root}{path}")).await.unwrap();
        assert_eq!((path, response.status().as_u16()), (path, 404));
        assert_eq!(body(response).await["error_code"], 404);
    }
}

#[tokio::test]
async fn the_colon_of_a_token_may_be_encoded() {
    let (sim, _) = sim();
    let root = serve(&sim).await;
    let url = format!("{root}/bot{}/getMe", TOKEN.replace(':', "%3A"));
    assert_eq!(
        body(reqwest::get(url).await.unwrap()).await["result"]["id"],
        424_242
    );
}

#[tokio::test]
async fn parameters_come_by_query_json_form_or_multipart() {
    let (sim, _) = sim();
    let url = format!("{}/bot{TOKEN}/sendMessage", serve(&sim).await);
    let client = reqwest::Client::new();
    let form = "chat_id=2&text=form%20text&reply_markup=%7B%22inline_keyboard%22%3A%5B%5D%7D";
    let requests = [
        client.get(format!("{url}?chat_id=1&text=query%20text")),
        client
            .post(&url)
            .json(&json!({ "chat_id": 1, "text": "json text" })),
        client
            .post(&url)
            .header("content-type", "application/x-www-form-urlencoded")
            .body(form),
        client.post(&url).multipart(
            reqwest::multipart::Form::new()
                .text("chat_id", "2")
                .text("text", "multipart text"),
        ),
        client
            .post(format!("{url}?chat_id=3"))
            .json(&json!({ "text": "both" })),
    ];
    let mut texts = Vec::new();
    for request in requests {
        let answer = body(request.send().await.unwrap()).await;
        texts.push(answer["result"]["text"].as_str().unwrap_or_default().to_owned());
    }
    assert_eq!(
        texts,
        ["query text", "json text", "form text", "multipart text", "both"]
    );
    assert_eq!(
        sim.calls()[2].params["reply_markup"],
        json!({ "inline_keyboard": [] })
    );
}

#[tokio::test]
async fn an_upload_is_recorded_by_its_size_and_can_be_fetched() {
    let (sim, _) = sim();
    let root = serve(&sim).await;
    let part = reqwest::multipart::Part::bytes(vec![7; 100_000]).file_name("report.pdf");
    let form = reqwest::multipart::Form::new()
        .text("chat_id", "1")
        .part("document", part);
    let url = format!("{root}/bot{TOKEN}/sendDocument");
    let sent = body(
        reqwest::Client::new()
            .post(url)
            .multipart(form)
            .send()
            .await
            .unwrap(),
    )
    .await;
    let document = &sent["result"]["document"];
    assert_eq!(
        (&document["file_name"], &document["file_size"]),
        (&json!("report.pdf"), &json!(100_000))
    );
    assert_eq!(sim.calls()[0].params["document"]["upload"]["size"], 100_000);

    let id = document["file_id"].as_str().unwrap();
    let file = body(
        reqwest::get(format!("{root}/bot{TOKEN}/getFile?file_id={id}"))
            .await
            .unwrap(),
    )
    .await;
    let path = file["result"]["file_path"].as_str().unwrap();
    let bytes = reqwest::get(format!("{root}/file/bot{TOKEN}/{path}"))
        .await
        .unwrap()
        .bytes()
        .await
        .unwrap();
    assert_eq!(bytes.len(), 100_000);
    let missing = reqwest::get(format!("{root}/file/bot{TOKEN}/files/9/none"))
        .await
        .unwrap();
    assert_eq!(missing.status(), 404);
}

#[tokio::test]
async fn a_body_that_is_no_json_is_a_bad_request() {
    let (sim, _) = sim();
    let url = format!("{}/bot{TOKEN}/sendMessage", serve(&sim).await);
    let request = reqwest::Client::new()
        .post(url)
        .header("content-type", "application/json")
        .body("{");
    assert_eq!(request.send().await.unwrap().status(), 400);
}

#[tokio::test]
async fn a_flood_answer_has_the_wait_in_its_header_too() {
    let (sim, _) = sim();
    let url = format!("{}/bot{TOKEN}/sendMessage?chat_id=1&text=x", serve(&sim).await);
    for _ in 0..3 {
        reqwest::get(&url).await.unwrap();
    }
    let response = reqwest::get(&url).await.unwrap();
    assert_eq!(
        (response.status().as_u16(), &response.headers()["retry-after"]),
        (429, &"1".parse().unwrap())
    );
    assert_eq!(body(response).await["parameters"], json!({ "retry_after": 1 }));
}

#[tokio::test]
async fn get_updates_returns_what_waits_until_it_is_confirmed() {
    let (sim, _) = sim();
    let url = format!("{}/bot{TOKEN}/getUpdates", serve(&sim).await);
    sim.user_text(1, 1, "one");
    sim.user_update_raw(
        "message",
        r#"{"message_id":2,"chat":{"id":1},"text":"\ud83d lone"}"#,
    );
    let raw = reqwest::get(&url).await.unwrap().text().await.unwrap();
    assert!(raw.contains(r#""text":"\ud83d lone""#), "{raw}");
    let id = sim.user_text(1, 1, "three").unwrap();
    let rest = body(reqwest::get(format!("{url}?offset={id}")).await.unwrap()).await;
    assert_eq!(
        (
            rest["result"].as_array().unwrap().len(),
            &rest["result"][0]["update_id"]
        ),
        (1, &json!(id))
    );
    assert_eq!(sim.pending_updates(), 1);
    reqwest::get(format!("{url}?offset={}", id + 1)).await.unwrap();
    assert_eq!(sim.pending_updates(), 0);
}

#[tokio::test]
async fn a_second_get_updates_ends_the_first() {
    // The machine's clock, so that the first one really waits.
    let sim = crate::Sim::new(crate::SimOptions::default());
    sim.add_bot(TOKEN, "penstock_demo_bot").unwrap();
    let first = tokio::spawn({
        let sim = sim.clone();
        async move { sim.call("getUpdates", json!({ "timeout": 50 })).await }
    });
    let started = || sim.inner.with(|world| world.bots[&424_242].poll_generation) == 1;
    while !started() {
        tokio::task::yield_now().await;
    }
    let second = sim.call("getUpdates", json!({})).await;
    assert_eq!(second, Ok(json!([])));
    let error = first.await.unwrap().unwrap_err().to_string();
    assert!(
        error.starts_with("409 Conflict: terminated by other getUpdates request"),
        "{error}"
    );
}

#[tokio::test]
async fn long_polling_wakes_up_with_the_first_update() {
    let sim = crate::Sim::new(crate::SimOptions::default());
    sim.add_bot(TOKEN, "penstock_demo_bot").unwrap();
    let poll = tokio::spawn({
        let sim = sim.clone();
        async move { sim.call("getUpdates", json!({ "timeout": 50 })).await }
    });
    while sim.inner.with(|world| world.bots[&424_242].poll_generation) == 0 {
        tokio::task::yield_now().await;
    }
    sim.user_text(1, 1, "hello");
    let updates = poll.await.unwrap().unwrap();
    assert_eq!(updates[0]["message"]["text"], "hello");
}

#[tokio::test]
async fn get_updates_conflicts_with_a_webhook() {
    let (sim, _) = sim();
    sim.call("setWebhook", json!({ "url": "https://bot.example/x" }))
        .await
        .unwrap();
    let url = format!("{}/bot{TOKEN}/getUpdates", serve(&sim).await);
    let response = reqwest::get(url).await.unwrap();
    assert_eq!(response.status(), 409);
    assert!(
        body(response).await["description"]
            .as_str()
            .unwrap()
            .contains("while webhook is active")
    );
}
