//! Parameters out of an HTTP request, in the four ways the Bot API takes them: query, JSON, form, multipart.
//! Uploaded bytes are counted and thrown away.

use axum::body::Bytes;
use axum::extract::{Form, FromRequest, Multipart, Query, Request};
use http::StatusCode;
use http::header::CONTENT_TYPE;

use crate::api::ApiError;
use crate::params::Params;

/// Bytes of a request (Bot API, "Sending files": 50 MB, and what is around them).
pub(crate) const MAX_BODY_BYTES: usize = 52 << 20;

fn unreadable(status: StatusCode) -> ApiError {
    match status {
        StatusCode::PAYLOAD_TOO_LARGE => ApiError::new(413, "Request Entity Too Large"),
        _ => ApiError::bad_request("can't parse the body of the request"),
    }
}

/// Reads all parameters of a request; those of the body win over those of the query.
pub(crate) async fn read(request: Request) -> Result<Params, ApiError> {
    let mut params = Params::default();
    if let Ok(Query(pairs)) = Query::<Vec<(String, String)>>::try_from_uri(request.uri()) {
        for (name, text) in pairs {
            params.add_text(name, text);
        }
    }
    let kind = request
        .headers()
        .get(CONTENT_TYPE)
        .and_then(|value| value.to_str().ok())
        .unwrap_or_default();
    let kind = kind
        .split(';')
        .next()
        .unwrap_or_default()
        .trim()
        .to_ascii_lowercase();
    match kind.as_str() {
        "application/json" => {
            let bytes = Bytes::from_request(request, &())
                .await
                .map_err(|error| unreadable(error.status()))?;
            if !bytes.is_empty() {
                let value = serde_json::from_slice(&bytes);
                let value = value.map_err(|_| ApiError::bad_request("can't parse JSON object"))?;
                params.extend(Params::from_json(value));
            }
        }
        "application/x-www-form-urlencoded" if request.method() == http::Method::POST => {
            let form = Form::<Vec<(String, String)>>::from_request(request, &()).await;
            let Form(pairs) = form.map_err(|error| unreadable(error.status()))?;
            for (name, text) in pairs {
                params.add_text(name, text);
            }
        }
        "multipart/form-data" => read_multipart(request, &mut params).await?,
        _ => {}
    }
    Ok(params)
}

async fn read_multipart(request: Request, params: &mut Params) -> Result<(), ApiError> {
    let parts = Multipart::from_request(request, &()).await;
    let mut parts = parts.map_err(|error| unreadable(error.status()))?;
    while let Some(mut part) = parts
        .next_field()
        .await
        .map_err(|error| unreadable(error.status()))?
    {
        let name = part.name().unwrap_or_default().to_owned();
        let file_name = part.file_name().map(ToOwned::to_owned);
        if let Some(file_name) = file_name {
            let mut size = 0;
            while let Some(chunk) = part.chunk().await.map_err(|error| unreadable(error.status()))? {
                size += u64::try_from(chunk.len()).unwrap_or(0);
            }
            params.add_upload(name, &file_name, size);
        } else {
            let text = part.text().await.map_err(|error| unreadable(error.status()))?;
            params.add_text(name, text);
        }
    }
    Ok(())
}
