//! Creates queues, or brings existing ones up to the template.

use aws_sdk_sqs::Client;
use aws_sdk_sqs::types::QueueAttributeName;

use super::AwsError;
use crate::template::Queue;

/// Creates one queue and gives its URL.
pub(super) async fn create(client: &Client, queue: &Queue) -> Result<String, AwsError> {
    let mut request = client.create_queue().queue_name(&queue.name);
    for (name, value) in &queue.attributes {
        request = request.attributes(QueueAttributeName::from(name.as_str()), value);
    }
    match request.send().await {
        Ok(answer) => answer.queue_url.ok_or_else(|| no_url("CreateQueue", queue)),
        Err(error)
            if error
                .as_service_error()
                .is_some_and(|error| error.is_queue_name_exists()) =>
        {
            update(client, queue).await
        }
        Err(error) => Err(AwsError::call("CreateQueue", &queue.name, error)),
    }
}

/// The queue is there with other attributes: the template has changed since.
async fn update(client: &Client, queue: &Queue) -> Result<String, AwsError> {
    let answer = client
        .get_queue_url()
        .queue_name(&queue.name)
        .send()
        .await
        .map_err(|error| AwsError::call("GetQueueUrl", &queue.name, error))?;
    let url = answer.queue_url.ok_or_else(|| no_url("GetQueueUrl", queue))?;
    let mut request = client.set_queue_attributes().queue_url(&url);
    // Whether a queue is FIFO is for ever.
    for (name, value) in queue.attributes.iter().filter(|(name, _)| *name != "FifoQueue") {
        request = request.attributes(QueueAttributeName::from(name.as_str()), value);
    }
    request
        .send()
        .await
        .map_err(|error| AwsError::call("SetQueueAttributes", &queue.name, error))?;
    Ok(url)
}

fn no_url(call: &'static str, queue: &Queue) -> AwsError {
    AwsError::Call {
        call,
        name: queue.name.clone(),
        reason: "the answer has no queue url".to_owned(),
    }
}
