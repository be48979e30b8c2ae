//! A small load, without and with a kill in the middle of it.

use serde_json::Value;

use crate::program::{run, told};

fn report(arguments: &[&str]) -> Value {
    let output = run(arguments);
    assert_eq!(output.status.code(), Some(0), "{}", told(&output));
    serde_json::from_slice(&output.stdout).unwrap()
}

#[test]
fn a_load_comes_out_once_and_in_order() {
    let report = report(&["bench", "--json", "--updates", "40", "--chats", "8"]);
    let audit = &report["audit"];
    assert_eq!(audit["arrived"], 40, "{report}");
    for what in ["lost", "doubled", "out_of_order", "wrong"] {
        assert_eq!(audit[what], 0, "{report}");
    }
}

#[cfg(target_os = "linux")]
#[test]
fn a_killed_stack_finishes_every_update_at_its_next_start() {
    let report = report(&[
        "drill",
        "kill-stack",
        "--json",
        "--updates",
        "100",
        "--chats",
        "10",
    ]);
    let audit = &report["audit"];
    assert_eq!(audit["done"], 100, "{report}");
    let count = |what: &str| audit[what].as_u64().unwrap();
    assert_eq!(count("sent") + count("unknown"), 100, "{report}");
    assert_eq!(report["orphans"], Value::Array(Vec::new()), "{report}");
}
