//! A breaker and its counts as attributes, and back. Documented in `docs/formats.md`.

use aws_sdk_dynamodb::types::AttributeValue;
use penstock_domain::breaker::{Breaker, Evidence, HOURS, Meter, Percent, Probe, Rate, Sign};
use penstock_domain::ids::{LedgerKey, MessageGroupId};
use penstock_domain::ledger::Owner;
use penstock_domain::time::Timestamp;

use super::item::{list, m, map, n, number, s, text};
use super::{ITEM_VERSION, Item};

/// Attributes that only some states have: a change removes what its state has not.
pub(crate) const OF_SOME_STATES: [&str; 11] = [
    "answered_at",
    "opened_at",
    "probe_at",
    "probe_owner",
    "probe_until",
    "proved_at",
    "ramp_at",
    "rate",
    "sign",
    "step",
    "step_at",
];

type Attributes = Vec<(&'static str, AttributeValue)>;

/// What a change sets.
pub(crate) fn written(breaker: &Breaker, meter: &Meter) -> Attributes {
    let mut attributes = vec![("meter", AttributeValue::M(written_meter(meter)))];
    match breaker {
        Breaker::Closed { evidence, proved_at } => {
            attributes.push(("state", s("closed")));
            attributes.extend(proved_at.map(|at| ("proved_at", n(at))));
            attributes.extend(written_evidence(evidence));
        }
        Breaker::Open {
            opened_at,
            rate,
            probe_at,
        } => attributes.extend([
            ("state", s("open")),
            ("opened_at", n(opened_at)),
            ("rate", n(rate.per_second())),
            ("probe_at", n(probe_at)),
        ]),
        Breaker::HalfOpen {
            opened_at,
            rate,
            probe,
        } => attributes.extend([
            ("state", s("half_open")),
            ("opened_at", n(opened_at)),
            ("rate", n(rate.per_second())),
            ("probe_owner", s(probe.owner.0.as_str())),
            ("probe_until", n(probe.lease_until)),
        ]),
        Breaker::Ramp {
            opened_at,
            rate,
            ramp_at,
            percent,
            step_at,
            evidence,
        } => {
            attributes.extend([
                ("state", s("ramp")),
                ("opened_at", n(opened_at)),
                ("rate", n(rate.per_second())),
                ("ramp_at", n(ramp_at)),
                ("step", n(percent.get())),
                ("step_at", n(step_at)),
            ]);
            attributes.extend(written_evidence(evidence));
        }
    }
    attributes
}

fn written_evidence(evidence: &Evidence) -> Attributes {
    let sign = evidence.sign.as_ref().map(|sign| {
        let sign = m([
            ("key", s(sign.key.as_str())),
            ("group", s(sign.group.0.as_str())),
            ("at", n(sign.at)),
        ]);
        ("sign", AttributeValue::M(sign))
    });
    let answered_at = evidence.answered_at.map(|at| ("answered_at", n(at)));
    sign.into_iter().chain(answered_at).collect()
}

fn written_meter(meter: &Meter) -> Item {
    let last = meter
        .hours
        .iter()
        .rposition(|most| *most > 0)
        .map_or(0, |last| last + 1);
    m([
        ("minute", n(meter.minute)),
        ("count", n(meter.count)),
        ("before", n(meter.count_before)),
        (
            "hours",
            AttributeValue::L(meter.hours[..last].iter().map(n).collect()),
        ),
    ])
}

/// Reads them back. An item without a state was made by its gate alone.
///
/// # Errors
/// Names what cannot be read.
pub(crate) fn read(item: &Item) -> Result<(Breaker, Meter), &'static str> {
    if number::<u32>(item, "v").is_some_and(|version| version > ITEM_VERSION) {
        return Err("v");
    }
    let breaker = match text(item, "state") {
        None if !item.contains_key("state") => Breaker::default(),
        Some("closed") => Breaker::Closed {
            evidence: read_evidence(item),
            proved_at: number(item, "proved_at").map(Timestamp::from_millis),
        },
        Some("open") => Breaker::Open {
            opened_at: time(item, "opened_at")?,
            rate: read_rate(item)?,
            probe_at: time(item, "probe_at")?,
        },
        Some("half_open") => Breaker::HalfOpen {
            opened_at: time(item, "opened_at")?,
            rate: read_rate(item)?,
            probe: Probe {
                owner: Owner(text(item, "probe_owner").ok_or("probe_owner")?.to_owned()),
                lease_until: time(item, "probe_until")?,
            },
        },
        Some("ramp") => Breaker::Ramp {
            opened_at: time(item, "opened_at")?,
            rate: read_rate(item)?,
            ramp_at: time(item, "ramp_at")?,
            percent: Percent::from_stored(number(item, "step").ok_or("step")?),
            step_at: time(item, "step_at")?,
            evidence: read_evidence(item),
        },
        Some(_) | None => return Err("state"),
    };
    Ok((breaker, map(item, "meter").map(read_meter).unwrap_or_default()))
}

fn time(item: &Item, name: &'static str) -> Result<Timestamp, &'static str> {
    number(item, name).map(Timestamp::from_millis).ok_or(name)
}

fn read_rate(item: &Item) -> Result<Rate, &'static str> {
    number(item, "rate").map(Rate::from_stored).ok_or("rate")
}

/// A sign that cannot be read is none: the next failure gives another.
fn read_evidence(item: &Item) -> Evidence {
    let sign = map(item, "sign").and_then(|sign| {
        Some(Sign {
            key: LedgerKey::from_stored(text(sign, "key")?.to_owned()),
            group: MessageGroupId(text(sign, "group")?.to_owned()),
            at: time(sign, "at").ok()?,
        })
    });
    Evidence {
        sign,
        answered_at: number(item, "answered_at").map(Timestamp::from_millis),
    }
}

fn read_meter(item: &Item) -> Meter {
    let mut hours = [0; HOURS];
    for (hour, most) in hours.iter_mut().zip(list(item, "hours")) {
        *hour = most
            .as_n()
            .ok()
            .and_then(|digits| digits.parse().ok())
            .unwrap_or(0);
    }
    Meter {
        minute: number(item, "minute").unwrap_or(0),
        count: number(item, "count").unwrap_or(0),
        count_before: number(item, "before").unwrap_or(0),
        hours,
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    const NOW: Timestamp = Timestamp::from_millis(1_790_000_000_123);

    fn all() -> Vec<Breaker> {
        let rate = Rate::from_stored(20);
        let evidence = Evidence {
            sign: Some(Sign {
                key: LedgerKey::from_stored("7:100".to_owned()),
                group: MessageGroupId("7:c:5".to_owned()),
                at: NOW - Duration::from_secs(3),
            }),
            answered_at: Some(NOW - Duration::from_secs(4)),
        };
        vec![
            Breaker::default(),
            Breaker::Closed {
                evidence: evidence.clone(),
                proved_at: Some(NOW),
            },
            Breaker::Open {
                opened_at: NOW,
                rate,
                probe_at: NOW + Duration::from_secs(10),
            },
            Breaker::HalfOpen {
                opened_at: NOW,
                rate,
                probe: Probe {
                    owner: Owner("asker".to_owned()),
                    lease_until: NOW + Duration::from_secs(20),
                },
            },
            Breaker::Ramp {
                opened_at: NOW,
                rate,
                ramp_at: NOW + Duration::from_secs(1),
                percent: Percent::from_stored(50),
                step_at: NOW + Duration::from_secs(2),
                evidence,
            },
        ]
    }

    fn meter() -> Meter {
        let mut meter = Meter::default();
        meter.add(1_200, NOW - Duration::from_secs(7_200));
        meter.add(60, NOW - Duration::from_secs(60));
        meter.add(7, NOW);
        meter
    }

    fn item(breaker: &Breaker) -> Item {
        let attributes = written(breaker, &meter()).into_iter();
        attributes.map(|(name, value)| (name.to_owned(), value)).collect()
    }

    #[test]
    fn every_state_is_read_back_as_it_was() {
        for breaker in all() {
            assert_eq!(read(&item(&breaker)), Ok((breaker, meter())));
        }
        assert_eq!(read(&Item::new()), Ok((Breaker::default(), Meter::default())));
    }

    #[test]
    fn every_attribute_but_those_of_all_states_is_removed_where_it_is_not_set() {
        for breaker in all() {
            for (name, _) in written(&breaker, &meter()) {
                assert_eq!(
                    !OF_SOME_STATES.contains(&name),
                    ["meter", "state"].contains(&name),
                    "{name} of {breaker:?}"
                );
            }
        }
    }

    #[test]
    fn what_is_missing_or_of_a_newer_release_is_told() {
        for breaker in all() {
            let whole = item(&breaker);
            for (name, what) in [("opened_at", Err("opened_at")), ("rate", Err("rate"))] {
                if whole.contains_key(name) {
                    let mut broken = whole.clone();
                    broken.insert(name.to_owned(), s("?"));
                    assert_eq!(read(&broken).map(drop), what, "{breaker:?}");
                }
            }
            for (name, value) in [("state", s("ajar")), ("state", n(1)), ("v", n(2))] {
                let mut other = whole.clone();
                other.insert(name.to_owned(), value);
                assert_eq!(read(&other).map(drop), Err(name), "{breaker:?}");
            }
        }
    }
}
