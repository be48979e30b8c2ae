//! Puts secrets.

use aws_sdk_secretsmanager::Client;

use super::AwsError;

/// Creates a secret, or gives it a new value.
pub(crate) async fn put(client: &Client, name: &str, value: &str) -> Result<(), AwsError> {
    match client
        .create_secret()
        .name(name)
        .secret_string(value)
        .send()
        .await
    {
        Ok(_) => Ok(()),
        Err(error)
            if error
                .as_service_error()
                .is_some_and(|error| error.is_resource_exists_exception()) =>
        {
            match client
                .put_secret_value()
                .secret_id(name)
                .secret_string(value)
                .send()
                .await
            {
                Ok(_) => Ok(()),
                Err(error) => Err(AwsError::call("PutSecretValue", name, error)),
            }
        }
        Err(error) => Err(AwsError::call("CreateSecret", name, error)),
    }
}
