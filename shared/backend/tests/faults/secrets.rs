//! Neither the secret nor the URL nor a text shows in an error or a log line.

use std::cell::RefCell;
use std::io::Write;
use std::sync::Once;

use penstock_backend::{HttpBackend, HttpTimes, Target};
use penstock_domain::secret::WebhookSecret;
use penstock_ports::Backend;
use proptest::prelude::*;

use crate::function::function;
use crate::server::{
    AMPLE, Nobody, SECRET, SHORT, Server, Step, Still, UPDATE, answer, deliver_as, following, write,
};

thread_local! {
    /// What this thread has logged, if anybody wants to know.
    static LOG: RefCell<Option<Vec<u8>>> = const { RefCell::new(None) };
}

/// Writes to [`LOG`].
struct Here;

impl Write for Here {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        LOG.with_borrow_mut(|log| log.iter_mut().for_each(|log| log.extend_from_slice(bytes)));
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

fn backend(url: &str, secret: &str) -> HttpBackend<Still> {
    let secret = Some(WebhookSecret::new(secret.to_owned()));
    let Target::Http(target) = Target::parse(url, secret, None).unwrap() else {
        panic!("no URL");
    };
    HttpBackend::new(target, HttpTimes::default(), Still).unwrap()
}

/// Servers that fail in every way, quoting the request where they can.
async fn failing(quote: &str) -> Vec<Server> {
    let location = format!("HTTP/1.1 302 X\r\nlocation: /{quote}\r\ncontent-length: 0\r\n\r\n");
    let cut =
        format!("HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 999\r\n\r\n{quote}");
    let scripts = [
        answer(500, "text/plain", &format!("failed for {quote} at {quote}")),
        answer(
            200,
            "application/json",
            &format!("{{\"method\":\"getMe\",\"x\":\"{quote}\""),
        ),
        write(&location),
        write(&cut),
        write(&format!("{quote}\r\n\r\n")),
    ];
    let mut servers = Vec::new();
    for script in scripts {
        servers.push(following(vec![Step::Read, script]).await);
    }
    servers
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]
    /// Whatever fails, the error shows nothing of what is secret, and its excerpt neither.
    #[test]
    fn nothing_secret_is_in_an_error_or_in_the_log(secret in "[A-Za-z0-9_-]{12,64}", path in "[a-z0-9]{12,20}") {
        let (shown, logged) = logged(async {
            let update = format!(r#"{{"update_id":8,"message":{{"text":"Wanda{path}"}}}}"#);
            let quote = format!("Wanda{path} /{path} {secret}");
            let nobody = Nobody::new();
            let mut roots = vec![nobody.url()];
            let servers = failing(&quote).await;
            roots.extend(servers.iter().map(|server| format!("http://{}/", server.address)));
            let mut shown = String::new();
            for root in roots {
                let backend = backend(&format!("{root}{path}?key={path}"), &secret);
                let outcome = deliver_as(&backend, &update, 1, AMPLE).await;
                shown.push_str(&format!("{backend:?} {outcome:?} "));
                if let Err(error) = outcome {
                    shown.push_str(&format!("{error} {:?} {}\n", error.excerpt(), error.code()));
                }
            }
            shown
        });
        prop_assert!(logged.contains("broke off"), "nothing was logged, so nothing is shown by it");
        for text in [&shown, &logged] {
            for hidden in [&secret, &path] {
                prop_assert!(!text.contains(hidden.as_str()), "{hidden} in {text}");
            }
        }
    }
}

/// Runs it on a runtime of this thread, at the finest level of logging. What it gives, and the log. The subscriber is
/// the process's: what a thread without one meets first would else be taken for disabled in all of them.
fn logged<T>(work: impl Future<Output = T>) -> (T, String) {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        tracing_subscriber::fmt()
            .with_max_level(tracing::Level::TRACE)
            .with_ansi(false)
            .with_writer(|| Here)
            .init();
    });
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    LOG.set(Some(Vec::new()));
    let outcome = runtime.block_on(work);
    let logged = LOG.take().unwrap_or_default();
    (outcome, String::from_utf8(logged).unwrap())
}

#[test]
fn a_functions_failures_show_neither_the_secret_nor_the_update() {
    let (shown, logged) = logged(async {
        let failed = format!(
            "HTTP/1.1 200 OK\r\nx-amz-function-error: Unhandled\r\ncontent-length: {}\r\n\r\n{UPDATE}{SECRET}",
            UPDATE.len() + SECRET.len()
        );
        let denied = "HTTP/1.1 403 X\r\nx-amzn-errortype: AccessDeniedException\r\ncontent-length: 0\r\n\r\n";
        let mut shown = String::new();
        for last in [write(&failed), write(denied), Step::Reset] {
            let server = following(vec![Step::Read, last]).await;
            let backend = function(&format!("http://{}", server.address));
            let error = deliver_as(&backend, UPDATE, 1, AMPLE).await.unwrap_err();
            shown.push_str(&format!("{error} {error:?} {:?} {backend:?}\n", error.excerpt()));
        }
        shown
    });
    assert!(
        logged.contains("broke off"),
        "nothing was logged, so nothing is shown by it"
    );
    for text in [&shown, &logged] {
        for hidden in [SECRET, "Mimi"] {
            assert!(!text.contains(hidden), "{hidden} in {text}");
        }
    }
}

#[tokio::test]
async fn a_probe_that_fails_is_no_error_to_show() {
    let server = following(vec![Step::Stall]).await;
    let times = HttpTimes {
        probe: SHORT,
        ..HttpTimes::default()
    };
    let Target::Http(target) = Target::parse(&server.url(), None, None).unwrap() else {
        panic!("no URL");
    };
    let backend = HttpBackend::new(target, times, Still).unwrap();
    assert!(!backend.probe().await.is_up());
}
