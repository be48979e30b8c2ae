//! Creates tables, and refuses existing ones that do not fit the template.

use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::error::BuildError;
use aws_sdk_dynamodb::types::{
    AttributeDefinition, BillingMode, GlobalSecondaryIndex, KeySchemaElement, KeyType, Projection,
    ProjectionType, ScalarAttributeType, TableDescription, TableStatus, TimeToLiveSpecification,
    TimeToLiveStatus,
};

use super::AwsError;
use crate::template::{Index, Key, Table};

/// Times to ask whether a new table is active. An emulator is at the first.
const ACTIVE_TRIES: u32 = 100;
/// Between two of them.
const ACTIVE_WAIT: std::time::Duration = std::time::Duration::from_millis(100);

/// Creates one table, with its time to live.
pub(super) async fn create(client: &Client, table: &Table) -> Result<(), AwsError> {
    match describe(client, &table.name).await? {
        Some(found) => check(table, &found)?,
        None => {
            make(client, table).await?;
            wait_until_active(client, &table.name).await?;
        }
    }
    match &table.ttl_attribute {
        Some(attribute) => enable_ttl(client, &table.name, attribute).await,
        None => Ok(()),
    }
}

async fn describe(client: &Client, name: &str) -> Result<Option<TableDescription>, AwsError> {
    match client.describe_table().table_name(name).send().await {
        Ok(answer) => Ok(answer.table),
        Err(error)
            if error
                .as_service_error()
                .is_some_and(|error| error.is_resource_not_found_exception()) =>
        {
            Ok(None)
        }
        Err(error) => Err(AwsError::call("DescribeTable", name, error)),
    }
}

fn check(table: &Table, found: &TableDescription) -> Result<(), AwsError> {
    let differs = |difference: String| {
        Err(AwsError::TableDiffers {
            name: table.name.clone(),
            difference,
        })
    };
    if !same_key(&table.key, found.key_schema()) {
        return differs("has another key than the template".to_owned());
    }
    for index in &table.indexes {
        let there = found
            .global_secondary_indexes()
            .iter()
            .any(|other| other.index_name() == Some(&index.name) && same_key(&index.key, other.key_schema()));
        if !there {
            return differs(format!("has no index {} as the template has", index.name));
        }
    }
    Ok(())
}

fn same_key(key: &Key, schema: &[KeySchemaElement]) -> bool {
    let of = |kind: &KeyType| {
        schema
            .iter()
            .find(|element| element.key_type() == kind)
            .map(KeySchemaElement::attribute_name)
    };
    of(&KeyType::Hash) == Some(&key.hash) && of(&KeyType::Range) == key.range.as_deref()
}

async fn make(client: &Client, table: &Table) -> Result<(), AwsError> {
    let invalid = |error: BuildError| AwsError::call("CreateTable", &table.name, error);
    let mut request = client
        .create_table()
        .table_name(&table.name)
        .billing_mode(BillingMode::PayPerRequest)
        .set_key_schema(Some(schema(&table.key).map_err(invalid)?));
    for (name, kind) in &table.attributes {
        let definition = AttributeDefinition::builder()
            .attribute_name(name)
            .attribute_type(ScalarAttributeType::from(kind.as_str()))
            .build()
            .map_err(invalid)?;
        request = request.attribute_definitions(definition);
    }
    for index in &table.indexes {
        request = request.global_secondary_indexes(index_definition(index).map_err(invalid)?);
    }
    request
        .send()
        .await
        .map_err(|error| AwsError::call("CreateTable", &table.name, error))?;
    Ok(())
}

fn schema(key: &Key) -> Result<Vec<KeySchemaElement>, BuildError> {
    let element = |name: &str, kind: KeyType| {
        KeySchemaElement::builder()
            .attribute_name(name)
            .key_type(kind)
            .build()
    };
    let hash = element(&key.hash, KeyType::Hash);
    let range = key.range.as_deref().map(|name| element(name, KeyType::Range));
    std::iter::once(hash).chain(range).collect()
}

fn index_definition(index: &Index) -> Result<GlobalSecondaryIndex, BuildError> {
    let include = (!index.include.is_empty()).then(|| index.include.clone());
    let projection = Projection::builder()
        .projection_type(ProjectionType::from(index.projection.as_str()))
        .set_non_key_attributes(include)
        .build();
    GlobalSecondaryIndex::builder()
        .index_name(&index.name)
        .set_key_schema(Some(schema(&index.key)?))
        .projection(projection)
        .build()
}

async fn wait_until_active(client: &Client, name: &str) -> Result<(), AwsError> {
    for _ in 0..ACTIVE_TRIES {
        let found = describe(client, name).await?;
        if found.is_some_and(|table| table.table_status() == Some(&TableStatus::Active)) {
            return Ok(());
        }
        tokio::time::sleep(ACTIVE_WAIT).await;
    }
    Err(AwsError::Call {
        call: "DescribeTable",
        name: name.to_owned(),
        reason: "the table does not become active".to_owned(),
    })
}

async fn enable_ttl(client: &Client, name: &str, attribute: &str) -> Result<(), AwsError> {
    let answer = client
        .describe_time_to_live()
        .table_name(name)
        .send()
        .await
        .map_err(|error| AwsError::call("DescribeTimeToLive", name, error))?;
    let status = answer
        .time_to_live_description
        .and_then(|found| found.time_to_live_status);
    if matches!(
        status,
        Some(TimeToLiveStatus::Enabled | TimeToLiveStatus::Enabling)
    ) {
        return Ok(());
    }
    let specification = TimeToLiveSpecification::builder()
        .enabled(true)
        .attribute_name(attribute)
        .build()
        .map_err(|error| AwsError::call("UpdateTimeToLive", name, error))?;
    client
        .update_time_to_live()
        .table_name(name)
        .time_to_live_specification(specification)
        .send()
        .await
        .map_err(|error| AwsError::call("UpdateTimeToLive", name, error))?;
    Ok(())
}
