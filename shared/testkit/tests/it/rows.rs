//! The rows of a long body live as long as the record that names them: what no port shows.

use std::time::Duration;

use penstock_domain::failure::{Disposition, Failure};
use penstock_domain::ids::{BotId, LedgerKey, UpdateId};
use penstock_domain::repair::Act;
use penstock_domain::time::Timestamp;
use penstock_ports::{Filed, Inbox as _, Repaired, Repairs as _, Subject};
use penstock_testkit::contract::{RETENTION, START};

use crate::dynamodb::embedded_table;

#[tokio::test]
async fn the_rows_of_a_redriven_body_live_as_long_as_its_record() {
    let table = embedded_table().await;
    let bot = BotId(424_242);
    let key = LedgerKey::new(bot, UpdateId(1));
    let subject = Subject {
        update_id: 1,
        ..Subject::stranger(key.clone(), bot, "424242:c:1", START)
    };
    let mut generator = fastrand::Rng::with_seed(7);
    let raw: String = (0..600_000).map(|_| generator.alphanumeric()).collect();
    let failure = Failure::new("no_use", "", Disposition::Permanent, 1, START);
    let filed = table.ledger.file_dead(&subject, 0, &raw, &failure, START).await;
    assert_eq!(filed.unwrap(), Filed::Dead);
    let late: Timestamp = START + Duration::from_secs(80 * 86_400);
    let letter = table.ledger.letter(&key).await.unwrap().unwrap();
    let act = Act::new("ada", "mended", late).unwrap();
    assert_eq!(table.ledger.redrive(&letter, &act).await.unwrap(), Repaired::Done);
    let expected = RETENTION.expires_at(1, late).to_string();
    let record = table.get(format!("UPD#{key}"), "LEDGER").await.unwrap();
    let set = record["raw_set"].as_s().unwrap();
    let rows: usize = record["raw_rows"].as_n().unwrap().parse().unwrap();
    assert!(rows > 1, "the body is too short for this test");
    assert_eq!(record["expires_at"].as_n().unwrap(), &expected);
    for index in 0..rows {
        let row = table
            .get(format!("UPD#{key}"), &format!("RAW#{set}#{index}"))
            .await
            .unwrap();
        assert_eq!(row["expires_at"].as_n().unwrap(), &expected, "row {index}");
    }
}
