//! The class of every failure of a backend.

use super::*;

fn refused(status: u16) -> BackendError {
    BackendError::Refused {
        status,
        retry_after: None,
        excerpt: Excerpt::default(),
    }
}

fn not_run(why: NotRun) -> BackendError {
    BackendError::NotRun {
        why,
        retry_after: Some(Duration::from_secs(3)),
    }
}

fn class(error: &BackendError) -> (&'static str, Option<Cause>) {
    (error.disposition().name(), error.cause())
}

#[test]
fn every_status_has_one_class_and_one_cause() {
    for status in 100..=999_u16 {
        let expected = match status {
            200..=299 => continue,
            429 => ("throttled", None),
            408 | 425 => ("transient", None),
            502..=504 => ("transient", Some(Cause::BadGateway)),
            500..=599 => ("transient", None),
            _ => ("permanent", None),
        };
        assert_eq!(class(&refused(status)), expected, "{status}");
        assert_eq!(refused(status).code(), format!("backend_{status}"));
    }
}

#[test]
fn what_was_never_delivered_is_told_from_what_may_have_been() {
    let unreached = BackendError::Unreachable(Unreached::Refused);
    assert_eq!(class(&unreached), ("transient", Some(Cause::Unreachable)));
    assert_eq!(unreached.code(), "backend_unreachable");
    let silent = BackendError::NoAnswer {
        why: Silence::TimeOver,
        excerpt: Excerpt::default(),
    };
    assert_eq!(class(&silent), ("transient", None));
    assert_eq!(silent.code(), "backend_no_answer");
}

#[test]
fn what_lambda_refuses_is_classed_by_what_cures_it() {
    let throttled = not_run(NotRun::Throttled);
    let after = Duration::from_secs(3);
    assert_eq!(
        throttled.disposition(),
        Disposition::Throttled { retry_after: after }
    );
    assert_eq!(class(&not_run(NotRun::Missing)), ("permanent", None));
    assert_eq!(class(&not_run(NotRun::Denied)), ("permanent", None));
    assert_eq!(class(&not_run(NotRun::Refused(413))), ("permanent", None));
    assert_eq!(class(&not_run(NotRun::NotNow(500))), ("transient", None));
    assert_eq!(
        class(&not_run(NotRun::NotNow(502))),
        ("transient", Some(Cause::BadGateway))
    );
}

#[test]
fn a_redirect_says_its_cure() {
    assert_eq!(
        refused(301).to_string(),
        "the backend answered 301, a redirect, which is not followed; give the final URL"
    );
}

#[test]
fn an_excerpt_is_never_printed() {
    let error = BackendError::Refused {
        status: 500,
        retry_after: None,
        excerpt: Excerpt::masked("stack trace".to_owned()),
    };
    assert!(!format!("{error} {error:?}").contains("stack"));
    assert_eq!(error.excerpt(), Some("stack trace"));
    assert_eq!(refused(500).excerpt(), None);
}
