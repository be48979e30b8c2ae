//! What is looked at whenever something changes: the promises that no end state can show. Never changes anything.

use penstock_domain::intent::{IntentEvent, IntentRecord, IntentState, transition as intent_transition};
use penstock_domain::ledger::{Event, State, transition};
use penstock_domain::retry::MAX_ATTEMPTS;
use penstock_domain::time::Timestamp;
use penstock_formats::envelope::Envelope;
use penstock_ports::Enqueue;
use penstock_testkit::Row;

use crate::book::{Book, Made, RunId, SendId, send_of};
use crate::hub::{ApiFate, WorkerId};
use crate::plan::Planned;
use crate::world::{Name, World};

/// Most that two clocks differ, milliseconds.
pub(crate) const MOST_APART: i64 = 1_000;

/// A message goes into a queue.
pub(crate) fn put(world: &World, name: Name, message: Enqueue) {
    let now = world.now();
    let body = message.body.clone();
    let is_new = world.queue(name, |queue| queue.put(message, now));
    if name != Name::Updates {
        return;
    }
    let Ok(envelope) = Envelope::read(&body) else {
        return;
    };
    let mut book = world.book();
    let Some(post) = book.post_of(envelope.update_id.0, Some(envelope.digest)) else {
        return;
    };
    let is_known = book.accepted.contains(&post);
    *book.puts.entry(post).or_default() += usize::from(is_new);
    if is_new && !is_known {
        book.accepted.push(post);
    }
    drop(book);
    if !is_new && !is_known {
        world.broken("accepted is in the queue", format!("u{post} was swallowed"));
    }
}

/// One write on a record.
pub(crate) fn record(world: &World, run: RunId, before: Option<&Row>, after: Option<&Row>) {
    let Some(after) = after.filter(|after| before != Some(*after)) else {
        return;
    };
    let now = world.now();
    let is_over = |row: &&Row| row.record.expires_at * 1_000 < now.as_millis() + MOST_APART;
    if before.is_some_and(|before| before.record.fence > after.record.fence) {
        world.broken("the fence never falls", format!("{}", after.record.key));
    }
    let before = before.filter(|before| !is_over(before));
    let mut broken = Vec::new();
    {
        let mut book = world.book();
        update_changed(&mut book, run, before, after, &mut broken);
        if let Some(post) = book.post_of(after.subject.update_id, after.record.digest) {
            for stored in &after.record.intents {
                let send = (post, stored.intent.n);
                let old = before.and_then(|before| {
                    let mut intents = before.record.intents.iter();
                    intents.find(|old| old.intent.n == stored.intent.n)
                });
                send_changed(&mut book, run, send, old, stored, &mut broken);
            }
        }
    }
    for (promise, how) in broken {
        world.broken(promise, how);
    }
}

type Broken = Vec<(&'static str, String)>;

fn update_changed(book: &mut Book, run: RunId, before: Option<&Row>, after: &Row, broken: &mut Broken) {
    let (old, new) = (before.map(|before| before.record.state), after.record.state);
    let key = &after.record.key;
    let is_settled = before.is_some_and(|before| before.record.fence == after.record.fence);
    if old != Some(new) || !is_settled {
        let leads = |event: &Event| transition(old, *event) == Ok(new);
        let is_legal = Event::ALL.iter().any(leads) || (old == Some(new) && is_settled);
        if !is_legal {
            broken.push(("only legal transitions", format!("{key}: {old:?} -> {new:?}")));
        }
    }
    let Some(post) = book.post_of(after.subject.update_id, after.record.digest) else {
        return;
    };
    if old != Some(new) {
        book.states.insert(post, new);
    }
    if old == Some(State::Processing) && new == State::Processing && !is_settled {
        book.reached("an update was taken over");
    }
    if new == State::Deferred {
        book.reached("a try was given back");
    }
    if new == State::Done && old != Some(State::Done) {
        *book.outcomes.entry(post).or_default() += 1;
        if let Some(missed) = book.stale.get(&(post, run)) {
            let how = format!("u{post} was not told of u{missed}");
            broken.push(("no outcome rests on an old state", how));
        }
        if let Some(earlier) = open_before(book, post) {
            broken.push((
                "a chat's updates are committed in order",
                format!("u{post} before u{earlier}"),
            ));
        }
    }
}

/// An Update that was accepted before this one in its chat, and has not ended. What the queue gave up or a person sent
/// again comes late by nature.
fn open_before(book: &Book, post: usize) -> Option<usize> {
    let group = |post: usize| book.posts[post].update.as_ref().map(|update| &update.group);
    let earlier = book.accepted.iter().take_while(|accepted| **accepted != post);
    earlier.copied().find(|earlier| {
        group(*earlier) == group(post)
            && !book.given_up.contains(earlier)
            && !book.redriven.contains(earlier)
            && !matches!(book.states.get(earlier), Some(State::Done | State::Dead))
    })
}

fn send_changed(
    book: &mut Book,
    run: RunId,
    send: SendId,
    before: Option<&IntentRecord>,
    after: &IntentRecord,
    broken: &mut Broken,
) {
    let old = before.map_or(IntentState::Intended, |before| before.state);
    let new = after.state;
    let name = format!("u{}.{}", send.0, send.1);
    if new == IntentState::Sending && before.is_none_or(|before| before.owner != after.owner) {
        book.claims.insert(send, run);
    }
    if old == new {
        return;
    }
    let leads = |event: &IntentEvent| intent_transition(old, *event) == Ok(new);
    if !IntentEvent::ALL.iter().any(leads) {
        broken.push(("only legal transitions", format!("{name}: {old:?} -> {new:?}")));
    }
    let resends = book.resent.get(&send).copied().unwrap_or(0);
    if after.attempts > MAX_ATTEMPTS + resends {
        broken.push(("attempts are limited", format!("{name}: {}", after.attempts)));
    }
    // Only the claimer's own call counts: another one may come from somebody whose time was long over.
    let claimer = book.claims.get(&send).copied();
    let last = book
        .calls_of(send)
        .rfind(|made| Some(made.run) == claimer)
        .copied();
    let is_lost = last.is_some_and(|made| made.is_ambiguous());
    match new {
        IntentState::Unknown => {
            book.reached("a send is unknown");
            let claimer = claimer.and_then(|run| book.alive.get(&run));
            let is_working = claimer.is_some_and(|alive| !alive.is_overdue);
            if !is_lost && is_working {
                let how = format!("{name}: its sender is at work, and no answer was lost");
                broken.push(("unknown is only what is ambiguous", how));
            }
        }
        IntentState::Sent => {
            let is_confirmed = book.calls_of(send).any(|made| made.fate == ApiFate::Sent);
            if !is_confirmed {
                broken.push(("sent is only what Telegram confirmed", name));
            } else if old == IntentState::Unknown {
                book.reached("a late answer settled what was unknown");
            }
        }
        IntentState::Failed => {
            let is_visible = book.planned(send).is_some_and(|planned| planned.is_visible());
            let may_be_sent = last.is_some_and(|made| made.is_ambiguous() || made.is_delivered());
            if is_visible && may_be_sent {
                broken.push(("failed is only what was not sent", name));
            }
        }
        IntentState::Retrying => hold(book, run, last, after),
        IntentState::Intended | IntentState::Sending | IntentState::Cancelled => {}
    }
}

/// A 429 was settled: for as long as Telegram said its chat is held. One by somebody whose time was over comes too late
/// for that.
fn hold(book: &mut Book, run: RunId, last: Option<Made>, after: &IntentRecord) {
    let is_in_time = book.alive.get(&run).is_some_and(|alive| !alive.is_overdue);
    let Some(Made {
        fate: ApiFate::Throttled(secs),
        at,
        ..
    }) = last.filter(|made| is_in_time && made.run == run)
    else {
        return;
    };
    let send = last.map(|made| made.send);
    if send.is_some_and(|send| book.sends_given_up.contains(&send)) {
        return;
    }
    let until = at + std::time::Duration::from_secs(secs.into());
    let hold = book.holds.entry(after.intent.group.clone()).or_insert(until);
    *hold = until.max(*hold);
    book.reached("a chat is held");
}

/// A call of the Bot API; gives back the id of the message.
pub(crate) fn call(world: &World, worker: WorkerId, method: &str, params: &str, fate: ApiFate) -> i64 {
    let now = world.now();
    world.trace(|| format!("{worker} {method} {params} {fate:?}"));
    let Some(send) = send_of(params) else {
        world.broken("only what was asked for is sent", format!("{method} {params}"));
        return 0;
    };
    let mut broken = Vec::new();
    let message_id = {
        let mut book = world.book();
        let run = book.run_of(worker);
        book.calls.push(Made {
            run,
            send,
            fate,
            at: now,
        });
        let planned = book.planned(send);
        if let Some(planned) = planned {
            doubled(&book, send, planned, &mut broken);
            let is_overdue = book.alive.get(&run).is_some_and(|alive| alive.is_overdue);
            if !is_overdue {
                in_turn(world, &book, run, send, &mut broken);
                // What a person has repeated comes out of order by nature, and may lie before the one that waits.
                if planned.is_visible() && !book.resent.contains_key(&send) {
                    not_held(&book, send, now, &mut broken);
                }
            }
        }
        i64::try_from(book.calls.len()).unwrap()
    };
    for (promise, how) in broken {
        world.broken(promise, how);
    }
    message_id
}

/// No visible send twice, but for the repeat that its caller or a person asked for.
fn doubled(book: &Book, send: SendId, planned: Planned, broken: &mut Broken) {
    let may_repeat = planned.on_unknown == penstock_domain::intent::OnUnknown::ResendOnce;
    let resends = book.resent.get(&send).copied().unwrap_or(0);
    let most = 1 + usize::try_from(resends).unwrap() + usize::from(may_repeat);
    let delivered = book.calls_of(send).filter(|made| made.is_delivered()).count();
    if planned.is_visible() && delivered > most {
        let how = format!(
            "u{}.{} was delivered {delivered} times, {most} may be",
            send.0, send.1
        );
        broken.push(("no visible send is doubled", how));
    }
}

/// A call is made by who holds the claim, and after everything that its chat was to be sent before.
fn in_turn(world: &World, book: &Book, run: RunId, send: SendId, broken: &mut Broken) {
    let name = format!("u{}.{}", send.0, send.1);
    let stored = |post: usize| {
        let update = book.posts[post].update.as_ref()?;
        let mut rows = update.keys().into_iter().filter_map(|key| world.ledger.row(&key));
        let row = rows.find(|row| row.record.digest == Some(update.digest))?;
        Some(row.record.intents)
    };
    let intents = stored(send.0).unwrap_or_default();
    let Some(mine) = intents.iter().find(|stored| stored.intent.n == send.1) else {
        broken.push(("only what was asked for is sent", name));
        return;
    };
    if mine.state != IntentState::Sending || book.claims.get(&send) != Some(&run) {
        let how = format!(
            "{name} is {:?}, claimed by {:?}",
            mine.state,
            book.claims.get(&send)
        );
        broken.push(("who calls holds the claim", how));
    }
    if mine.resend > 0 {
        return;
    }
    let is_open = |post: usize, stored: &IntentRecord| {
        stored.intent.group == mine.intent.group
            && stored.resend == 0
            && stored.state.holds_successors()
            && !book.sends_given_up.contains(&(post, stored.intent.n))
    };
    let before = intents.iter().take_while(|stored| stored.intent.n < send.1);
    let mut open: Vec<_> = before
        .filter(|stored| is_open(send.0, stored))
        .map(|stored| (send.0, stored.intent.n))
        .collect();
    let earlier = book.accepted.iter().take_while(|post| **post != send.0);
    for post in earlier.filter(|post| !book.given_up.contains(post) && !book.redriven.contains(post)) {
        let intents = stored(*post).unwrap_or_default();
        let open_ones = intents.iter().filter(|stored| is_open(*post, stored));
        open.extend(open_ones.map(|stored| (*post, stored.intent.n)));
    }
    if let Some((post, n)) = open.first() {
        broken.push((
            "a chat's sends are made in order",
            format!("{name} before u{post}.{n}"),
        ));
    }
}

fn not_held(book: &Book, send: SendId, now: Timestamp, broken: &mut Broken) {
    let Some(update) = &book.posts[send.0].update else {
        return;
    };
    let hold = book.holds.get(&update.group);
    let left = hold.map_or(0, |hold| hold.millis_since(now));
    if left > MOST_APART {
        let how = format!("u{}.{} comes {left} ms too early", send.0, send.1);
        broken.push(("a held chat is not sent to", how));
    }
}
