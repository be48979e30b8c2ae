//! Certificates: one of a private authority that is trusted, and those that are not to be trusted.

use std::sync::Arc;

use penstock_backend::{HttpTimes, Target, TargetError};
use penstock_domain::breaker::Cause;
use penstock_ports::{BackendError, Unreached};
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair, date_time_ymd};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::crypto::aws_lc_rs;
use tokio_rustls::rustls::pki_types::PrivateKeyDer;

use crate::server::{AMPLE, client_with, deliver, following, write};

/// A private authority.
struct Authority(CertifiedIssuer<'static, KeyPair>);

impl Authority {
    fn new() -> Self {
        let mut params = CertificateParams::new(Vec::new()).unwrap();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        Self(CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap())
    }

    /// A server with a certificate for that name, changed as the test wants, that answers 204. Its URL.
    async fn server(&self, name: &str, change: impl FnOnce(&mut CertificateParams)) -> String {
        let key = KeyPair::generate().unwrap();
        let mut params = CertificateParams::new([name.to_owned()]).unwrap();
        change(&mut params);
        let certificate = params.signed_by(&key, &self.0).unwrap();
        let config = ServerConfig::builder_with_provider(Arc::new(aws_lc_rs::default_provider()))
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_no_client_auth()
            .with_single_cert(
                vec![certificate.der().clone()],
                PrivateKeyDer::try_from(key.serialize_der()).unwrap(),
            )
            .unwrap();
        let acceptor = TlsAcceptor::from(Arc::new(config));
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("https://{}/", listener.local_addr().unwrap());
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let Ok(mut stream) = acceptor.accept(stream).await else {
                    continue;
                };
                let mut request = vec![0; 4096];
                if stream.read(&mut request).await.is_ok_and(|read| read > 0) {
                    stream.write_all(b"HTTP/1.1 204 X\r\n\r\n").await.unwrap();
                }
            }
        });
        url
    }
}

async fn unreached(url: &str, ca: Option<&str>) -> Unreached {
    let error = deliver(&client_with(url, ca, HttpTimes::default()), AMPLE)
        .await
        .unwrap_err();
    assert_eq!(error.cause(), Some(Cause::Unreachable));
    match error {
        BackendError::Unreachable(why) => why,
        other => panic!("{other}"),
    }
}

#[tokio::test]
async fn a_private_authority_is_trusted_where_it_is_given_and_only_there() {
    let authority = Authority::new();
    let url = authority.server("127.0.0.1", |_| ()).await;
    let backend = client_with(&url, Some(&authority.0.pem()), HttpTimes::default());
    assert_eq!(deliver(&backend, AMPLE).await, Ok(None));
    assert_eq!(unreached(&url, None).await, Unreached::UnknownAuthority);
    let another = Authority::new().0.pem();
    assert_eq!(unreached(&url, Some(&another)).await, Unreached::UnknownAuthority);
}

#[tokio::test]
async fn a_certificate_for_another_name_is_refused() {
    let authority = Authority::new();
    let url = authority.server("other.example", |_| ()).await;
    assert_eq!(
        unreached(&url, Some(&authority.0.pem())).await,
        Unreached::OtherName
    );
}

#[tokio::test]
async fn a_certificate_outside_its_time_is_refused() {
    let authority = Authority::new();
    let over = authority
        .server("127.0.0.1", |params| {
            params.not_after = date_time_ymd(2020, 1, 1);
        })
        .await;
    let early = authority
        .server("127.0.0.1", |params| {
            params.not_before = date_time_ymd(4000, 1, 1)
        })
        .await;
    for url in [over, early] {
        assert_eq!(
            unreached(&url, Some(&authority.0.pem())).await,
            Unreached::NotValidNow
        );
    }
}

#[tokio::test]
async fn a_port_without_tls_is_unreachable() {
    let server = following(vec![write("HTTP/1.1 400 Bad Request\r\n\r\n")]).await;
    let url = format!("https://{}/", server.address);
    assert_eq!(unreached(&url, None).await, Unreached::Tls);
}

#[tokio::test]
async fn a_bundle_of_authorities_is_taken_whole() {
    let (first, second) = (Authority::new(), Authority::new());
    let bundle = first.0.pem() + &second.0.pem();
    let url = second.server("127.0.0.1", |_| ()).await;
    let backend = client_with(&url, Some(&bundle), HttpTimes::default());
    assert_eq!(deliver(&backend, AMPLE).await, Ok(None));
    let parsed = Target::parse("http://127.0.0.1/", None, Some(&bundle));
    assert_eq!(parsed.unwrap_err(), TargetError::CaUnused);
}
