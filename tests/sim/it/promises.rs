//! The promises, as far as a pipeline at rest shows them. What only a moment shows is in `watch`.

use std::collections::BTreeMap;

use penstock_domain::ids::{LedgerKey, chat_of_group};
use penstock_domain::intent::IntentState;
use penstock_domain::ledger::State;
use penstock_testkit::Row;
use serde_json::Value;

use crate::plan::BOT;
use crate::world::{Name, World};

/// Holds the world to its promises.
pub(crate) fn check(world: &World) {
    what_was_thanked_for_is_in_the_queue(world);
    every_accepted_update_is_done_or_dead_with_its_body(world);
    what_is_no_update_is_kept_as_it_came(world);
    an_update_has_one_outcome(world);
    each_chat_has_seen_its_updates_once(world);
    every_send_has_ended_and_what_needs_a_person_is_listed(world);
    nothing_is_left_in_a_queue(world);
}

fn what_was_thanked_for_is_in_the_queue(world: &World) {
    let lost: Vec<_> = {
        let book = world.book();
        let updates = book
            .thanked
            .iter()
            .filter(|post| book.posts[**post].update.is_some());
        updates
            .filter(|post| !book.accepted.contains(post))
            .copied()
            .collect()
    };
    for post in lost {
        world.broken("200 means queued", format!("u{post}"));
    }
}

/// The record of a post, unless another Update with its id came after its time.
fn row_of(world: &World, post: usize) -> Option<Row> {
    let update = world.book().posts[post].update.clone()?;
    let rows = update.keys().into_iter().filter_map(|key| world.ledger.row(&key));
    rows.into_iter()
        .find(|row| row.record.digest == Some(update.digest))
}

fn every_accepted_update_is_done_or_dead_with_its_body(world: &World) {
    let accepted = world.book().accepted.clone();
    for post in accepted {
        let (state, raw) = {
            let book = world.book();
            (book.states.get(&post).copied(), book.posts[post].raw.clone())
        };
        let how = match state {
            Some(State::Done) => continue,
            Some(State::Dead) => match row_of(world, post).and_then(|row| row.raw) {
                Some(kept) if json(&kept) == json(&raw) => continue,
                kept => format!("u{post} is dead with {kept:?}"),
            },
            state => format!("u{post} is {state:?}"),
        };
        world.broken("done or dead, no third end", how);
    }
}

fn json(text: &str) -> Option<Value> {
    serde_json::from_str(text).ok()
}

fn what_is_no_update_is_kept_as_it_came(world: &World) {
    let raws: Vec<_> = {
        let book = world.book();
        let thanked = book.thanked.iter().map(|post| &book.posts[*post]);
        let strange = thanked.filter(|post| post.update.is_none());
        strange.map(|post| post.raw.clone()).collect()
    };
    for raw in raws {
        let key = LedgerKey::quarantined(BOT, raw.as_bytes());
        let kept = world.ledger.row(&key);
        if kept
            .as_ref()
            .is_none_or(|row| row.attention != Some("quarantine"))
        {
            world.broken("what is no update is kept", format!("{raw}: {kept:?}"));
        }
    }
}

fn an_update_has_one_outcome(world: &World) {
    let wrong: Vec<_> = {
        let book = world.book();
        let expected = |post: &usize| u32::from(book.states.get(post) == Some(&State::Done));
        let outcomes = |post: &usize| book.outcomes.get(post).copied().unwrap_or(0);
        let posts = 0..book.posts.len();
        posts
            .filter(|post| outcomes(post) != expected(post))
            .map(|post| format!("u{post} has {}", outcomes(&post)))
            .collect()
    };
    for how in wrong {
        world.broken("one outcome", how);
    }
}

/// The bot writes into each chat's state which Updates it saw: what was committed once is there once.
fn each_chat_has_seen_its_updates_once(world: &World) {
    let mut expected: BTreeMap<String, Vec<usize>> = BTreeMap::new();
    {
        let book = world.book();
        for (post, plan) in book.posts.iter().enumerate() {
            let Some(update) = &plan.update else { continue };
            let chat = expected
                .entry(chat_of_group(&update.group).to_owned())
                .or_default();
            if plan.act.writes_state && book.states.get(&post) == Some(&State::Done) {
                chat.push(post);
            }
        }
    }
    for (chat, expected) in expected {
        let state =
            futures::FutureExt::now_or_never(penstock_ports::Inbox::chat_state(&world.ledger, BOT, &chat));
        let state = state.unwrap().unwrap().and_then(|(state, _)| json(&state));
        let seen = state
            .and_then(|state| state["seen"].as_array().cloned())
            .unwrap_or_default();
        let mut seen: Vec<_> = seen
            .iter()
            .map(|post| usize::try_from(post.as_u64().unwrap()).unwrap())
            .collect();
        seen.sort_unstable();
        if seen != expected {
            world.broken(
                "state and outcome are one",
                format!("chat {chat} has seen {seen:?}, done are {expected:?}"),
            );
        }
    }
}

fn every_send_has_ended_and_what_needs_a_person_is_listed(world: &World) {
    for row in world.ledger.rows() {
        let (key, record) = (&row.record.key, &row.record);
        let state = |state: IntentState| {
            record
                .intents
                .iter()
                .filter(|stored| stored.state == state)
                .count()
        };
        for stored in record
            .intents
            .iter()
            .filter(|stored| stored.state.holds_successors())
        {
            let how = format!("{key} {} is {:?}", stored.intent.n, stored.state);
            world.broken("every send ends", how);
        }
        let unknown = state(IntentState::Unknown);
        if record.state == State::Done && u32::try_from(unknown).unwrap() != record.open {
            world.broken(
                "open counts what is open",
                format!("{key}: {} for {unknown}", record.open),
            );
        }
        let listed = match record.state {
            State::Dead if row.subject.update_id < 0 => Some("quarantine"),
            State::Dead => Some("dead"),
            _ if unknown > 0 => Some("unknown"),
            _ => None,
        };
        if row.attention != listed {
            let how = format!("{key} is under {:?}, not {listed:?}", row.attention);
            world.broken("what needs a person is listed", how);
        }
    }
}

fn nothing_is_left_in_a_queue(world: &World) {
    for name in Name::ALL {
        let left = world.queue(name, |queue| {
            queue.bodies().map(str::to_owned).collect::<Vec<_>>()
        });
        if !left.is_empty() {
            world.broken("the queues run empty", format!("{name:?}: {left:?}"));
        }
    }
}

/// What a person put right and sent again is done.
pub(crate) fn check_cured(world: &World) {
    let accepted = world.book().accepted.clone();
    for post in accepted {
        let Some(row) = row_of(world, post).filter(|row| row.record.state == State::Dead) else {
            continue;
        };
        if row.record.redrive <= 1 && !crate::people::is_beyond_cure(&row.record.tries) {
            let how = format!("u{post}: {:?}", row.record.tries.last());
            world.broken("what is put right gets through", how);
        }
    }
}
