//! What a backend gets to see when it is back: figures of the ramp and its gate, for any rate and any backlog.

use super::*;
use crate::gcra::Admission;
use proptest::prelude::*;

/// Length of the sender's and the ramp's horizon, within which a place is waited for.
const HORIZON: Duration = Duration::from_secs(1);

fn at(millis: u64) -> Timestamp {
    Timestamp::from_millis(0) + Duration::from_millis(millis)
}

fn ramp(rate: u32) -> Breaker {
    Breaker::Ramp {
        opened_at: at(0),
        rate: Rate::from_stored(rate),
        ramp_at: at(0),
        percent: Percent::FIRST,
        step_at: at(0),
        evidence: Evidence::default(),
    }
}

/// Asks at each of these milliseconds, and is let in at the instants that come out. The gate keeps its time over steps.
fn let_in(rate: u32, asked: impl IntoIterator<Item = u64>) -> Vec<Timestamp> {
    let (mut breaker, mut tat, mut let_in) = (ramp(rate), None::<Timestamp>, Vec::new());
    for now in asked.into_iter().map(at) {
        let looked = Event::Looked { is_bound: true };
        breaker = decide(&breaker, &looked, now, Jitter::new(0.0)).next;
        let Entry::Gated(gate) = entry(&breaker, at(0), now, Jitter::new(0.0)) else {
            continue;
        };
        // A place within the horizon is waited for.
        let start = now.max(tat.map_or(now, |tat| tat - gate.tolerance));
        if start <= now + HORIZON
            && let Admission::Admit { next_tat } = gate.admit(tat, 1, start)
        {
            tat = Some(next_tat);
            let_in.push(start);
        }
    }
    let_in.sort_unstable();
    let_in
}

fn within(all: &[Timestamp], from: Timestamp, length: Duration) -> usize {
    all.iter()
        .filter(|one| **one >= from && **one < from + length)
        .count()
}

#[test]
fn the_first_minutes_of_a_ramp_to_twenty_a_second_under_a_full_backlog() {
    let all = let_in(20, (0..300_000).step_by(10));
    let minute = Duration::from_secs(60);
    let minutes: Vec<_> = (0..5).map(|n| within(&all, at(n * 60_000), minute)).collect();
    // 10 and 25 %, 50 and 100 %, 200 and 400 % (one in 13 ms, where 12.5 would be exact).
    let expected = [60 + 150, 300 + 600, 1_200 + 2_307];
    for (minute, expected) in minutes.iter().zip(expected) {
        // A step begins behind what the one before it has promised.
        let is_near = *minute <= expected && minute * 100 >= expected * 97;
        assert!(is_near, "{minutes:?}");
    }
}

#[test]
fn a_bot_of_three_updates_an_hour_is_never_held_back() {
    // The two of one second, and one twenty minutes later: at the least rate, in the first step.
    let all = let_in(1, [5_000, 5_200, 1_205_000]);
    assert_eq!(all, [at(5_000), at(5_200), at(1_205_000)]);
}

#[test]
fn who_gets_no_place_waits_longer_as_the_ramp_goes_on() {
    let wait = |secs: u64, ahead: u64, draw| {
        let ahead = Duration::from_secs(ahead);
        ramp_wait(at(0), ahead, at(secs * 1_000), Jitter::new(draw)).as_secs()
    };
    let waits: Vec<_> = [0, 5, 15, 30, 500].map(|secs| wait(secs, 0, 0.0)).into();
    assert_eq!(waits, [5, 10, 20, 20, 20]);
    assert_eq!(wait(5, 0, 0.5), 15);
    assert_eq!(wait(0, 30, 0.0), 30, "what is before it is waited for");
}

proptest! {
    /// R093: the first minute after recovery brings at most twice what the backend had before, and so does each second
    /// of it, whoever asks when.
    #[test]
    fn recovery_brings_at_most_twice_the_former_rate(
        rate in 1_u32..300, steps in proptest::collection::vec(0_u64..700, 1..4_000), dense in any::<bool>(),
    ) {
        let scale = if dense { 20 } else { 1 };
        let asked = steps.iter().scan(0, |now, step| {
            *now += step / scale;
            Some(*now)
        });
        let all = let_in(rate, asked.filter(|now| *now < 60_000));
        let twice = 2 * usize::try_from(rate).unwrap();
        prop_assert!(all.len() <= 60 * twice);
        for (one, next) in all.iter().zip(all.iter().skip(twice)) {
            prop_assert!(next.since(*one) >= Duration::from_secs(1), "{rate}/s: more than {twice} from {one}");
        }
    }

    /// Whoever finds the gate idle passes at once, and so does one more.
    #[test]
    fn two_at_once_pass_an_idle_gate(rate in 1_u32..300, since in 0_u64..600_000) {
        prop_assert_eq!(let_in(rate, [since, since]), [at(since), at(since)]);
    }
}
