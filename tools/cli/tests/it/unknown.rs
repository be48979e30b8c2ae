//! Unknown sends by the command line, on a running stack.

use std::process::Output;
use std::time::Duration;

use penstock_aws::{Ledger, WallClock};
use penstock_domain::failure::{Disposition, Failure};
use penstock_domain::ids::{BotId, LedgerKey, MessageGroupId, UpdateDigest, UpdateId, trace_id};
use penstock_domain::intent::{Call, IntentClaim, plan};
use penstock_domain::kind::UpdateKind;
use penstock_domain::ledger::{ClaimRequest, Owner, Retention};
use penstock_local::aws::{Clients, Endpoints};
use penstock_ports::{
    Clock as _, Commit, Commitment, Inbox as _, IntentSettlement, IntentStart, Outbox, RunAs, SettleAs,
    Subject,
};
use serde_json::Value;

use crate::program::{Dev, run, text, told};

const BOT: BotId = BotId(424_242);
const CHAT: i64 = 700_000_001;
const DAY: Duration = Duration::from_secs(86_400);

/// An update that is done, and whose sends were on their way when their sender died.
fn unknown_sends(state: &str, update: i64, count: u8) {
    let file = std::fs::read_to_string(format!("{state}/running.json")).unwrap();
    let running: Value = serde_json::from_str(&file).unwrap();
    let clients = Clients::new(
        &Endpoints::one(running["aws_endpoint"].as_str().unwrap()),
        "us-east-1",
    );
    let retention = Retention {
        dedup_window: DAY * 7,
        dead: DAY * 90,
    };
    let ledger = Ledger::new(clients.dynamodb, running["table"].as_str().unwrap(), retention);
    let now = WallClock::default().now();
    let subject = Subject {
        key: LedgerKey::new(BOT, UpdateId(update)),
        bot_id: BOT,
        update_id: update,
        kind: UpdateKind::Message,
        group: MessageGroupId(format!("{BOT}:c:{CHAT}")),
        received_at: now,
        trace_id: trace_id(BOT, UpdateId(update)),
        digest: Some(UpdateDigest(5)),
    };
    let call = |n| {
        Call::new(
            "sendMessage",
            format!(r#"{{"chat_id":{},"text":"a private text"}}"#, CHAT + i64::from(n)),
        )
    };
    let commit = Commit {
        intents: plan(BOT, (0..count).map(call).collect()).unwrap(),
        state: None,
        writes: Vec::new(),
        result: "done".to_owned(),
    };
    let request = ClaimRequest {
        owner: Owner("a processor".to_owned()),
        redrive: 0,
        digest: UpdateDigest(5),
        now,
        lease_until: now + Duration::from_secs(18),
    };
    let work = async {
        let committed = ledger
            .commit(&subject, &RunAs::Unclaimed(request), &commit, now)
            .await;
        assert_eq!(committed.unwrap(), Commitment::Done);
        for n in 0..count {
            let owner = Owner(format!("sender of {n}"));
            let claim = IntentClaim {
                owner: owner.clone(),
                n,
                redrive: 0,
                resend: 0,
                previous: None,
                refers_to: None,
                now,
                lease_until: now + Duration::from_secs(18),
            };
            let begun = ledger.start(&subject.key, &claim).await.unwrap();
            assert!(matches!(begun, IntentStart::Acquired { .. }), "{begun:?}");
            let failure = Failure::new("timeout", "no answer in time", Disposition::Ambiguous, 1, now);
            let settlement = IntentSettlement {
                key: subject.key.clone(),
                n,
                of: count,
                owner: Some(owner),
                settle: SettleAs::Unknown { failure },
                now,
            };
            assert!(Outbox::settle(&ledger, &settlement).await.unwrap());
        }
    };
    tokio::runtime::Runtime::new().unwrap().block_on(work);
}

fn unknown(state: &str, arguments: &[&str]) -> Output {
    run(&[&["unknown"], arguments, &["--state-dir", state]].concat())
}

fn settle(state: &str, arguments: &[&str]) -> Output {
    let account = ["--actor", "ada", "--reason", "looked"];
    unknown(state, &[&["settle"], arguments, &account].concat())
}

fn code(output: &Output) -> i32 {
    output.status.code().unwrap_or(-1)
}

fn json(output: &Output) -> Value {
    assert_eq!(code(output), 0, "{}", told(output));
    serde_json::from_slice(&output.stdout).unwrap()
}

#[test]
fn an_unknown_send_is_listed_shown_and_settled_by_a_person_with_an_audit() {
    let base = tempfile::tempdir().unwrap();
    let state_dir = base.path().join("state");
    let _dev = Dev::start(&state_dir);
    let state = state_dir.to_str().unwrap();
    assert_eq!(text(&unknown(state, &["list"]).stdout), "no unknown sends\n");
    unknown_sends(state, 1, 2);
    unknown_sends(state, 2, 1);

    let list = json(&unknown(state, &["list", "--json"]));
    assert_eq!(
        (list["total"].as_u64(), list["sends"][0]["code"].as_str()),
        (Some(3), Some("timeout"))
    );
    let status = run(&["status", "--state-dir", state]);
    assert!(
        text(&status.stdout).ends_with("2 need a person\n"),
        "{}",
        told(&status)
    );
    assert!(
        text(&status.stderr).contains("unknown list --state-dir"),
        "{}",
        told(&status)
    );
    assert_eq!(
        json(&run(&["status", "--json", "--state-dir", state]))["backend"]["state"],
        "up"
    );
    let shown = unknown(state, &["show", "1"]);
    let story = text(&shown.stdout);
    assert!(
        story.contains("send 1  sendMessage  unknown  to 424242:c:700000002"),
        "{story}"
    );
    assert!(
        story.contains("cure: look into the chat") && !story.contains("private"),
        "{story}"
    );
    assert!(
        text(&shown.stderr).contains("unknown settle 424242:1 --sent"),
        "{}",
        told(&shown)
    );
    assert_eq!(code(&unknown(state, &["show", "99"])), 3);

    // Which of two has to be said; a dry run writes nothing; one that is settled is settled.
    let which = settle(state, &["1", "--sent"]);
    assert_eq!(code(&which), 2, "{}", told(&which));
    assert!(
        text(&which.stderr).contains("(0, 1): name one with --send"),
        "{}",
        told(&which)
    );
    assert_eq!(code(&settle(state, &["1", "--send", "7", "--sent"])), 3);
    let dry = json(&settle(
        state,
        &["1", "--send", "0", "--sent", "--dry-run", "--json"],
    ));
    assert_eq!(dry["outcome"], "would_be_settled");
    assert_eq!(
        json(&settle(state, &["1", "--send", "0", "--sent", "--json"]))["outcome"],
        "settled"
    );
    let again = settle(state, &["1", "--send", "0", "--sent"]);
    assert_eq!(code(&again), 1, "{}", told(&again));
    assert!(
        text(&again.stderr).contains("only what is unknown can be settled"),
        "{}",
        told(&again)
    );

    // The one that is left needs no number. It is sent again, once, and arrives.
    let resent = json(&settle(state, &["2", "--resend", "--json"]));
    assert_eq!(
        (resent["outcome"].as_str(), resent["send"].as_u64()),
        (Some("sent_again"), Some(0))
    );
    let story = until_sent(state);
    assert_eq!(
        (
            story["sends"][0]["resend"].as_u64(),
            story["audit"][0]["action"].as_str()
        ),
        (Some(1), Some("resend"))
    );
    assert_eq!(code(&settle(state, &["2", "--resend"])), 1);
    let left = json(&unknown(state, &["list", "--json"]));
    assert_eq!(
        (left["total"].as_u64(), left["sends"][0]["n"].as_u64()),
        (Some(1), Some(1))
    );
}

/// Asks a bounded number of times: the sender needs a moment.
fn until_sent(state: &str) -> Value {
    const LOOKS: usize = 600;
    for _ in 0..LOOKS {
        let story = json(&unknown(state, &["show", "2", "--json"]));
        if story["sends"][0]["state"] == "sent" {
            return story;
        }
    }
    panic!("it was not sent");
}
