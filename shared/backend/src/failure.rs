//! Tells from a transport error whether anything was sent, and why not. Never keeps the error itself, which may hold the
//! URL: what is known of it goes up, its cause goes to the debug log without the URL.

use std::error::Error;
use std::io;

use penstock_ports::{BackendError, Excerpt, Silence, Unreached};
use rustls::CertificateError;

/// The failure of an exchange whose answer has not begun.
///
/// Before a connection stands nothing was sent. After that the request may have been read, on a connection that was kept
/// open too: a server that closes an idle one resets what comes after, and whether it had read it cannot be told. So that
/// is no answer. Only where the connection was seen closed before the first byte was written, the request goes out on a
/// new one, inside the HTTP library.
pub(crate) fn of_exchange(error: reqwest::Error) -> BackendError {
    let failure = if error.is_builder() {
        BackendError::Unsendable {
            what: "a header's value",
        }
    } else if error.is_connect() {
        BackendError::Unreachable(if error.is_dns() {
            Unreached::Name
        } else {
            unreached(&error, error.is_timeout())
        })
    } else {
        no_answer(of_silence(&error))
    };
    note(error);
    failure
}

/// Why a body did not end.
pub(crate) fn of_body(error: reqwest::Error) -> Silence {
    let why = of_silence(&error);
    note(error);
    why
}

/// No answer, with nothing to show of it.
pub(crate) fn no_answer(why: Silence) -> BackendError {
    BackendError::NoAnswer {
        why,
        excerpt: Excerpt::default(),
    }
}

fn of_silence(error: &reqwest::Error) -> Silence {
    if error.is_timeout() {
        Silence::TimeOver
    } else {
        Silence::BrokenOff
    }
}

/// Why no connection came about, from the chain of an error's causes.
pub(crate) fn unreached(error: &(dyn Error + 'static), is_timeout: bool) -> Unreached {
    for cause in chain(error) {
        if let Some(tls) = cause.downcast_ref::<rustls::Error>() {
            return of_tls(tls);
        }
        if let Some(io) = cause.downcast_ref::<io::Error>()
            && io.kind() == io::ErrorKind::ConnectionRefused
        {
            return Unreached::Refused;
        }
    }
    if is_timeout {
        Unreached::Slow
    } else {
        Unreached::Other
    }
}

fn of_tls(error: &rustls::Error) -> Unreached {
    let rustls::Error::InvalidCertificate(why) = error else {
        return Unreached::Tls;
    };
    match why {
        // A bad signature: the authority has the name of one that is trusted, and another key.
        CertificateError::UnknownIssuer | CertificateError::BadSignature => Unreached::UnknownAuthority,
        CertificateError::Expired
        | CertificateError::ExpiredContext { .. }
        | CertificateError::NotValidYet
        | CertificateError::NotValidYetContext { .. } => Unreached::NotValidNow,
        CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. } => {
            Unreached::OtherName
        }
        _ => Unreached::Tls,
    }
}

/// An error and its causes. What an `io::Error` wraps is not among its sources, so it is unwrapped.
pub(crate) fn chain<'a>(
    error: &'a (dyn Error + 'static),
) -> impl Iterator<Item = &'a (dyn Error + 'static)> + 'a {
    let mut next = Some(error);
    std::iter::from_fn(move || {
        let cause = next?;
        let wrapped = cause.downcast_ref::<io::Error>().and_then(io::Error::get_ref);
        next = match wrapped {
            Some(wrapped) => Some(wrapped),
            None => cause.source(),
        };
        Some(cause)
    })
}

/// Keeps the kind of each cause for whoever looks for it. Not their texts: one may name the host.
fn note(error: reqwest::Error) {
    let error = error.without_url();
    let depth = chain(&error).count();
    tracing::debug!(
        backend.timeout = error.is_timeout(),
        backend.connect = error.is_connect(),
        backend.causes = depth,
        "the exchange with the backend broke off"
    );
}
