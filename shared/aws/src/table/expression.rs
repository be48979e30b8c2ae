//! Conditional updates with every attribute name aliased: many of ours are reserved words of DynamoDB.

use std::collections::HashMap;

use aws_sdk_dynamodb::config::http::HttpResponse;
use aws_sdk_dynamodb::error::SdkError;
use aws_sdk_dynamodb::operation::update_item::{UpdateItemError, UpdateItemOutput};
use aws_sdk_dynamodb::types::{
    AttributeValue, ConditionCheck, Delete, ReturnValue, ReturnValuesOnConditionCheckFailure, Update,
};
use penstock_ports::PortError;
use sha2::{Digest as _, Sha256};

use super::{Item, Ledger};
use crate::error::port_error;

/// One UpdateItem: a key, what to set, and the condition.
pub(crate) struct Write {
    pub(crate) pk: String,
    pub(crate) sk: &'static str,
    /// Names are written `#name`, values `:name`; `#i3` is the map key `3`.
    pub(crate) update: String,
    pub(crate) condition: String,
    pub(crate) values: HashMap<String, AttributeValue>,
}

/// What became of it.
pub(crate) enum Written {
    /// Applied; the attributes that were asked for.
    Applied(Item),
    /// Refused by its condition; the item as it is (none if there is none).
    Refused(Option<Item>),
}

impl Write {
    pub(crate) fn to(pk: String, sk: &'static str) -> Self {
        Self {
            pk,
            sk,
            update: String::new(),
            condition: String::new(),
            values: HashMap::new(),
        }
    }

    pub(crate) fn update(mut self, update: &str) -> Self {
        self.update = update.to_owned();
        self
    }

    pub(crate) fn condition(mut self, condition: &str) -> Self {
        self.condition = condition.to_owned();
        self
    }

    pub(crate) fn value(mut self, name: &str, value: AttributeValue) -> Self {
        self.values.insert(format!(":{name}"), value);
        self
    }

    pub(crate) fn number(self, name: &str, number: impl ToString) -> Self {
        self.value(name, AttributeValue::N(number.to_string()))
    }

    pub(crate) fn text(self, name: &str, text: impl Into<String>) -> Self {
        self.value(name, AttributeValue::S(text.into()))
    }

    /// Values that stand in neither expression: DynamoDB refuses the whole request for one.
    fn unused(&self) -> Vec<&str> {
        let stands_in = |expression: &str, value: &str| {
            expression.match_indices(value).any(|(at, _)| {
                let next = expression[at + value.len()..].chars().next();
                next.is_none_or(|c| !c.is_ascii_alphanumeric() && c != '_')
            })
        };
        self.values
            .keys()
            .map(String::as_str)
            .filter(|value| !stands_in(&self.update, value) && !stands_in(&self.condition, value))
            .collect()
    }

    fn names(&self) -> HashMap<String, String> {
        debug_assert!(self.unused().is_empty(), "unused: {:?}", self.unused());
        aliases(&self.update)
            .chain(aliases(&self.condition))
            .map(|alias| (format!("#{alias}"), named(alias)))
            .collect()
    }

    /// As part of a transaction.
    pub(crate) fn into_transact(self, table: &str) -> Result<Update, aws_sdk_dynamodb::error::BuildError> {
        Update::builder()
            .table_name(table)
            .set_expression_attribute_names(Some(self.names()))
            .key("pk", AttributeValue::S(self.pk))
            .key("sk", AttributeValue::S(self.sk.to_owned()))
            .update_expression(self.update)
            .condition_expression(self.condition)
            .set_expression_attribute_values(Some(self.values))
            .return_values_on_condition_check_failure(ReturnValuesOnConditionCheckFailure::AllOld)
            .build()
    }

    /// A removal under the condition, as part of a transaction.
    pub(crate) fn into_delete(self, table: &str) -> Result<Delete, aws_sdk_dynamodb::error::BuildError> {
        Delete::builder()
            .table_name(table)
            .set_expression_attribute_names(some(self.names()))
            .key("pk", AttributeValue::S(self.pk))
            .key("sk", AttributeValue::S(self.sk.to_owned()))
            .condition_expression(self.condition)
            .set_expression_attribute_values(some(self.values))
            .build()
    }

    /// The condition alone, as part of a transaction.
    pub(crate) fn into_check(
        self,
        table: &str,
    ) -> Result<ConditionCheck, aws_sdk_dynamodb::error::BuildError> {
        ConditionCheck::builder()
            .table_name(table)
            .set_expression_attribute_names(some(self.names()))
            .key("pk", AttributeValue::S(self.pk))
            .key("sk", AttributeValue::S(self.sk.to_owned()))
            .condition_expression(self.condition)
            .set_expression_attribute_values(some(self.values))
            .build()
    }
}

/// DynamoDB refuses an empty map.
fn some<V>(map: HashMap<String, V>) -> Option<HashMap<String, V>> {
    (!map.is_empty()).then_some(map)
}

/// The token of a transaction that is described so: the same for a repeat of the same write, different for any other.
/// DynamoDB refuses a token that it has seen with other parameters, so the time belongs into the text. At most 36
/// characters.
pub(crate) fn request_token(text: &str) -> String {
    Sha256::digest(text.as_bytes())[..16]
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect()
}

fn aliases(expression: &str) -> impl Iterator<Item = &str> {
    expression.split('#').skip(1).map(|rest| {
        let end = rest
            .find(|c: char| !c.is_ascii_alphanumeric() && c != '_')
            .unwrap_or(rest.len());
        &rest[..end]
    })
}

/// `i3` stands for the map key `3`; every other alias is its own name.
fn named(alias: &str) -> String {
    match alias.strip_prefix('i') {
        Some(digits) if !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit()) => digits.to_owned(),
        _ => alias.to_owned(),
    }
}

impl Ledger {
    /// Sends the write.
    pub(crate) async fn write(
        &self,
        operation: &'static str,
        write: Write,
        returned: ReturnValue,
    ) -> Result<Written, PortError> {
        let names = write.names();
        let answer = self
            .client
            .update_item()
            .table_name(self.table.as_ref())
            .key("pk", AttributeValue::S(write.pk))
            .key("sk", AttributeValue::S(write.sk.to_owned()))
            .update_expression(write.update)
            .condition_expression(write.condition)
            .set_expression_attribute_names(Some(names))
            .set_expression_attribute_values(Some(write.values))
            .return_values(returned)
            .return_values_on_condition_check_failure(ReturnValuesOnConditionCheckFailure::AllOld)
            .send()
            .await;
        written(operation, answer)
    }
}

fn written(
    operation: &'static str,
    answer: Result<UpdateItemOutput, SdkError<UpdateItemError, HttpResponse>>,
) -> Result<Written, PortError> {
    match answer {
        Ok(output) => Ok(Written::Applied(output.attributes.unwrap_or_default())),
        Err(SdkError::ServiceError(service)) if service.err().is_conditional_check_failed_exception() => {
            match service.into_err() {
                UpdateItemError::ConditionalCheckFailedException(refused) => {
                    Ok(Written::Refused(refused.item))
                }
                other => Err(PortError::Rejected {
                    operation,
                    code: String::new(),
                    source: Box::new(other),
                }),
            }
        }
        Err(error) => Err(port_error(operation, error)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_that_no_expression_uses_is_found() {
        let write = Write::to("p".to_owned(), "LEDGER")
            .update("SET #state = :now_s")
            .condition("#owner = :me")
            .number("now", 1)
            .number("now_s", 1)
            .text("me", "x");
        assert_eq!(write.unused(), [":now"]);
    }

    #[test]
    fn every_alias_of_both_expressions_gets_its_name() {
        let write = Write::to("p".to_owned(), "LEDGER")
            .update("SET #state = :s, #intents.#i3.#state = :t")
            .condition("#owner = :me AND (#expires_at>:now)");
        let mut names: Vec<_> = write.names().into_iter().collect();
        names.sort();
        let expected = [
            ("#expires_at", "expires_at"),
            ("#i3", "3"),
            ("#intents", "intents"),
            ("#owner", "owner"),
            ("#state", "state"),
        ];
        assert_eq!(
            names,
            expected.map(|(alias, name)| (alias.to_owned(), name.to_owned()))
        );
    }
}
