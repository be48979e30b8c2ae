//! The stories of Updates, read from the ledger for a person to look at.
//!
//! Reads loosely and never writes: an attribute that is missing or strange is left out, not an error.
//! The fields are those of `docs/formats.md`.

mod story;

use std::collections::HashMap;

use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::error::DisplayErrorContext;
use aws_sdk_dynamodb::types::{AttributeValue, KeysAndAttributes};

pub use story::{SendStory, Story, Trouble};

/// Most keys of one BatchGetItem.
const BATCH_KEYS: usize = 100;

/// Reads the ledger of one table.
#[derive(Debug, Clone)]
pub struct LedgerReader {
    client: Client,
    table: String,
}

/// The ledger could not be read.
#[derive(Debug, thiserror::Error)]
#[error("the ledger in table {table} cannot be read: {reason}")]
pub struct LedgerError {
    table: String,
    reason: String,
}

impl LedgerReader {
    /// A reader of a table.
    #[must_use]
    pub fn new(client: Client, table: &str) -> Self {
        Self {
            client,
            table: table.to_owned(),
        }
    }

    /// The stories of these Updates `(bot id, update id)`, as far as they have begun: an Update
    /// without a record is still in the queue.
    ///
    /// # Errors
    /// When the table does not answer.
    pub async fn stories(
        &self,
        updates: &[(String, i64)],
    ) -> Result<HashMap<(String, i64), Story>, LedgerError> {
        let by_key: HashMap<String, &(String, i64)> = updates
            .iter()
            .map(|update| (format!("{}:{}", update.0, update.1), update))
            .collect();
        let keys: Vec<String> = by_key.keys().cloned().collect();
        let stories = self.stories_of_keys(&keys).await?.into_iter();
        Ok(stories
            .filter_map(|(key, story)| Some(((*by_key.get(&key)?).clone(), story)))
            .collect())
    }

    /// The stories under these ledger keys, as far as there are any.
    ///
    /// # Errors
    /// When the table does not answer.
    pub async fn stories_of_keys(&self, keys: &[String]) -> Result<HashMap<String, Story>, LedgerError> {
        let mut stories = HashMap::new();
        for chunk in keys.chunks(BATCH_KEYS) {
            for item in self.items(chunk).await? {
                let pk = item.get("pk").and_then(|value| value.as_s().ok());
                if let Some(key) = pk.and_then(|pk| pk.strip_prefix("UPD#")) {
                    stories.insert(key.to_owned(), Story::read(&item));
                }
            }
        }
        Ok(stories)
    }

    async fn items(&self, keys: &[String]) -> Result<Vec<HashMap<String, AttributeValue>>, LedgerError> {
        let failed = |reason: String| LedgerError {
            table: self.table.clone(),
            reason,
        };
        let mut wanted = KeysAndAttributes::builder().consistent_read(true);
        for key in keys {
            wanted = wanted.keys(HashMap::from([
                ("pk".to_owned(), AttributeValue::S(format!("UPD#{key}"))),
                ("sk".to_owned(), AttributeValue::S("LEDGER".to_owned())),
            ]));
        }
        let wanted = wanted.build().map_err(|error| failed(error.to_string()))?;
        let answer = self
            .client
            .batch_get_item()
            .request_items(&self.table, wanted)
            .send()
            .await;
        let answer = answer.map_err(|error| failed(DisplayErrorContext(error).to_string()))?;
        // What DynamoDB left out is met at the next look.
        Ok(answer
            .responses
            .and_then(|mut tables| tables.remove(&self.table))
            .unwrap_or_default())
    }
}
