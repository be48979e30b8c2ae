//! Where a bot's Updates go: an HTTP URL or a Lambda function, read once and checked. Never prints its URL or secret.

use std::fmt;
use std::net::IpAddr;

use penstock_domain::secret::WebhookSecret;
use reqwest::{Certificate, Url};

/// Longest secret (Bot API, `secret_token` of setWebhook: 1 to 256 characters).
const MAX_SECRET: usize = 256;

/// Digits of an AWS account id.
const ACCOUNT_DIGITS: usize = 12;

/// Name endings that are never public: RFC 6762 (`.local`), ICANN's reservation of `.internal`, RFC 6761
/// (`.localhost`).
const PRIVATE_ENDINGS: &[&str] = &[".local", ".internal", ".localhost"];

/// Why a text is no target. Never holds the text: somebody may have pasted a token with it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum TargetError {
    /// Not a URL at all.
    #[error("the backend is neither a URL nor an ARN; give http://..., https://... or arn:aws:lambda:...")]
    NotUrl,
    /// Another scheme.
    #[error("the backend's URL has neither http nor https as its scheme")]
    Scheme,
    /// User and password in the URL.
    #[error("the backend's URL holds a user or a password; let it check the secret header instead")]
    UserInfo,
    /// A fragment, which is never sent.
    #[error("the backend's URL holds a fragment (#...), which is never sent; leave it out")]
    Fragment,
    /// An ARN, but of no function.
    #[error("the backend's ARN is not one of a function; give arn:aws:lambda:REGION:ACCOUNT:function:NAME")]
    Arn,
    /// A secret that Telegram itself would not take.
    #[error("the backend's secret is not 1 to {MAX_SECRET} of the characters A-Z a-z 0-9 _ -")]
    Secret,
    /// The authority's certificate cannot be read.
    #[error("the backend's CA is no PEM certificate")]
    Ca,
    /// A certificate where nothing is checked by it.
    #[error("a CA is given, but the backend is not reached over https")]
    CaUnused,
    /// TLS cannot be set up.
    #[error("the client of the backend could not be built; are CA certificates installed?")]
    Tls,
}

/// Where Updates go.
#[derive(Debug, Clone)]
pub enum Target {
    /// A webhook.
    Http(HttpTarget),
    /// A function.
    Lambda(LambdaTarget),
}

/// A webhook as Telegram would be given it.
#[derive(Clone)]
pub struct HttpTarget {
    pub(crate) url: Url,
    pub(crate) secret: Option<WebhookSecret>,
    pub(crate) authorities: Vec<Certificate>,
}

/// A function whose handler takes events of an HTTP API or a Function URL.
#[derive(Debug, Clone)]
pub struct LambdaTarget {
    pub(crate) arn: String,
    pub(crate) region: String,
    pub(crate) secret: Option<WebhookSecret>,
}

impl fmt::Debug for HttpTarget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HttpTarget")
            .field("scheme", &self.url.scheme())
            .field("secret", &self.secret)
            .field("authorities", &self.authorities.len())
            .finish_non_exhaustive()
    }
}

impl Target {
    /// Reads a target. `secret` goes into `X-Telegram-Bot-Api-Secret-Token`; `ca` is a PEM bundle that is trusted beside
    /// the system's authorities.
    ///
    /// # Errors
    /// See [`TargetError`]; each is a mistake of the configuration.
    pub fn parse(text: &str, secret: Option<WebhookSecret>, ca: Option<&str>) -> Result<Self, TargetError> {
        let text = text.trim();
        if secret.as_ref().is_some_and(|secret| !is_secret(secret.reveal())) {
            return Err(TargetError::Secret);
        }
        if text.starts_with("arn:") {
            let region = region_of(text).ok_or(TargetError::Arn)?;
            if ca.is_some() {
                return Err(TargetError::CaUnused);
            }
            return Ok(Self::Lambda(LambdaTarget {
                arn: text.to_owned(),
                region: region.to_owned(),
                secret,
            }));
        }
        let url = checked(text)?;
        if ca.is_some() && url.scheme() != "https" {
            return Err(TargetError::CaUnused);
        }
        Ok(Self::Http(HttpTarget {
            url,
            secret,
            authorities: ca.map_or_else(|| Ok(Vec::new()), authorities)?,
        }))
    }

    /// Whether Updates and the secret cross a public network unencrypted: allowed, but whoever configures it is told.
    #[must_use]
    pub fn is_exposed(&self) -> bool {
        match self {
            Self::Http(target) => target.url.scheme() == "http" && !is_private(&target.url),
            Self::Lambda(_) => false,
        }
    }
}

fn is_secret(secret: &str) -> bool {
    (1..=MAX_SECRET).contains(&secret.len())
        && secret
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-'))
}

fn checked(text: &str) -> Result<Url, TargetError> {
    let url = Url::parse(text).map_err(|_| TargetError::NotUrl)?;
    if !matches!(url.scheme(), "http" | "https") || !url.has_host() {
        return Err(TargetError::Scheme);
    }
    if !url.username().is_empty() || url.password().is_some() {
        return Err(TargetError::UserInfo);
    }
    if url.fragment().is_some() {
        return Err(TargetError::Fragment);
    }
    Ok(url)
}

fn authorities(pem: &str) -> Result<Vec<Certificate>, TargetError> {
    match Certificate::from_pem_bundle(pem.as_bytes()) {
        Ok(certificates) if !certificates.is_empty() => Ok(certificates),
        Ok(_) | Err(_) => Err(TargetError::Ca),
    }
}

/// The region of `arn:{partition}:lambda:{region}:{account}:function:{name}`, a qualifier behind it or not; `None` if
/// it is no such ARN.
fn region_of(arn: &str) -> Option<&str> {
    let parts: Vec<&str> = arn.split(':').collect();
    let [
        _,
        partition,
        "lambda",
        region,
        account,
        "function",
        name,
        rest @ ..,
    ] = parts.as_slice()
    else {
        return None;
    };
    let is_word = |word: &str| {
        !word.is_empty()
            && word
                .bytes()
                .all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_'))
    };
    let is_qualified = match rest {
        [] | ["$LATEST"] => true,
        [qualifier] => is_word(qualifier),
        _ => false,
    };
    let is_account = account.len() == ACCOUNT_DIGITS && account.bytes().all(|byte| byte.is_ascii_digit());
    (partition.starts_with("aws") && is_word(region) && is_account && is_word(name) && is_qualified)
        .then_some(region)
}

/// Whether the host is this machine itself.
pub(crate) fn is_loopback(url: &Url) -> bool {
    host(url).is_some_and(|host| {
        host == "localhost" || host.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
    })
}

/// Whether the host cannot be one of the public internet.
fn is_private(url: &Url) -> bool {
    let Some(host) = host(url) else {
        return false;
    };
    match host.parse::<IpAddr>() {
        Ok(IpAddr::V4(address)) => address.is_loopback() || address.is_private() || address.is_link_local(),
        Ok(IpAddr::V6(address)) => {
            address.is_loopback() || address.is_unique_local() || address.is_unicast_link_local()
        }
        // A name without a dot is one of a local network, as containers have them.
        Err(_) => !host.contains('.') || PRIVATE_ENDINGS.iter().any(|ending| host.ends_with(ending)),
    }
}

fn host(url: &Url) -> Option<&str> {
    url.host_str()
        .map(|host| host.trim_start_matches('[').trim_end_matches(']'))
}

#[cfg(test)]
mod tests {
    use super::*;

    const ARN: &str = "arn:aws:lambda:eu-central-1:123456789012:function:my-bot";

    fn parse(text: &str) -> Result<Target, TargetError> {
        Target::parse(text, None, None)
    }

    fn secret(text: &str) -> Option<WebhookSecret> {
        Some(WebhookSecret::new(text.to_owned()))
    }

    #[test]
    fn urls_and_arns_are_told_apart() {
        assert!(matches!(
            parse("https://example.org/hook?a=1"),
            Ok(Target::Http(_))
        ));
        assert!(matches!(parse(" http://127.0.0.1:80 "), Ok(Target::Http(_))));
        for arn in [ARN, &format!("{ARN}:live"), &format!("{ARN}:$LATEST")] {
            let target = parse(arn);
            assert!(
                matches!(&target, Ok(Target::Lambda(target)) if target.region == "eu-central-1" && target.arn == arn),
                "{arn}"
            );
        }
    }

    #[test]
    fn what_is_no_target_says_why() {
        for (text, error) in [
            ("", TargetError::NotUrl),
            ("example.org/hook", TargetError::NotUrl),
            ("https://", TargetError::NotUrl),
            ("ftp://example.org", TargetError::Scheme),
            ("file:///etc/passwd", TargetError::Scheme),
            ("https://user@example.org", TargetError::UserInfo),
            ("https://:pass@example.org", TargetError::UserInfo),
            ("https://example.org/#x", TargetError::Fragment),
            ("arn:aws:sqs:eu-central-1:123456789012:queue", TargetError::Arn),
            ("arn:aws:lambda:eu-central-1:1234:function:x", TargetError::Arn),
            (
                "arn:aws:lambda:eu-central-1:123456789012:layer:x",
                TargetError::Arn,
            ),
            (
                "arn:aws:lambda:eu-central-1:123456789012:function:",
                TargetError::Arn,
            ),
            (
                "arn:aws:lambda:eu-central-1:123456789012:function:x:y:z",
                TargetError::Arn,
            ),
        ] {
            assert_eq!(parse(text).unwrap_err(), error, "{text}");
        }
    }

    #[test]
    fn a_secret_is_what_telegram_would_take() {
        for bad in ["", "with space", "line\nbreak", "é", &"x".repeat(257)] {
            let parsed = Target::parse("https://example.org", secret(bad), None);
            assert_eq!(parsed.unwrap_err(), TargetError::Secret, "{bad}");
        }
        assert!(Target::parse("https://example.org", secret("A-z_0"), None).is_ok());
    }

    #[test]
    fn a_ca_is_pem_and_of_use() {
        let with = |url: &str, ca: &str| Target::parse(url, None, Some(ca)).unwrap_err();
        assert_eq!(with("https://example.org", "nothing"), TargetError::Ca);
        assert_eq!(with("http://example.org", "nothing"), TargetError::CaUnused);
        assert_eq!(with(ARN, "nothing"), TargetError::CaUnused);
    }

    #[test]
    fn cleartext_to_a_public_host_is_told() {
        for url in ["http://example.org", "http://8.8.8.8/", "http://[2001:db8::1]/"] {
            assert!(parse(url).unwrap().is_exposed(), "{url}");
        }
        for url in [
            "https://example.org",
            "http://localhost:3000",
            "http://10.0.0.5",
            "http://192.168.1.2",
            "http://172.16.0.1",
            "http://[::1]:80",
            "http://[fd00::1]",
            "http://bot:3000",
            "http://bot.internal",
            ARN,
        ] {
            assert!(!parse(url).unwrap().is_exposed(), "{url}");
        }
    }

    #[test]
    fn a_target_never_prints_its_url_or_secret() {
        let target = Target::parse("https://example.org/s3cret?k=s3cret", secret("s3cret"), None).unwrap();
        let shown = format!("{target:?}");
        assert!(!shown.contains("s3cret") && !shown.contains("example"), "{shown}");
    }
}
