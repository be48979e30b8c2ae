//! The real ledger keeps the contract, on an embedded DynamoDB, or on any other one whose address is in
//! `AWS_ENDPOINT_URL_DYNAMODB_CONTRACT`.

use std::collections::HashMap;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::client::Waiters as _;
use aws_sdk_dynamodb::config::{BehaviorVersion, Credentials, Region};
use aws_sdk_dynamodb::types::{
    AttributeDefinition, AttributeValue, BillingMode, GlobalSecondaryIndex, KeySchemaElement, KeyType,
    Projection, ProjectionType, ScalarAttributeType,
};
use penstock_aws::Ledger;
use penstock_domain::ids::{BotId, LedgerKey};
use penstock_domain::time::Timestamp;
use penstock_testkit::contract::{RETENTION, World};

const TABLE: &str = "penstock-contract";

/// A new table becomes active within this time, or the test fails.
const ACTIVE_WITHIN: Duration = Duration::from_secs(60);
/// Looks that often for a row in the index, which follows the table a little later.
const LOOKS: usize = 100;

pub(crate) struct Table {
    pub(crate) ledger: Ledger,
    client: Client,
    bot: BotId,
    last_update: AtomicI64,
}

#[expect(
    clippy::disallowed_methods,
    reason = "which endpoint is tested is chosen where the test is started"
)]
fn chosen_endpoint() -> Option<String> {
    std::env::var("AWS_ENDPOINT_URL_DYNAMODB_CONTRACT").ok()
}

/// Ends with the runtime of its test.
async fn embedded() -> String {
    let listener = tokio::net::TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
    let address = listener.local_addr().unwrap();
    let database = dynoxide::Database::memory().unwrap();
    tokio::spawn(dynoxide::server::serve_on(listener, database));
    format!("http://{address}")
}

async fn table() -> Table {
    match chosen_endpoint() {
        Some(endpoint) => table_at(endpoint).await,
        None => embedded_table().await,
    }
}

/// An empty table in this process.
pub(crate) async fn embedded_table() -> Table {
    table_at(embedded().await).await
}

async fn table_at(endpoint: String) -> Table {
    let config = aws_config::defaults(BehaviorVersion::latest())
        .endpoint_url(endpoint)
        .region(Region::new("us-east-1"))
        .credentials_provider(Credentials::new("test", "test", None, None, "contract"))
        .load()
        .await;
    let client = Client::new(&config);
    create(&client).await;
    // Its own for every test: an endpoint may be shared.
    let bot = BotId(fastrand::u64(1..1 << 50));
    let ledger = Ledger::new(client.clone(), TABLE, RETENTION);
    Table {
        ledger,
        client,
        bot,
        last_update: AtomicI64::new(0),
    }
}

fn key(name: &str, key_type: KeyType) -> KeySchemaElement {
    KeySchemaElement::builder()
        .attribute_name(name)
        .key_type(key_type)
        .build()
        .unwrap()
}

/// As the template has it.
async fn create(client: &Client) {
    let attribute = |name: &str| {
        AttributeDefinition::builder()
            .attribute_name(name)
            .attribute_type(ScalarAttributeType::S)
            .build()
            .unwrap()
    };
    let index = GlobalSecondaryIndex::builder()
        .index_name("attn")
        .key_schema(key("attn_pk", KeyType::Hash))
        .key_schema(key("attn_sk", KeyType::Range))
        .projection(Projection::builder().projection_type(ProjectionType::All).build())
        .build()
        .unwrap();
    let created = client
        .create_table()
        .table_name(TABLE)
        .billing_mode(BillingMode::PayPerRequest)
        .set_attribute_definitions(Some(["pk", "sk", "attn_pk", "attn_sk"].map(attribute).into()))
        .key_schema(key("pk", KeyType::Hash))
        .key_schema(key("sk", KeyType::Range))
        .global_secondary_indexes(index)
        .send()
        .await;
    match created {
        Err(error)
            if !error
                .as_service_error()
                .is_some_and(|error| error.is_resource_in_use_exception()) =>
        {
            panic!("the table cannot be created: {error:?}");
        }
        _ => {}
    }
    client
        .wait_until_table_exists()
        .table_name(TABLE)
        .wait(ACTIVE_WITHIN)
        .await
        .unwrap();
}

impl Table {
    pub(crate) async fn get(&self, pk: String, sk: &str) -> Option<HashMap<String, AttributeValue>> {
        let answer = self
            .client
            .get_item()
            .table_name(TABLE)
            .key("pk", AttributeValue::S(pk))
            .key("sk", AttributeValue::S(sk.to_owned()))
            .consistent_read(true)
            .send()
            .await
            .unwrap();
        answer.item
    }
}

impl Table {
    /// Stores an item as it is, whatever was there.
    pub(crate) async fn put(&self, item: HashMap<String, AttributeValue>) {
        let put = self.client.put_item().table_name(TABLE).set_item(Some(item));
        put.send().await.unwrap();
    }
}

impl World for Table {
    type Ledger = Ledger;

    fn ledger(&self) -> &Ledger {
        &self.ledger
    }

    fn bot(&self) -> BotId {
        self.bot
    }

    fn fresh_update(&self) -> i64 {
        self.last_update.fetch_add(1, Ordering::SeqCst) + 1
    }

    async fn raw_body(&self, key: &LedgerKey) -> Option<String> {
        self.ledger.raw_body(key).await.unwrap()
    }

    async fn attention(&self, key: &LedgerKey) -> Option<String> {
        let item = self.get(format!("UPD#{key}"), "LEDGER").await?;
        let shard = item.get("attn_pk")?.as_s().unwrap();
        for _ in 0..LOOKS {
            let page = self
                .client
                .query()
                .table_name(TABLE)
                .index_name("attn")
                .key_condition_expression("attn_pk = :shard AND attn_sk = :place")
                .expression_attribute_values(":shard", AttributeValue::S(shard.clone()))
                .expression_attribute_values(":place", item["attn_sk"].clone())
                .send()
                .await
                .unwrap();
            if page.items().iter().any(|found| found["pk"] == item["pk"]) {
                let (kind, rest) = shard.split_once('#').unwrap();
                assert!(rest.starts_with(&format!("{}#", self.bot)), "{shard}");
                return Some(kind.to_owned());
            }
        }
        panic!("{key} is not in the index under {shard}");
    }

    async fn hold(&self, bot: BotId, chat: &str) -> Option<Timestamp> {
        let item = self.get(format!("CHAT#{bot}:{chat}"), "GATE").await?;
        Some(Timestamp::from_millis(
            item["hold_until"].as_n().unwrap().parse().unwrap(),
        ))
    }
}

penstock_testkit::contract_tests!(table());
