//! The scenarios of the breaker and of the gate.

use penstock_domain::breaker::Cause;

use crate::door::{Door, Kind};
use crate::gate::Gate;

/// A backend that refuses connections, twice, before three chats.
#[must_use]
pub fn door() -> Door {
    Door {
        name: "outages of a backend",
        chats: vec![Kind::Innocent(2), Kind::Innocent(2), Kind::Innocent(1)],
        outage: Cause::Unreachable,
        outages: 2,
        max_attempts: 2,
        crashes: 1,
        fault: None,
    }
}

/// A backend that is up, but for one Update that it answers with a bad gateway.
#[must_use]
pub fn door_with_poison() -> Door {
    Door {
        name: "a poison at a backend",
        chats: vec![
            Kind::Poison(Cause::BadGateway),
            Kind::Innocent(2),
            Kind::Innocent(2),
        ],
        outages: 0,
        max_attempts: 3,
        ..door()
    }
}

/// One Update that fells its backend for a moment whenever it is tried, and an outage besides.
#[must_use]
pub fn door_with_feller() -> Door {
    Door {
        name: "an update that fells its backend",
        chats: vec![
            Kind::Poison(Cause::Unreachable),
            Kind::Innocent(2),
            Kind::Innocent(1),
        ],
        outages: 1,
        max_attempts: 3,
        ..door()
    }
}

/// A backend behind a gateway that answers for it, and one chat only.
#[must_use]
pub fn door_of_a_lone_chat() -> Door {
    Door {
        name: "a lone chat in an outage of bad gateways",
        chats: vec![Kind::Innocent(2)],
        outage: Cause::BadGateway,
        outages: 1,
        max_attempts: 3,
        ..door()
    }
}

/// A gate of sends.
#[must_use]
pub fn gate() -> Gate {
    Gate {
        repeats: 2,
        fault: None,
    }
}
