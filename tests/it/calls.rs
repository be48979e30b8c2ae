//! What one Update costs in calls of AWS and in units of the table, held against a committed measurement.

use std::path::PathBuf;

use penstock_local::calls::{Amount, Calls, measure};

use crate::repository::root;

/// The measurement. A change that makes Updates cheaper or dearer renews it, with the figures in its commit:
/// `cargo run -- bench calls --json | python3 -m json.tool >tests/golden/calls.json`.
const GOLDEN: &str = "tests/golden/calls.json";

#[tokio::test(flavor = "multi_thread")]
async fn an_update_costs_the_calls_and_units_that_were_measured() {
    let golden: Calls = serde_json::from_slice(&std::fs::read(root().join(GOLDEN)).unwrap()).unwrap();
    let exe = PathBuf::from(env!("CARGO_BIN_EXE_penstock-test-functions"));
    let calls = measure(exe, Amount::default()).await.unwrap();
    let table = calls.lines().join("\n");
    for (now, before) in [
        (&calls.singles, &golden.singles),
        (&calls.batches, &golden.batches),
    ] {
        assert_eq!(
            now, before,
            "an update costs other calls than in {GOLDEN}. Now:\n{table}\nIf that is meant, renew the file: \
             cargo run -- bench calls --json | python3 -m json.tool >{GOLDEN}"
        );
    }
}
