//! Reading and building attribute values. An attribute of the wrong type reads as absent; who needs it says so.

use std::collections::HashMap;
use std::str::FromStr;

use aws_sdk_dynamodb::types::AttributeValue;

use super::Item;

pub(crate) fn text<'a>(item: &'a Item, name: &str) -> Option<&'a str> {
    item.get(name)
        .and_then(|value| value.as_s().ok())
        .map(String::as_str)
}

pub(crate) fn number<T: FromStr>(item: &Item, name: &str) -> Option<T> {
    item.get(name)
        .and_then(|value| value.as_n().ok())
        .and_then(|digits| digits.parse().ok())
}

pub(crate) fn map<'a>(item: &'a Item, name: &str) -> Option<&'a Item> {
    item.get(name).and_then(|value| value.as_m().ok())
}

pub(crate) fn list<'a>(item: &'a Item, name: &str) -> &'a [AttributeValue] {
    item.get(name)
        .and_then(|value| value.as_l().ok())
        .map_or(&[], Vec::as_slice)
}

pub(crate) fn s(text: impl Into<String>) -> AttributeValue {
    AttributeValue::S(text.into())
}

pub(crate) fn n(number: impl ToString) -> AttributeValue {
    AttributeValue::N(number.to_string())
}

pub(crate) fn m<const N: usize>(entries: [(&str, AttributeValue); N]) -> Item {
    entries
        .into_iter()
        .map(|(name, value)| (name.to_owned(), value))
        .collect::<HashMap<_, _>>()
}
