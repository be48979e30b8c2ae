//! What people do beside the functions: they send dead Updates and lost sends again, and another program changes a
//! chat's state. Each is a write and then a message, and the message may be forgotten until later.

use fastrand::Rng;
use futures::FutureExt as _;
use penstock_domain::failure::Failure;
use penstock_domain::ids::{LedgerKey, chat_of_group};
use penstock_domain::intent::IntentState;
use penstock_domain::kind::UpdateKind;
use penstock_domain::ledger::{ClaimRequest, Owner, State};
use penstock_domain::route::route;
use penstock_formats::envelope::Envelope;
use penstock_formats::outbound::{Origin, Outbound};
use penstock_ports::{Commit, Enqueue, Inbox as _, RunAs, StateWrite, Subject};
use penstock_testkit::Row;
use serde_json::{Value, json};

use crate::plan::BOT;
use crate::watch;
use crate::world::{Name, World};

/// Most that a person sends one thing again.
pub(crate) const PATIENCE: u32 = 3;

/// A message that is still to be sent.
pub(crate) type Owed = (Name, Enqueue);

/// Sends a dead Update again.
pub(crate) fn redrive(world: &World, row: &Row) -> Option<Owed> {
    let redrive = row.record.redrive + 1;
    let post = world.book().post_of(row.subject.update_id, row.record.digest)?;
    let raw = row.raw.as_ref()?;
    if redrive > PATIENCE || !world.ledger.redrive(&row.record.key, redrive, world.now()) {
        return None;
    }
    {
        let mut book = world.book();
        book.redriven.insert(post);
        book.states.insert(post, State::Pending);
        book.reached("a person sent an update again");
    }
    world.trace(|| format!("a person redrives {} as r{redrive}", row.record.key));
    let route = route(raw.as_bytes()).unwrap();
    let envelope = Envelope {
        bot_id: BOT,
        update_id: route.update_id,
        key: row.record.key.as_str(),
        redrive,
        kind: route.kind,
        kind_name: &route.kind_name,
        received_at: row.subject.received_at,
        trace_id: &row.subject.trace_id,
        digest: route.digest,
        update: raw,
    };
    let message = Enqueue {
        group: row.subject.group.clone(),
        deduplication: row.record.key.deduplication_id(redrive),
        body: envelope.write(),
    };
    Some((Name::Updates, message))
}

/// Has a send repeated that failed or is unknown.
pub(crate) fn resend(world: &World, row: &Row, n: u8) -> Option<Owed> {
    let post = world.book().post_of(row.subject.update_id, row.record.digest)?;
    let stored = row.record.intents.iter().find(|stored| stored.intent.n == n)?;
    let resend = stored.resend + 1;
    if resend > PATIENCE || !world.ledger.resend(&row.record.key, n, resend, world.now()) {
        return None;
    }
    {
        let mut book = world.book();
        book.resent.insert((post, n), resend);
        book.reached("a person had a send repeated");
    }
    world.trace(|| format!("a person has u{post}.{n} sent again as s{resend}"));
    let origin = Origin {
        bot_id: BOT,
        update_id: penstock_domain::ids::UpdateId(row.subject.update_id),
        key: row.record.key.clone(),
        redrive: row.record.redrive,
        received_at: row.subject.received_at,
        trace_id: row.subject.trace_id.clone(),
    };
    let of = u8::try_from(row.record.intents.len()).unwrap();
    let message = Enqueue {
        group: stored.intent.group.clone(),
        deduplication: row.record.key.intent_deduplication_id(n, resend),
        body: Outbound::new(&origin, &stored.intent, resend, of)
            .write()
            .unwrap(),
    };
    Some((Name::Outbound, message))
}

/// Everything that a person could send again now.
pub(crate) fn wishes(world: &World) -> Vec<(Row, Option<u8>)> {
    let mut wishes = Vec::new();
    for row in world.ledger.rows() {
        if row.record.state == State::Dead && row.subject.update_id >= 0 {
            wishes.push((row, None));
            continue;
        }
        let lost = |state| matches!(state, IntentState::Failed | IntentState::Unknown);
        let intents = row.record.intents.iter().filter(|stored| lost(stored.state));
        let lost: Vec<_> = intents.map(|stored| stored.intent.n).collect();
        wishes.extend(lost.into_iter().map(|n| (row.clone(), Some(n))));
    }
    wishes
}

pub(crate) fn grant(world: &World, (row, n): &(Row, Option<u8>)) -> Option<Owed> {
    match n {
        None => redrive(world, row),
        Some(n) => resend(world, row, *n),
    }
}

/// The message goes out.
pub(crate) fn pay(world: &World, (name, message): Owed) {
    world.trace(|| format!("a person's message {} goes out", message.deduplication));
    watch::put(world, name, message);
}

/// Another writer changes the state of a chat.
pub(crate) fn conflict(world: &World, rng: &mut Rng, number: u32) {
    let groups: Vec<_> = {
        let book = world.book();
        let updates = book.posts.iter().filter_map(|post| post.update.as_ref());
        updates.map(|update| update.group.clone()).collect()
    };
    let Some(group) = rng.choice(&groups) else { return };
    let (chat, now) = (chat_of_group(group).to_owned(), world.now());
    let (state, read_version) = world
        .ledger
        .chat_state(BOT, &chat)
        .now_or_never()
        .unwrap()
        .unwrap()
        .unwrap_or_else(|| (json!({"seen": []}).to_string(), 0));
    let mut state: Value = serde_json::from_str(&state).unwrap();
    state["others"] = json!(number);
    let subject = Subject {
        kind: UpdateKind::Unknown,
        ..Subject::stranger(
            LedgerKey::from_stored(format!("{BOT}:other{number}")),
            BOT,
            &group.0,
            now,
        )
    };
    let request = ClaimRequest {
        owner: Owner(format!("other {number}")),
        redrive: 0,
        digest: penstock_domain::ids::UpdateDigest(number.into()),
        now,
        lease_until: now,
    };
    let commit = Commit {
        intents: Vec::new(),
        state: Some(StateWrite {
            chat: chat.clone(),
            read_version,
            state: state.to_string(),
        }),
        writes: Vec::new(),
        result: "other".to_owned(),
    };
    let committed = world
        .ledger
        .commit(&subject, &RunAs::Unclaimed(request), &commit, now)
        .now_or_never()
        .unwrap();
    world.trace(|| format!("another writes the state of {chat}: {committed:?}"));
}

/// Whether what killed an Update is no fault of the pipeline's or the bot's: its time was over, or the queue gave it up.
pub(crate) fn is_beyond_cure(tries: &[Failure]) -> bool {
    let codes = ["expired", "too_many_receives"];
    tries
        .last()
        .is_some_and(|failure| codes.contains(&failure.code.as_str()))
}
