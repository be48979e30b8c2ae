//! What happens to a connection: before it stands, while the request is on its way, while the answer is, and when it is
//! used again.

use std::time::Duration;

use penstock_backend::HttpTimes;
use penstock_domain::breaker::{Cause, ProbeAnswer};
use penstock_ports::{Backend, BackendError, Silence, Unreached};

use crate::server::{
    AMPLE, Nobody, SHORT, Step, answer, answering, client, client_with, code, deliver, deliver_as, following,
    serving, write,
};

const OK: &str = "HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n";

/// What is known of an exchange that had no answer.
async fn silence(steps: Vec<Step>, limit: Duration) -> Silence {
    let server = following(steps).await;
    match deliver(&client(&server.url()), limit).await {
        Err(BackendError::NoAnswer { why, .. }) => why,
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn a_refused_port_and_an_unknown_name_are_unreachable() {
    // A resolver may take its time to say that there is no such name.
    let times = HttpTimes {
        connect: AMPLE / 2,
        ..HttpTimes::default()
    };
    let nobody = Nobody::new();
    for (url, why) in [
        (nobody.url(), Unreached::Refused),
        ("http://penstock-test.invalid/".to_owned(), Unreached::Name),
    ] {
        let backend = client_with(&url, None, times);
        let error = deliver(&backend, AMPLE).await.unwrap_err();
        assert_eq!(error, BackendError::Unreachable(why));
        assert_eq!(error.cause(), Some(Cause::Unreachable));
        assert_eq!(backend.probe().await, ProbeAnswer::Nothing);
    }
}

#[tokio::test]
async fn a_connection_that_does_not_come_about_in_time_is_unreachable() {
    // It takes the connection and never answers the handshake.
    let server = following(vec![Step::Stall]).await;
    let times = HttpTimes {
        connect: SHORT,
        ..HttpTimes::default()
    };
    let backend = client_with(&format!("https://{}/", server.address), None, times);
    let error = deliver(&backend, AMPLE).await.unwrap_err();
    assert_eq!(error, BackendError::Unreachable(Unreached::Slow));
}

#[tokio::test]
async fn a_slow_answer_within_the_limit_is_an_answer() {
    let server = following(vec![Step::Read, Step::Think(SHORT), write(OK)]).await;
    assert_eq!(deliver(&client(&server.url()), AMPLE).await, Ok(None));
}

#[tokio::test]
async fn silence_ends_with_the_limit() {
    let head = "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 9\r\n\r\n";
    for steps in [
        vec![Step::Stall],
        vec![Step::Read, Step::Stall],
        vec![Step::Read, write("HTTP/1.1 200"), Step::Stall],
        vec![Step::Read, write(head), Step::Stall],
        vec![Step::Read, write("HTTP/1.1 200 OK\r\nx: "), Step::Drip(b'x')],
        vec![Step::Read, write(&head.replace('9', "99999")), Step::Drip(b' ')],
    ] {
        let shown = format!("{steps:?}");
        assert_eq!(silence(steps, SHORT).await, Silence::TimeOver, "{shown}");
    }
}

#[tokio::test]
async fn a_200_after_the_limit_changes_nothing_and_is_not_asked_for_again() {
    let (asked, answered) = (
        std::sync::Arc::new(tokio::sync::Notify::new()),
        tokio::sync::Notify::new(),
    );
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let backend = client(&format!("http://{}/", listener.local_addr().unwrap()));
    let may_answer = std::sync::Arc::clone(&asked);
    let server = async {
        use tokio::io::{AsyncReadExt, AsyncWriteExt};
        let (mut stream, _) = listener.accept().await.unwrap();
        let mut request = vec![0; 4096];
        // It may come to nothing: on a machine under load the client gives up before it has written.
        let read = stream.read(&mut request).await.unwrap_or(0);
        may_answer.notified().await;
        // It may fail: the client has hung up.
        let wrote = stream.write_all(OK.as_bytes()).await;
        answered.notify_one();
        (read, wrote.is_ok())
    };
    let client = async {
        let outcome = deliver(&backend, SHORT).await;
        asked.notify_one();
        answered.notified().await;
        outcome
    };
    let (outcome, _) = tokio::join!(client, server);
    assert_eq!(outcome.unwrap_err().code(), "backend_no_answer");
    let again = tokio::time::timeout(SHORT, listener.accept()).await;
    assert!(again.is_err(), "it connected once more");
}

#[tokio::test]
async fn what_breaks_off_is_no_answer() {
    let json = "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n";
    for steps in [
        vec![Step::Reset],
        vec![Step::ReadBytes(10), Step::Reset],
        vec![Step::Read, Step::Reset],
        vec![Step::Read],
        vec![Step::Read, write("HTTP/1.1 2"), Step::Reset],
        vec![
            Step::Read,
            write(&format!("{json}content-length: 9\r\n\r\n{{")),
            Step::Reset,
        ],
        vec![Step::Read, write(&format!("{json}content-length: 9\r\n\r\n{{"))],
        vec![
            Step::Read,
            write(&format!("{json}transfer-encoding: chunked\r\n\r\n5\r\n{{")),
        ],
        vec![Step::Read, write("\0\u{1}\u{2} garbage \r\n\r\n")],
        vec![Step::Read, write("SSH-2.0-OpenSSH_9.6\r\n")],
        vec![Step::Read, write("HTTP/1.1 abc\r\n\r\n")],
        vec![Step::Read, Step::Flood(b"HTTP/1.1 200 OK\r\nx: y\r\n".to_vec())],
    ] {
        let shown = format!("{steps:?}");
        assert_eq!(silence(steps, AMPLE).await, Silence::BrokenOff, "{shown}");
    }
}

#[tokio::test]
async fn a_big_update_that_is_cut_off_is_no_answer() {
    let update = format!(r#"{{"update_id":8,"x":"{}"}}"#, "x".repeat(16 * 1024 * 1024));
    let server = following(vec![Step::ReadBytes(100_000), Step::Reset]).await;
    let error = deliver_as(&client(&server.url()), &update, 1, AMPLE)
        .await
        .unwrap_err();
    assert_eq!(error.code(), "backend_no_answer");
    assert_eq!(error.cause(), None);
}

#[tokio::test]
async fn a_body_that_no_call_could_be_in_may_break_off() {
    let head = "HTTP/1.1 200 OK\r\ncontent-type: text/html\r\ncontent-length: 500\r\n\r\n<h1>";
    let server = following(vec![Step::Read, write(head), Step::Reset]).await;
    assert_eq!(deliver(&client(&server.url()), AMPLE).await, Ok(None));
}

#[tokio::test]
async fn a_connection_is_used_again_while_it_is_fresh() {
    let server = answering(|_| OK.as_bytes().to_vec()).await;
    let times = HttpTimes {
        idle: AMPLE,
        ..HttpTimes::default()
    };
    let backend = client_with(&server.url(), None, times);
    for _ in 0..3 {
        assert_eq!(deliver(&backend, AMPLE).await, Ok(None));
    }
    assert_eq!((server.connections(), server.seen().len()), (1, 3));
}

#[tokio::test]
async fn a_connection_that_has_idled_too_long_is_not_used_again() {
    let server = answering(|_| OK.as_bytes().to_vec()).await;
    let times = HttpTimes {
        idle: Duration::from_millis(1),
        ..HttpTimes::default()
    };
    let backend = client_with(&server.url(), None, times);
    assert_eq!(deliver(&backend, AMPLE).await, Ok(None));
    tokio::time::sleep(Duration::from_millis(10)).await;
    assert_eq!(deliver(&backend, AMPLE).await, Ok(None));
    assert_eq!(server.connections(), 2);
}

#[tokio::test]
async fn a_reset_of_a_reused_connection_is_no_answer_and_is_not_repeated() {
    // The server may have read the second request before it closed: nobody can tell.
    let server = serving(|connection| match connection {
        0 => vec![Step::Read, write(OK), Step::Read, Step::Reset],
        _ => vec![Step::Read, write(OK)],
    })
    .await;
    let times = HttpTimes {
        idle: AMPLE,
        ..HttpTimes::default()
    };
    let backend = client_with(&server.url(), None, times);
    assert_eq!(deliver(&backend, AMPLE).await, Ok(None));
    assert_eq!(code(&backend, AMPLE).await, "backend_no_answer");
    assert_eq!((server.connections(), server.seen().len()), (1, 2));
    assert_eq!(deliver(&backend, AMPLE).await, Ok(None));
}

#[tokio::test]
async fn a_server_that_says_it_closes_gets_a_new_connection() {
    let closing = "HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: 0\r\n\r\n";
    let server = following(vec![Step::Read, write(closing)]).await;
    let backend = client(&server.url());
    for _ in 0..3 {
        assert_eq!(deliver(&backend, AMPLE).await, Ok(None));
    }
    assert_eq!((server.connections(), server.seen().len()), (3, 3));
}

#[tokio::test]
async fn a_probe_is_one_head_and_ends_with_its_limit() {
    for (status, is_up) in [
        (200, true),
        (404, true),
        (405, true),
        (500, true),
        (502, false),
        (503, false),
    ] {
        let server = following(vec![Step::Read, answer(status, "text/plain", "")]).await;
        let probed = client(&server.url()).probe().await;
        assert_eq!((probed, probed.is_up()), (ProbeAnswer::Status(status), is_up));
        let seen = &server.seen()[0];
        assert!(seen.head.starts_with("HEAD /hook HTTP/1.1"), "{}", seen.head);
        assert_eq!(seen.header("x-telegram-bot-api-secret-token"), None);
        assert_eq!(seen.body.len(), 0);
    }
    let server = following(vec![Step::Stall]).await;
    let times = HttpTimes {
        probe: SHORT,
        ..HttpTimes::default()
    };
    let backend = client_with(&server.url(), None, times);
    assert_eq!(backend.probe().await, ProbeAnswer::Nothing);
}
