//! What the client refuses to be built with or to send.

use super::*;

fn problem(api_root: &str) -> String {
    let config = ClientConfig {
        api_root: api_root.to_owned(),
        ..ClientConfig::default()
    };
    BotApiClient::new(config)
        .map(|_| String::new())
        .unwrap_or_else(|error| error.to_string())
}

#[test]
fn a_root_is_a_plain_http_url_and_its_refusal_never_prints_it() {
    assert_eq!(problem("http://127.0.0.1:8081"), "");
    assert_eq!(problem("http://[::1]:8081/some/path/"), "");
    for wrong in [
        "",
        "telegram",
        "file:///etc/4242",
        "http://user:4242@host",
        "http://host/?x=4242",
        "http://host/#4242",
        "http://host/bot4242:AA/",
    ] {
        let problem = problem(wrong);
        assert!(
            problem.starts_with("the Bot API root ") && !problem.contains("4242"),
            "{wrong}: {problem}"
        );
    }
}

#[test]
fn only_this_machine_is_reached_past_a_proxy() {
    for (root, expected) in [
        ("http://127.0.0.1:1", true),
        ("http://localhost", true),
        ("http://[::1]:1", true),
        ("https://api.telegram.org", false),
        ("http://10.0.0.1", false),
    ] {
        assert_eq!(is_loopback(&Url::parse(root).unwrap()), expected, "{root}");
    }
}

#[test]
fn the_time_to_connect_is_shorter_than_the_call() {
    let second = Duration::from_secs(1);
    let config = ClientConfig {
        api_root: "http://127.0.0.1:1".to_owned(),
        connect_timeout: second,
        timeout: second,
        ..ClientConfig::default()
    };
    assert!(matches!(
        BotApiClient::new(config),
        Err(ClientError::Timeouts { .. })
    ));
}

#[test]
fn only_letters_name_a_method_and_only_token_characters_make_a_token() {
    assert!(is_method("sendMessage"));
    for wrong in [
        "",
        "../getMe",
        "send message",
        "getMe?x",
        "sendMessagé",
        "get_me",
        "getMe2",
    ] {
        assert!(!is_method(wrong), "{wrong}");
    }
    let token = |text: &str| is_token(&BotToken::new(text.to_owned()));
    assert!(token("4242:AA-b_1"));
    for wrong in [
        "",
        "4242",
        ":AA",
        "4242:",
        "4242:AA/../x",
        "x:AA",
        "4242:AA?",
        "4242:AA:",
    ] {
        assert!(!token(wrong), "{wrong}");
    }
}

#[test]
fn the_default_waits_longer_than_the_server_hides() {
    let config = ClientConfig::default();
    assert!(config.timeout >= 3 * Duration::from_secs(8) && config.connect_timeout < config.timeout);
    assert!(BotApiClient::new(config).is_ok());
}
